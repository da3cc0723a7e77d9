"""The names of features: which ones can be used, and the order they are taken in."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from stream_llsvm.records.values import is_missing, show


def all_strings(names: Iterable[object]) -> bool:
    """Tell whether names are what they usually are, and need not be looked at one by one.

    Parameters
    ----------
    names
        Names of features; none are no strings.

    """
    return set(map(type, names)) == {str}


def check_name(name: object) -> None:
    """Refuse a feature's name that could never be found again.

    Parameters
    ----------
    name
        The name of a feature: anything hashable that equals itself.

    Raises
    ------
    ValueError
        If the name is NaN (or a tuple that holds one), or is not hashable.

    """
    if type(name) is str:  # the usual ones, of which texts bring many
        return
    try:
        hash(name)
    except TypeError:
        raise ValueError(
            f"a feature is named {show(name)} ({type(name).__name__}), which is not hashable: "
            "name features by strings, numbers or tuples of them"
        ) from None
    parts = name if isinstance(name, tuple) else (name,)
    # None equals itself and makes a usable, if odd, name.
    if any(part is not None and is_missing(part) for part in parts):
        raise ValueError(
            f"a feature is named {show(name)} ({type(name).__name__}), which does not equal "
            "itself: give the feature a name"
        )


def sort_key(name: object) -> tuple[object, ...]:
    """Return a key that orders names of any kind in one way, however they were collected.

    Parameters
    ----------
    name
        The name of a feature.

    Examples
    --------
    >>> sorted(["b", 10, ("x", 2), 9, "a"], key=sort_key)
    [9, 10, 'a', 'b', ('x', 2)]

    """
    kind = type(name)
    if kind in (str, bytes, bool, int, float):
        return (kind.__name__, 0, name)
    if kind is tuple:
        return ("tuple", 0, tuple(map(sort_key, cast("tuple[object, ...]", name))))
    if kind is frozenset:  # its repr follows the history of the set
        return ("frozenset", 0, sorted(map(sort_key, cast("frozenset[object]", name))))
    return (kind.__name__, 1, repr(name))
