"""One NaN for all missing values.

A row keeps names and times inside NaNs, see ``kernels/boxes.py``, and NaNs from outside may hold
any bits: those of arithmetic, of another program, or of somebody who would like to say a name. So
wherever numbers enter that are not read one by one, what is NaN there becomes the plain one.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.kernels.cache import kept


def _clear(values: NDArray[np.float64]) -> None:
    for i in range(values.size):
        if values[i] != values[i]:
            values[i] = np.nan


#: Make every NaN of a flat array the plain one, in place.
clear_nans: Any = kept(_clear, Path(__file__))


def with_plain_nans(values: NDArray[Any]) -> NDArray[Any]:
    """Return numbers of any kind and shape whose NaNs are plain ones: themselves, if they are.

    Parameters
    ----------
    values
        Numbers, without names and times.

    Examples
    --------
    >>> bits = np.array([0x7FF9000000000007, 0x3FF0000000000000])
    >>> [hex(one) for one in with_plain_nans(bits.view(np.float64)).view(np.int64)]
    ['0x7ff8000000000000', '0x3ff0000000000000']

    """
    if values.dtype.kind != "f" or not (missing := np.isnan(values)).any():
        return values
    bits = np.dtype(values.dtype.str.replace("f", "i"))
    if not (missing & (values.view(bits) != np.array(np.nan, values.dtype).view(bits))).any():
        return values
    values = values.copy()
    values[missing] = np.nan
    return values
