"""How wide a model becomes as features appear: with room for the next ones, within ``max_mb``."""

from __future__ import annotations

import abc
import warnings
from collections.abc import Callable
from typing import Any

from stream_llsvm.model.feature_warnings import (
    FeaturesLeftOutWarning,
    KnowsFeatures,
    are_silent,
    levels_to_the_caller,
)

#: Up to so many features a model is as wide as they are, and up to so many a quarter wider. Beyond,
#: widths are powers of two, so that however many come, all copies together are one of the model.
_TIGHT, _SNUG = 64, 512
#: Where names come there is room for some more at once: thirty are no thirty copies.
_SOME = 8
#: Members that are capped see so many features at least, and all of them unless records name less
#: than one in so many: a picture without its zeros names a fifth, a text a hundredth.
CAP, _FEW = 512, 8


def roomy(held: int, features: int, *, names_come: bool = False) -> int:
    """Return the width for so many features of a model that has been so wide.

    Parameters
    ----------
    held
        Its width so far; 0 if it has learned nothing yet.
    features
        How many features it shall know.
    names_come
        Whether some of them are of names, and more of these will follow.

    Examples
    --------
    >>> roomy(0, 700), roomy(3, 4), roomy(64, 100), roomy(100, 100), roomy(512, 600)
    (700, 4, 125, 100, 1024)
    >>> roomy(0, 12, names_come=True), roomy(23, 24, names_come=True)
    (23, 38)

    """
    if features <= held:
        return held
    if not names_come and (held == 0 or features <= _TIGHT):
        return features
    if features <= _SNUG:
        return features + features // 4 + _SOME * names_come
    return 1 << (features - 1).bit_length()


def local_width(held: int, width: int, named: float) -> int | None:
    """Return how many features capped members shall see of a model that becomes so wide.

    Those that it had, which came first and are in most records: from then on a new name changes
    nothing for these members. None if they shall see all.

    Parameters
    ----------
    held
        The model's width so far; 0 if it has learned nothing yet.
    width
        Its width from now on.
    named
        How many features a record names on the mean; 0 if that is not known.

    Examples
    --------
    >>> local_width(640, 1024, 20.0), local_width(0, 30_000, 20.0), local_width(100, 500, 5.0)
    (640, 512, None)
    >>> local_width(640, 1024, 150.0), local_width(640, 1024, 0.0)
    (None, None)

    """
    few = width > CAP and 0 < _FEW * named <= width
    return min(width, max(CAP, held)) if few else None


def widest(fits: Callable[[int], bool], low: int, high: int) -> int:
    """Return the greatest width below ``high`` that fits, if ``low`` does.

    Parameters
    ----------
    fits
        Whether a width fits.
    low
        A width that fits.
    high
        One that does not.

    Examples
    --------
    >>> widest(lambda width: width <= 700, 512, 1024)
    700

    """
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


class BoundedModel(KnowsFeatures, abc.ABC):
    """A model that grows with features and classes as far as ``max_mb`` goes."""

    max_mb: int
    _has_classes = True
    _left_out = 0

    def __init__(self) -> None:
        #: The greatest width that fits, by number of classes and megabytes; once it is known.
        self._widest: dict[tuple[int, int, int | None], int] = {}

    @abc.abstractmethod
    def _bytes(self, width: int, scores: int, local: int | None = None) -> int:
        """Return how many bytes a model of that width and so many classes takes.

        Capped members see ``local`` of its columns; all if that is None.
        """

    @property
    def left_out(self) -> int:
        """How many new features were left out of what was learned, since ``max_mb`` is reached.

        One that comes with several records (or batches) counts with each of them.
        """
        return self._left_out

    def _width_for(
        self,
        held: int,
        features: int,
        scores: int,
        *,
        names_come: bool = False,
        local: int | None = None,
        same_scores: bool = False,
    ) -> int:
        """Return the width for so many features, or the greatest that ``max_mb`` has room for.

        What a model that has learned (``held`` is its width) has no room for is left out: a running
        stream must not end because of a new name. Raises ValueError if a model cannot begin so
        large, or a class does not fit.
        """
        wished = roomy(held, features, names_come=names_come)
        key = scores, self.max_mb, local
        if key not in self._widest:
            if self._fits(wished, scores, local):
                return wished
            if held == 0 and names_come:  # without more room than it needs
                return self._width_for(held, features, scores, local=local)
            if held == 0 or not self._fits(held, scores, local):
                if held and same_scores:  # max_mb was lowered: it stays as large as it is
                    return held
                self._refuse(held or features, scores, local)

            def fits(width: int) -> bool:
                return self._fits(width, scores, local)

            self._widest[key] = widest(fits, held, wished)
        return max(held, min(wished, self._widest[key]))

    def _fits(self, width: int, scores: int, local: int | None = None) -> bool:
        return self._bytes(width, scores, local) <= self.max_mb * 2**20

    def _refuse(self, width: int, scores: int, local: int | None = None) -> None:
        needed = self._bytes(width, scores, local) / 2**20
        classes = check = ""
        if self._has_classes:
            classes = f" and {scores:,} classes"
            check = "check that the label is a class and not a number or an id, "
        raise ValueError(
            f"with {width:,} features{classes} the model would take {needed:,.0f} MB, more than "
            f"max_mb={self.max_mb:,}: fold the features (river.preprocessing.FeatureHasher), "
            f"{check}use fewer anchors, or raise max_mb"
        )

    def _leave_out(self, new: list[Any], room: int) -> list[Any]:
        """Return as many of the new features as there is room for; counts the others."""
        if len(new) <= room:
            return new
        if self._left_out == 0 and not are_silent():
            warnings.warn(
                f"max_mb={self.max_mb:,} has room for {len(self._features) + room:,} features: "
                "those that come later are left out, and the model learns on from what it knows; "
                "fold the features (river.preprocessing.FeatureHasher) or raise max_mb; said once "
                "per model",
                FeaturesLeftOutWarning,
                stacklevel=levels_to_the_caller(),
            )
        self._left_out += len(new) - room
        return new[:room]
