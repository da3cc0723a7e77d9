"""What a model says about features that it does not know: once, as a warning, to who asked."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Collection, Hashable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from stream_llsvm.records.column_space import flat
from stream_llsvm.records.features import FeatureSpace
from stream_llsvm.records.frames import Matrix
from stream_llsvm.records.sparse import SparseRows
from stream_llsvm.records.values import show

_PACKAGE = __name__.partition(".")[0]
_LISTED = 5
_silent: ContextVar[bool] = ContextVar("silent", default=False)


class UnknownFeatureWarning(UserWarning):
    """A record was answered whose features the model does not know, or not all of them."""


class FeaturesLeftOutWarning(UserWarning):
    """A model has no room for more features, and learns on without those that come."""


@contextmanager
def without_warnings() -> Iterator[None]:
    """Say nothing in this thread: whoever asks tells of features in another way."""
    token = _silent.set(True)
    try:
        yield
    finally:
        _silent.reset(token)


def are_silent() -> bool:
    """Whether whoever asks tells of features in another way."""
    return _silent.get()


class KnowsFeatures:
    """A model with a space of features, which warns once of records that do not fit into it."""

    _features: FeatureSpace
    _has_warned = False

    def _warn_of_unknown(self, names: Collection[Hashable], named: int | None = None) -> None:
        """Warn of a record with unknown features, or without a known one.

        In a text a word that nobody has seen is nothing unusual: where records name few of many
        features (each ``named``; all the names, if that is not given) it takes one without any
        known feature.
        """
        space = self._features
        if self._has_warned or are_silent() or len(space) == 0:
            return
        lacking = space.lacking_of_last(names) if isinstance(names, Mapping) else None
        if lacking is None and isinstance(names, Mapping):
            names = list(flat(names))
        strangers = space.strangers(names) if lacking is None else lacking
        known = len(names) - len(strangers)
        if known == 0:
            told = "a record names none of the features that the model knows"
            rest = "it is answered as if all were missing"
        elif strangers and not space.knows_many(known if named is None else named):
            told = f"a record names {_listed(strangers)}, not known to the model, which knows"
            rest = "a feature counts from the first record on that is learned with it"
        else:
            return
        self._has_warned = True
        warnings.warn(
            f"{told} {_listed(space.fields)}: {rest}; said once per model",
            UnknownFeatureWarning,
            stacklevel=levels_to_the_caller(),
        )

    def _warn_of_unknown_in(self, names: Collection[Hashable], matrix: Matrix) -> None:
        """Warn of rows with unknown features, or without a known one."""
        if self._has_warned or len(matrix) == 0:
            return
        if isinstance(matrix, SparseRows):
            of_all = list(names)
            some = [of_all[c] for c in dict.fromkeys(matrix.columns.tolist())]
            self._warn_of_unknown(some, len(matrix.columns) // len(matrix))
        else:
            self._warn_of_unknown(names)


def unknown_features(model: Any, names: Collection[Hashable]) -> list[Any] | None:
    """Return which of these features a model does not know; None if it cannot be asked.

    Parameters
    ----------
    model
        A classifier of any kind.
    names
        Names of features; a record will do.

    """
    return model._features.strangers(names) if isinstance(model, KnowsFeatures) else None


def _listed(names: Collection[Any]) -> str:
    some = ", ".join(show(name) for name, _ in zip(names, range(_LISTED), strict=False))
    return some if len(names) <= _LISTED else f"{some} and {len(names) - _LISTED:,} more"


def levels_to_the_caller() -> int:
    """Return how many calls up the package was entered: there a warning points."""
    frame, levels = sys._getframe(1), 1
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] == _PACKAGE:
        frame, levels = frame.f_back, levels + 1
    return levels
