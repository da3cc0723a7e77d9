"""Plain data -> transformers: made by constructors that are listed, and filled with what fits.

The data may come from a stranger. Classes are looked up in a list; an object is made of its
options, and each of its attributes takes only what is of the same kind as in the new object. So a
file can make a transformer useless or slow, and cannot make it run anything.
"""

from __future__ import annotations

import pickle
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Final

import numpy as np

from stream_llsvm.records.features import FeatureSpace
from stream_llsvm.transformers.classes import KINDS, kept, named, options_of
from stream_llsvm.transformers.natives import UnfitError, filled, is_native
from stream_llsvm.transformers.plain import CHAINS, TYPES, name_of

_LARGEST = 1_000_000
#: Options that may be larger: nothing is as large as they say.
_FREE = ("seed", "n_features", "number_of_documents")
#: How much may be made of numbers that a file only names: an option, a window.
_ROOM = 100_000_000
_SHARES = ("q", "q_inf", "q_sup")
_COMPILED_WINDOWS = ("RollingIQR", "RollingQuantile")
_ROOM_OF = {"n_components": 100, "window_size": 1, "lag": 1, "amount": 1}
Functions = Iterable[Callable[..., Any]] | None
_ANY: Final = object()
_NUMBERS = (bool, int, float, np.generic, Decimal)
_PICKLED = (
    "it holds pickled parts, which can run any code when they are read. If you trust whoever "
    "could write to the file: load_model(path, trust_pickle=True), Engine(trust_pickle=True), or "
    "--trust-pickle on the command line"
)


