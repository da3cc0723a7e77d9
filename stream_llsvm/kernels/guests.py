"""Members with a kernel of their own, which the one kernel knows nothing of."""

from __future__ import annotations

from typing import Any

from stream_llsvm.kernels.budget.run import BUDGET_KIND, run_budget
from stream_llsvm.kernels.landmarks.run import LANDMARKS_KIND, run_landmarks
from stream_llsvm.kernels.local.run import LOCAL_KIND, run_guests

#: Their kernels, by the kind of member.
GUEST_KERNELS: dict[int, Any] = {
    LOCAL_KIND: run_guests,
    LANDMARKS_KIND: run_landmarks,
    BUDGET_KIND: run_budget,
}
#: Some kinds of them.
Guests = tuple[int, ...]
