"""What is said of decisions, by flags and in ``[decision]``: costs, what to hold, sets, weights."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from stream_llsvm.connectors.keys import Key, Kind, any_number, names_in
from stream_llsvm.learners.class_weights import BALANCED, ClassWeights


def _costs(name: str, value: Any) -> dict[str, dict[str, float]]:
    from stream_llsvm.learners.decision import checked_costs  # late: `--help` needs no numpy

    return checked_costs(value)


def _hold(name: str, value: Any) -> dict[str, Any]:
    from stream_llsvm.learners.decision import checked_hold

    return checked_hold(value)


def _class_weight(name: str, value: Any) -> Any:
    ClassWeights(value)
    return value


def _costs_in(text: Any) -> Any:
    """Return what ``fraud:fine=100,fine:fraud=5`` means: truth, decided, cost.

    Examples
    --------
    >>> _costs_in("fraud:fine=100, fine:fraud=5")
    {'fraud': {'fine': 100.0}, 'fine': {'fraud': 5.0}}

    """
    found: dict[str, dict[str, float]] = {}
    for pair, cost in _pairs(text, "TRUTH:DECIDED=COST"):
        truth, colon, told = pair.partition(":")
        if not colon:
            raise ValueError(f"write TRUTH:DECIDED=COST, as in fraud:fine=100; got {pair!r}")
        found.setdefault(truth.strip(), {})[told.strip()] = cost
    return found


def _hold_in(text: Any) -> Any:
    """Return what ``fraud:precision=0.9`` means.

    Examples
    --------
    >>> _hold_in("fraud:precision=0.9")
    {'label': 'fraud', 'precision': 0.9}

    """
    ((pair, value), *more) = _pairs(text, "LABEL:precision=SHARE")
    label, _, kind = pair.rpartition(":")
    if more or not label:
        raise ValueError(f"write LABEL:precision=0.9 or LABEL:recall=0.8; got {text!r}")
    return {"label": label, kind.strip(): value}


def _class_weight_in(text: Any) -> Any:
    return text if text == BALANCED else dict(_pairs(text, '"balanced" or LABEL=WEIGHT'))


def _pairs(text: Any, form: str) -> Iterable[tuple[str, float]]:
    """Yield names and numbers of ``name=number,...``."""
    for one in names_in([str(text)]):
        name, _, value = one.rpartition("=")
        try:
            yield name.strip(), float(value)
        except ValueError:
            raise ValueError(f"write {form}; got {one!r}") from None


KEYS = {
    "costs": Key(
        Kind(_costs, metavar="TRUTH:DECIDED=COST,...", parse=_costs_in),
        "--costs",
        "What mistakes cost: the decision is the least expected cost.",
    ),
    "hold": Key(
        Kind(_hold, metavar="LABEL:precision=SHARE", parse=_hold_in),
        "--hold",
        "Hold the precision, or the recall, of a label: fraud:recall=0.8.",
    ),
    "coverage": Key(
        any_number(0.5, 0.999, "SHARE"),
        "--coverage",
        "A set of labels with each record, which holds the truth this often.",
    ),
    "class_weight": Key(
        Kind(_class_weight, metavar="WEIGHTS", parse=_class_weight_in),
        "--class-weight",
        'How much classes count: "balanced", or fraud=5,fine=1.',
    ),
}
FLAGS = {key.flag: key for key in KEYS.values()}


def for_engine(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of an engine that a section's keys mean."""
    from stream_llsvm.learners.decision import Decision

    how = {name: given[name] for name in ("costs", "hold", "coverage") if name in given}
    found: dict[str, Any] = {"decision": Decision(**how)} if how else {}
    if "class_weight" in given:
        found["class_weight"] = given["class_weight"]
    return found
