"""The package's models by name, with options as they are written in a file or on a command line."""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from stream_llsvm.cli.mistakes import MistakeError, unknown
from stream_llsvm.learners.base import LocalClassifier

USUAL = "CommitteeClassifier"


def classes() -> dict[str, type[LocalClassifier]]:
    """Return the models by name."""
    import stream_llsvm

    every = {name: getattr(stream_llsvm, name) for name in stream_llsvm.__all__}
    return {name: kind for name, kind in every.items() if name.endswith("Classifier")}


def short_names() -> dict[str, type[LocalClassifier]]:
    """Return the models by their names without the ending: committee, sapl, ..."""
    return {
        name.removesuffix("Classifier").replace("AdditiveSVM", "Additive").lower(): kind
        for name, kind in classes().items()
    }


def find(name: Any) -> type[LocalClassifier]:
    """Return the model of this name, long or short. Raises ValueError."""
    long, short = classes(), short_names()
    if isinstance(name, str) and (found := long.get(name) or short.get(name.lower())):
        return found
    raise ValueError(unknown("class", str(name), long))


def _as_option(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def make(name: str, options: Mapping[str, Any]) -> LocalClassifier:
    """Return a fresh model; what was checked before does not raise."""
    kind: Any = find(name)
    model: LocalClassifier = kind(**{key: _as_option(value) for key, value in options.items()})
    return model


def check_model(name: Any, options: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the keys that are wrong, and what is wrong with each."""
    try:
        kind: Any = find(name)
    except ValueError as error:
        yield "class", str(error)
        return
    known = list(inspect.signature(kind).parameters)
    fine = {}
    for key, value in options.items():
        if key not in known:
            yield key, unknown(f"option of {kind.__name__}", key, known)
            continue
        try:
            kind(**{key: _as_option(value)})
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
