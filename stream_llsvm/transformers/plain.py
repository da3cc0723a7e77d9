"""Transformers as plain data: what they keep is walked, and every value written with its kind.

A value that is more than a number or a text is a tuple that begins with its kind: a container with
what is in it, an object of a listed class with its options and what it has learned. Nothing of it
is code. Sets are sorted, so that a file does not depend on the order that a process gives them.
"""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import numpy as np

from stream_llsvm.records.features import FeatureSpace
from stream_llsvm.transformers.classes import KINDS, is_listed, kept, options_of
from stream_llsvm.transformers.natives import UnfitError, is_native, numbers_of

#: Steps in a row, side by side, and multiplied.
CHAINS = {"Pipeline": "steps", "TransformerUnion": "transformers"}
CHAINS["TransformerProduct"] = CHAINS["TransformerUnion"]
_COMPOSE = "river.compose."
_PLAIN = (type(None), bool, int, float, str, bytes)
_MAPPINGS = ("dict", "Counter", "defaultdict", "OrderedDict")
_DEEPEST = 30


def is_chain(value: object) -> bool:
    """Whether this is one of river's chains of steps."""
    kind = type(value)
    return kind.__name__ in CHAINS and kind.__module__.startswith(_COMPOSE)


class Writer:
    """Writes transformers as plain data.

    Parameters
    ----------
    trust_pickle
        Whether what has no plain form is pickled. Functions are then, too.

    Attributes
    ----------
    functions
        Functions that were met, by the names that stand for them.

    """

    def __init__(self, *, trust_pickle: bool = False) -> None:
        self.functions: dict[str, Callable[..., Any]] = {}
        self._trusts = trust_pickle
        self._depth = 0

    def plain(self, value: Any) -> Any:
        """Return a value as plain data; raises UnfitError if there is no such form."""
        if type(value) in _PLAIN:
            return value
        self._depth += 1
        try:
            if self._depth > _DEEPEST:
                raise UnfitError(f"transformers are nested deeper than {_DEEPEST} levels")
            found = self._simple(value)
            return self._object(value) if found is None else found
        finally:
            self._depth -= 1

    def _simple(self, value: Any) -> Any:
        """Return a container, an array or a value of a common type; None if it is none."""
        kind = type(value)
        if isinstance(value, np.generic):
            if kind is np.str_ or (value.dtype.kind in "biuf" and value.dtype.itemsize <= 8):
                return value
        elif kind in (list, tuple):
            return kind.__name__, [self.plain(one) for one in value]
        elif kind in (set, frozenset):
            return "set", self._sorted(value)
        elif kind.__name__ in _MAPPINGS and isinstance(value, dict):
            return self._mapping(value)
        elif kind is deque:
            return "deque", value.maxlen, [self.plain(one) for one in value]
        elif kind is np.ndarray:
            if value.dtype.kind in "biuf":
                return "array", np.array(value)
        elif kind in (date, datetime):
            return kind.__name__, value.isoformat()
        elif kind is Decimal:
            return "Decimal", str(value)
        elif isinstance(value, type) and value.__name__ in TYPES:
            return "type", value.__name__
        return None

    def _mapping(self, value: Mapping[Any, Any]) -> Any:
        plain = self.plain
        return "dict", [plain(key) for key in value], [plain(one) for one in value.values()]

    def _sorted(self, values: Iterable[Any]) -> list[Any]:
        return [
            self.plain(one)
            for one in sorted(values, key=lambda one: (type(one).__name__, repr(one)))
        ]

    def _object(self, value: Any) -> Any:
        kind = type(value)
        try:
            if is_chain(value):
                steps = getattr(value, CHAINS[kind.__name__])
                return "chain", kind.__name__, list(steps), [*map(self.plain, steps.values())]
            if is_native(value):
                return "native", [self.plain(one) for one in numbers_of(value)]
            if isinstance(value, FeatureSpace):
                return "features", self.plain(value.saved)
            if is_listed(kind):
                return self._listed(value)
            if kind.__name__ == "Rolling" and kind.__module__ == "river.utils.rolling":
                calls = [[[*map(self.plain, a)], self._by_name(k)] for a, k in value.window]
                return "rolling", self.plain(value.obj), value.window_size, calls
            if callable(value) and hasattr(value, "__qualname__") and not self._trusts:
                return "function", self._function(value)
        except UnfitError:
            if not self._trusts or kind.__name__ in KINDS:
                raise
        if self._trusts:
            return pickled(value)
        raise UnfitError(
            f"a {kind.__module__}.{kind.__qualname__} is not among the classes that a file can "
            "hold safely"
        )

    def _listed(self, value: Any) -> Any:
        kind = type(value)
        about, (names, many) = KINDS[kind.__name__], options_of(kind)
        given = () if many is None else getattr(value, many)
        if isinstance(given, set) and many not in about.ordered:
            several = self._sorted(given)
        else:
            several = [self.plain(one) for one in given]
        options = {name: self.plain(getattr(value, name)) for name in names}
        learned = {}
        for name, one in kept(value).items():
            fixed = one
            if name in about.unordered:
                fixed = dict(sorted(one.items(), key=lambda item: repr(item[0])))
            learned[name] = self.plain(fixed)
        return "object", kind.__name__, several, options, learned

    def _by_name(self, given: Mapping[str, Any]) -> dict[str, Any]:
        return {name: self.plain(one) for name, one in given.items()}

    def _function(self, function: Callable[..., Any]) -> str:
        name = name_of(function)
        if self.functions.setdefault(name, function) is not function:
            raise UnfitError(
                f"two functions are both named {name}: give each a name of its own, with def"
            )
        return name


def _types() -> dict[str, type[Any]]:
    from numbers import Number

    return {one.__name__: one for one in (bool, int, float, str, Number)}


#: Types that options name.
TYPES = _types()


def name_of(function: Callable[..., Any]) -> str:
    """Return what stands for a function in a file."""
    return f"{function.__module__}:{function.__qualname__}"


def pickled(value: Any) -> tuple[str, bytes]:
    """Return what only those can read who trust the file."""
    try:
        return "pickle", pickle.dumps(value, protocol=5)
    except Exception as error:  # whatever an object's own code raises
        raise UnfitError(
            f"a {type(value).__name__} cannot be pickled ({error}): functions are found again by "
            "their names, so define them with def in a module"
        ) from None
