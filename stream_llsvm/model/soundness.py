"""What a model's own sections must hold so that kernels can trust them; members check theirs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.kernels.join import ALL, GAIN, MOST, OVER, SHARE
from stream_llsvm.kernels.join import EFFORT as JOIN_EFFORT
from stream_llsvm.kernels.mixer import (
    ALONE_EFFORT,
    AWAKE,
    EFFORT,
    FARTHEST_BEHIND,
    JUDGED,
    OWN_ACCURACY,
    OWN_LOSS,
    POWER,
    SINCE,
    WORTH,
    WORTH_SQUARED,
)
from stream_llsvm.kernels.scaling import NEVER_NEGATIVE
from stream_llsvm.kernels.sleep import FOLLOWED, LATELY, USUALLY

#: A member is judged by probabilities of at least 1e-12: more it can neither gain nor lose. The
#: joint answer is followed by those that the softmax gives.
_MOST_GAINED, _MOST_GAINED_JOINTLY = 28.0, 1 - 2 * FARTHEST_BEHIND
_ENDLESS = 2**53  # from here on a float counts no further


def is_sound(model: Mapping[str, NDArray[Any]]) -> bool:
    """Whether these sections, which may come from a file, are within their ranges."""
    never_negative = (
        model["counters"],
        model["statistics"][:, NEVER_NEGATIVE],
        model["mixer"][[POWER, EFFORT, ALONE_EFFORT]],
        model["joined"][SHARE, [ALL, OVER]],
        model["joined"][JOIN_EFFORT],
        model["members"][[OWN_LOSS, OWN_ACCURACY, JUDGED, SINCE, WORTH_SQUARED]],
        model["errors"],
    )
    counts = model["counters"], model["members"][[JUDGED, SINCE]], model["errors"][FOLLOWED]
    right, count = model["calibration"]
    return bool(
        np.isin(model["members"][AWAKE], (0, 1)).all()
        and ((right >= 0) & (right <= 1)).all()
        and (count >= 0).all()
        and (model["joined"][SHARE, [ALL, OVER]] <= MOST).all()
        and np.abs(model["joined"][SHARE, GAIN]) <= _MOST_GAINED_JOINTLY
        and all((view < _ENDLESS).all() for view in counts)
        and (model["errors"][[LATELY, USUALLY]] <= 1).all()
        and (np.abs(model["members"][WORTH]) <= _MOST_GAINED).all()
        and (model["members"][WORTH_SQUARED] <= _MOST_GAINED**2).all()
        and all((view >= 0).all() for view in never_negative)
    )
