"""Models by name: the package's own, with options as users write them, and river's beside them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from stream_llsvm.cli.errors import MistakeError, nearest, unknown
from stream_llsvm.learners.registry import CLASSIFIERS, LEARNERS, REGRESSORS, learner
from stream_llsvm.removed import removed

if TYPE_CHECKING:
    from stream_llsvm.engine.task import Task
    from stream_llsvm.learners.base import LocalClassifier
    from stream_llsvm.learners.numbers import NumberLearner

    Model = LocalClassifier | NumberLearner

USUAL = "CommitteeClassifier"


def short_names() -> dict[str, str]:
    """Return the names of the classes by their short names; nothing is imported for it.

    Examples
    --------
    >>> names = short_names()
    >>> names["sapl"], names["additive"], names["llsvm-regressor"]
    ('SAPLClassifier', 'AdditiveSVMClassifier', 'LLSVMRegressor')

    """
    return {
        name.removesuffix("Classifier")
        .replace("AdditiveSVM", "Additive")
        .replace("Regressor", "-regressor")
        .lower(): name
        for name in LEARNERS
    }


def find(name: Any) -> type[Model]:
    """Return the model of this name, long or short. Raises ValueError."""
    short = short_names()
    long = short.get(str(name).lower(), str(name))
    if long in short.values():
        kind: type[Model] = learner(long)
        return kind
    if (gone := removed(str(name))) is not None:
        raise ValueError(gone)
    every = ", ".join(short)
    like = nearest(str(name), [*short, *short.values()])
    hint = f'did you mean "{like}"? ' if like else ""
    raise ValueError(f'unknown model "{name}": {hint}There are {every}')


def make(name: str, options: Mapping[str, Any]) -> Model:
    """Return a fresh model; what was checked before does not raise."""
    kind: Any = find(name)
    model: Model = kind(**{key: _as_option(kind, key, value) for key, value in options.items()})
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
    from stream_llsvm.cli.peers import Opened, ScaledWithNames

    return Opened(words=False) | ScaledWithNames() | model


def _logistic_regression(labels: Labels) -> Any:
    from river import linear_model, multiclass

    model: Any = linear_model.LogisticRegression()
    # It knows False and True only, which 0 and 1 equal.
    return _scaled(model if set(labels) <= {0, 1} else multiclass.OneVsRestClassifier(model))


def _forest(labels: Labels) -> Any:
    from river import forest

    from stream_llsvm.cli.peers import Opened

    return Opened() | forest.ARFClassifier(n_models=10, seed=1)


def _neighbours(labels: Labels) -> Any:
    from river import neighbors

    return _scaled(neighbors.KNNClassifier())


def _majority(labels: Labels) -> Any:
    from river import dummy

    return dummy.PriorClassifier()


def _no_change(labels: Labels) -> Any:
    from river import dummy

    return dummy.NoChangeClassifier()


def _linear_regression(labels: Labels) -> Any:
    from river import linear_model

    return _scaled(linear_model.LinearRegression())


def _forest_of_numbers(labels: Labels) -> Any:
    from river import forest

    from stream_llsvm.cli.peers import Opened

    return Opened() | forest.ARFRegressor(n_models=10, seed=1)


def _neighbours_of_numbers(labels: Labels) -> Any:
    from river import neighbors

    return _scaled(neighbors.KNNRegressor())


def _mean(labels: Labels) -> Any:
    from river import dummy, stats

    return dummy.StatisticRegressor(stats.Mean())


class Entrant(NamedTuple):
    """A learner by name, how to make it when the labels are known, and what it learns."""

    name: str
    make: Callable[[Labels], Any]
    task: Task


PEERS: dict[str, Entrant] = {
    one.name: one
    for one in (
        Entrant("logreg", _logistic_regression, "classification"),
        Entrant("arf", _forest, "classification"),
        Entrant("knn", _neighbours, "classification"),
        Entrant("majority", _majority, "classification"),
        Entrant("nochange", _no_change, "classification"),
        Entrant("linreg", _linear_regression, "regression"),
        Entrant("arf-regressor", _forest_of_numbers, "regression"),
        Entrant("knn-regressor", _neighbours_of_numbers, "regression"),
        Entrant("mean", _mean, "regression"),
    )
}
#: What stands for all of this package's models of one kind.
SEVERAL = {"all": CLASSIFIERS, "all-regressors": REGRESSORS}


def chosen(models: str, against: str) -> list[Entrant]:
    """Return the learners asked for."""
    found, names = list[Entrant](), _listed(models)
    for several, kinds in SEVERAL.items():
        if several in names:
            names = [short for short, long in short_names().items() if long in kinds]
    for name in names:
        try:
            kind = find(name)
        except ValueError as error:
            raise MistakeError(f"--models: {error}, {', '.join(SEVERAL)}") from None
        task: Task = "regression" if kind.__name__ in REGRESSORS else "classification"
        found.append(Entrant(name, lambda labels, kind=kind: kind(), task))  # type: ignore[misc]
    for name in _listed(against):
        if name not in PEERS:
            raise MistakeError(f"--against: {unknown('learner', name, PEERS)}")
        found.append(PEERS[name])
    if not found:
        raise MistakeError("--models: name at least one")
    _check_one_task(found)
    return found


def _check_one_task(entrants: Iterable[Entrant]) -> None:
    """Refuse to hold models of classes against models of numbers."""
    by_task: dict[str, list[str]] = {}
    for one in entrants:
        by_task.setdefault(one.task, []).append(one.name)
    if len(by_task) > 1:
        classes, numbers = by_task["classification"], by_task["regression"]
        raise MistakeError(
            f"{', '.join(classes)} learn classes, and {', '.join(numbers)} numbers: evaluate them "
            "apart"
        )


def with_keys(entrants: Iterable[Entrant], key: str | None) -> list[Entrant]:
    """Return the learners, each of ours that learns classes also with a model for each key."""
    found = list(entrants)
    if key is None:
        return found
    for one in entrants:
        if short_names().get(one.name, one.name) in CLASSIFIERS:
            found.append(Entrant(f"{one.name}-per-key", partial(_keyed, one, key), one.task))
    return found


def _keyed(one: Entrant, key: str, labels: Labels) -> Any:
    from stream_llsvm.learners.keyed import KeyedClassifier

    return KeyedClassifier(one.make(labels), key)


def _listed(names: str) -> list[str]:
    return [name.strip() for name in names.split(",") if name.strip()]
