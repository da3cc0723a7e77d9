"""Models by name: the package's own, with options as users write them, and river's beside them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from stream_llsvm.cli.errors import MistakeError, nearest, unknown
from stream_llsvm.learners.registry import CLASSIFIERS, learner

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
        for name in CLASSIFIERS
    }


def find(name: Any) -> type[LocalClassifier]:
    """Return the model of this name, long or short. Raises ValueError."""
    short = short_names()
    long = short.get(str(name).lower(), str(name))
    if long in short.values():
        kind: type[LocalClassifier] = learner(long)
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
    import tomllib

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


Labels = Collection[Hashable]


def _scaled(model: Any) -> Any:
    from river import preprocessing

    return preprocessing.StandardScaler() | model


def _logistic_regression(labels: Labels) -> Any:
    from river import linear_model, multiclass

    model: Any = linear_model.LogisticRegression()
    # It knows False and True only, which 0 and 1 equal.
    return _scaled(model if set(labels) <= {0, 1} else multiclass.OneVsRestClassifier(model))


def _forest(labels: Labels) -> Any:
    from river import forest

    return forest.ARFClassifier(n_models=10, seed=1)


def _neighbours(labels: Labels) -> Any:
    from river import neighbors

    return _scaled(neighbors.KNNClassifier())


def _majority(labels: Labels) -> Any:
    from river import dummy

    return dummy.PriorClassifier()


def _no_change(labels: Labels) -> Any:
    from river import dummy

    return dummy.NoChangeClassifier()


PEERS: dict[str, Callable[[Labels], Any]] = {
    "logreg": _logistic_regression,
    "arf": _forest,
    "knn": _neighbours,
    "majority": _majority,
    "nochange": _no_change,
}


class Entrant(NamedTuple):
    """A learner by name, and how to make it when the labels are known."""

    name: str
    make: Callable[[Labels], Any]


def chosen(models: str, against: str) -> list[Entrant]:
    """Return the learners asked for."""
    found, names = [], _listed(models)
    for name in short_names() if "all" in names else names:
        try:
            kind = find(name)
        except ValueError as error:
            raise MistakeError(f"--models: {error}, all") from None
        found.append(Entrant(name, lambda labels, kind=kind: kind()))  # type: ignore[misc]
    for name in _listed(against):
        if name not in PEERS:
            raise MistakeError(f"--against: {unknown('learner', name, PEERS)}")
        found.append(Entrant(name, PEERS[name]))
    if not found:
        raise MistakeError("--models: name at least one")
    return found


def _listed(names: str) -> list[str]:
    return [name.strip() for name in names.split(",") if name.strip()]
