"""What a learner of this package is: itself, and no pipeline that ends in it."""

from __future__ import annotations

import abc

from river.base.estimator import EstimatorMeta


class Itself(EstimatorMeta):
    """River lets ``isinstance`` look at the last step of a pipeline; ours are taken apart."""

    def __instancecheck__(cls, instance: object) -> bool:
        return abc.ABCMeta.__instancecheck__(cls, instance)
