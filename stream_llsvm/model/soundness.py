"""What a model's own sections must hold so that kernels can trust them; members check theirs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.kernels.join import MOST, SHARE
from stream_llsvm.kernels.mixer import (
    ALONE_EFFORT,
    AWAKE,
    EFFORT,
    JUDGED,
    OWN_ACCURACY,
    OWN_LOSS,
    POWER,
    SINCE,
)
from stream_llsvm.kernels.scaling import NEVER_NEGATIVE

_ENDLESS = 2**53  # from here on a float counts no further


def is_sound(model: Mapping[str, NDArray[Any]]) -> bool:
    """Whether these sections, which may come from a file, are within their ranges."""
    never_negative = (
        model["counters"],
        model["statistics"][:, NEVER_NEGATIVE],
        model["mixer"][[POWER, EFFORT, ALONE_EFFORT]],
        model["joined"],
        model["members"][[OWN_LOSS, OWN_ACCURACY, JUDGED, SINCE]],
    )
    right, count = model["calibration"]
    return bool(
        np.isin(model["members"][AWAKE], (0, 1)).all()
        and ((right >= 0) & (right <= 1)).all()
        and (count >= 0).all()
        and (model["joined"][SHARE] <= MOST).all()
        and (model["counters"] < _ENDLESS).all()
        and all((view >= 0).all() for view in never_negative)
    )
