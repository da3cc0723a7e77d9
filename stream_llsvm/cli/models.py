"""The package's models by name, with options as they are written in a file or on a command line."""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import stream_llsvm
from stream_llsvm.cli.mistakes import MistakeError, nearest, unknown

if TYPE_CHECKING:
    from stream_llsvm.learners.base import LocalClassifier

USUAL = "CommitteeClassifier"


def short_names() -> dict[str, str]:
    """Return the names of the classes by their short names; nothing is imported for it.

    Examples
    --------
    >>> short_names()["sapl"], short_names()["additive"]
    ('SAPLClassifier', 'AdditiveSVMClassifier')

    """
    return {
        name.removesuffix("Classifier").replace("AdditiveSVM", "Additive").lower(): name
        for name in stream_llsvm.__all__
        if name.endswith("Classifier")
    }


def find(name: Any) -> type[LocalClassifier]:
    """Return the model of this name, long or short. Raises ValueError."""
    short = short_names()
    long = short.get(str(name).lower(), str(name))
    if long in short.values():
        kind: type[LocalClassifier] = getattr(stream_llsvm, long)
        return kind
    every = ", ".join(short)
    if str(name).lower().endswith("regressor"):
        raise ValueError(f"{name} learns numbers, and the engine learns classes: there are {every}")
    like = nearest(str(name), [*short, *short.values()])
    hint = f'did you mean "{like}"? ' if like else ""
    raise ValueError(f'unknown model "{name}": {hint}There are {every}')


def make(name: str, options: Mapping[str, Any]) -> LocalClassifier:
    """Return a fresh model; what was checked before does not raise."""
    kind: Any = find(name)
    model: LocalClassifier = kind(
        **{key: _as_option(kind, key, value) for key, value in options.items()}
    )
    return model


def _as_option(kind: Any, key: str, value: Any) -> Any:
    """Return a value as the class takes it: a list, or text with commas, may mean a tuple."""
    if isinstance(value, str) and isinstance(_parameters(kind)[key].default, tuple):
        return tuple(part.strip() for part in value.split(","))
    return tuple(value) if isinstance(value, list) else value


def _parameters(kind: Any) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(kind).parameters


def check_model(name: Any, options: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the keys that are wrong, and what is wrong with each."""
    try:
        kind: Any = find(name)
    except ValueError as error:
        yield "class", str(error)
        return
    known = list(_parameters(kind))
    fine = {}
    for key, value in options.items():
        if key not in known:
            yield key, unknown(f"option of {kind.__name__}", key, known)
            continue
        try:
            kind(**{key: _as_option(kind, key, value)})
        except (ValueError, TypeError) as error:
            yield key, str(error)
        else:
            fine[key] = value
    try:
        make(name, fine)
    except (ValueError, TypeError) as error:  # fine one by one, but not together
        yield next(reversed(fine)), str(error)


def parsed(options: Iterable[str]) -> dict[str, Any]:
    """Return options given as ``name=value``; a value is TOML, or else text.

    Examples
    --------
    >>> parsed(["threads=2", "coding=softmax"])
    {'threads': 2, 'coding': 'softmax'}

    """
    found: dict[str, Any] = {}
    for option in options:
        name, equals, value = option.partition("=")
        if not equals or not name:
            raise MistakeError(f"--option {option}: write name=value, as in threads=2")
        try:
            found[name.strip()] = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            found[name.strip()] = value.strip()
    return found