class Reader:
    """Makes transformers of plain data.

    Parameters
    ----------
    trust_pickle
        Whether pickled parts are read, which can run any code.
    functions
        Functions that transformers may need; None where none of them will be called.

    """

    def __init__(self, *, trust_pickle: bool = False, functions: Functions = ()) -> None:
        self._trusts = trust_pickle
        self._runs = functions is not None
        self._functions = {name_of(one): one for one in functions or ()}
        self._left = _ROOM

    def made(self, plain: Any) -> Any:
        """Return what the data are of; raises UnfitError if they are of nothing."""
        try:
            return self._made(plain, _ANY)
        except UnfitError:
            raise
        except Exception as error:  # a constructor's own way to refuse its options
            raise UnfitError(f"{type(error).__name__}: {error}") from None

    def _made(self, plain: Any, like: Any) -> Any:
        """Return the value; ``like`` is what stands in its place in a new object, and is used."""
        free = like is _ANY or like is None
        if type(plain) is not tuple:
            _require(not isinstance(plain, list | dict | np.ndarray))
            _require(
                free
                or (isinstance(like, _NUMBERS) and isinstance(plain, _NUMBERS))
                or type(plain) is type(like)
            )
            return plain
        kind, *parts = plain
        _require(type(kind) is str)
        if kind in ("list", "tuple"):
            return self._several(like, kind, *parts)
        if kind == "set":
            _require(free or isinstance(like, set))
            return {self._made(one, _ANY) for one in _listed(*parts)}
        if kind == "dict":
            return self._mapping(like, *parts)
        if kind == "deque":
            return self._deque(like, *parts)
        if kind == "native":
            _require(not free and is_native(like))
            return filled(like, [self._made(one, _ANY) for one in _listed(*parts)])
        if kind == "features":
            _require(isinstance(like, FeatureSpace))
            (names,) = parts
            return like.restored(self._made(names, _ANY))
        if kind in _SCALARS:
            _require(free or isinstance(like, _NUMBERS))
            return _SCALARS[kind](*parts)
        if kind == "array":
            return _array(like, *parts)
        found = self._object(kind, parts)
        _require(free or type(found) is type(like))
        return found

    def _several(self, like: Any, kind: str, items: Any) -> Any:
        each = like[0] if isinstance(like, list) and like else _ANY
        found = [self._made(one, each) for one in _listed(items)]
        _require(like is _ANY or like is None or type(like).__name__ == kind)
        return tuple(found) if kind == "tuple" else found

    def _mapping(self, like: Any, keys: Any, values: Any) -> Any:
        _require(len(_listed(keys)) == len(_listed(values)))
        into: Any = {} if like is _ANY or like is None else like
        _require(isinstance(into, dict))
        make: Callable[[], Any] = _anything
        if isinstance(into, Counter):
            make = int
        elif isinstance(into, defaultdict) and into.default_factory is not None:
            make = into.default_factory
        found = {
            self._made(key, _ANY): self._made(one, make())
            for key, one in zip(keys, values, strict=True)
        }
        _require(len(found) == len(keys))
        into.clear()
        into.update(found)
        return into

    def _deque(self, like: Any, most: Any, items: Any) -> Any:
        _require(isinstance(like, deque) and like.maxlen == most)
        found = [self._made(one, _ANY) for one in _listed(items)]
        _require(most is None or len(found) <= most)
        like.extend(found)
        return like

    def _object(self, kind: str, parts: list[Any]) -> Any:
        if kind == "object":
            return self._listed_object(*parts)
        if kind == "chain":
            return self._chain(*parts)
        if kind == "rolling":
            return self._rolling(*parts)
        if kind == "function":
            (name,) = parts
            if name not in self._functions:
                if not self._runs and type(name) is str:
                    return _absent
                raise UnfitError(
                    f"it needs the function {name}, which no file holds: load_model(path, "
                    "functions=[...]), or an Engine over the same pipeline"
                )
            return self._functions[name]
        _require(kind == "pickle")
        if not self._trusts:
            raise UnfitError(_PICKLED)
        (data,) = parts
        return pickle.loads(data)

    def _listed_object(self, name: Any, several: Any, options: Any, learned: Any) -> Any:
        if name not in KINDS:
            raise UnfitError(f"it holds a {name!r:.80}, which this version does not know")
        kind, about = named(name), KINDS[name]
        names, many = options_of(kind)
        _require(type(options) is type(learned) is dict and set(options) == set(names))
        given = [self._made(one, _ANY) for one in _listed(several)]
        _require(many is not None or not given)
        chosen = {option: self._made(one, _ANY) for option, one in options.items()}
        for option, value in chosen.items():
            self._take_room(option, value)
            _require(option not in _SHARES or (type(value) in (int, float) and 0 <= value <= 1))
        fresh = kind(*given, **chosen)
        expected = kept(fresh)
        _require(set(expected) <= set(learned) <= {*expected, *about.later})
        if name in _COMPILED_WINDOWS:  # which stop the process where they are asked too early
            window = next(one for one in learned.values() if type(one) is tuple)
            _require(learned["_is_updated"] is (len(window) > 1 and window[1] != []))
        # Random generators last: what is drawn to see what stands in a place is not drawn of them.
        order = sorted(learned, key=lambda one: is_native(expected.get(one)))
        found = {one: self._made(learned[one], expected.get(one, _ANY)) for one in order}
        for one, value in found.items():
            setattr(fresh, one, value)
        for one in about.ordered:
            setattr(fresh, one, dict.fromkeys(given))
        return fresh

    def _take_room(self, option: str, value: Any) -> None:
        """Raise UnfitError if an option would make more than a file of this size may."""
        if type(value) is int and option not in _FREE and abs(value) > _LARGEST:
            raise UnfitError(f"{option} is more than the {_LARGEST:,} that a file may ask for")
        if option == "window_size":
            _require(value is None or (type(value) is int and value > 0))
        if type(value) is int and option in _ROOM_OF:
            self._left -= _ROOM_OF[option] * abs(value)
            if self._left < 0:
                raise UnfitError(f"all {option} together are more than a file may ask for")

    def _chain(self, name: Any, names: Any, steps: Any) -> Any:
        from river import compose

        _require(name in CHAINS and len(_listed(names)) == len(_listed(steps)))
        _require(all(type(one) is str for one in names) and len(set(names)) == len(names))
        chain = getattr(compose, name)()
        made = [self._made(one, _ANY) for one in steps]
        _require(all(hasattr(one, "transform_one") for one in made))
        getattr(chain, CHAINS[name]).update(zip(names, made, strict=True))
        return chain

    def _rolling(self, plain: Any, size: Any, calls: Any) -> Any:
        from river import utils

        _require(type(size) is int)
        self._take_room("window_size", size)
        statistic = self._made(plain, _ANY)
        options = {name: getattr(statistic, name) for name in options_of(type(statistic))[0]}
        rolling = utils.Rolling(type(statistic), size, **options)
        rolling.obj = statistic
        _require(len(_listed(calls)) <= size)
        for given, by_name in calls:
            _require(type(by_name) is dict and all(type(name) is str for name in by_name))
            args = tuple(self._made(one, _ANY) for one in _listed(given))
            named = {name: self._made(one, _ANY) for name, one in by_name.items()}
            rolling.window.append((args, named))
        return rolling


_SCALARS: dict[str, Callable[[Any], Any]] = {
    "date": date.fromisoformat,
    "datetime": datetime.fromisoformat,
    "Decimal": Decimal,
    "type": TYPES.__getitem__,
}


def _array(like: Any, found: Any) -> Any:
    _require(type(found) is np.ndarray and found.dtype.kind in "biuf")
    if isinstance(like, np.ndarray):
        _require(found.dtype == like.dtype and found.ndim == like.ndim)
    else:
        _require(like is _ANY or like is None)
    return np.array(found)


def _absent(*given: Any) -> Any:
    """Stand for a function that is not at hand."""
    raise UnfitError("its function is not at hand")


def _anything() -> Any:
    return _ANY


def _listed(value: Any) -> list[Any]:
    _require(type(value) is list)
    found: list[Any] = value
    return found


def _require(holds: bool) -> None:
    if not holds:
        raise UnfitError("a part of a transformer is missing or does not fit")
