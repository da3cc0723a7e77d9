"""Why a prediction came out as it did: contributions that add up to the score.

The mixer adds the experts up with its trust in each, so a class's score is

    score = bias + memory + sum_i contribution_i

with nothing left over; ``memory`` is what the remembered records voted, which has no features. A
contribution is what the rest of the score, but for the contexts, loses when the feature is set to
its mean, see ``attribution.py``, and the feature's share of what contexts say. How steep the score
is comes from the members themselves: a blend of linear machines is linear at any one record,
w(x) = sum_j gamma_j W_j, LL(6), LL(7), SAPL(6), and an additive machine is a sum by construction.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.kernels.mixer import AWAKE, OWN_ACCURACY, OWN_LOSS, WORTH, rms_of
from stream_llsvm.kernels.scaling import CENTRE, COUNT, INVERSE, Z_MOST, Z_STRAIGHT
from stream_llsvm.model.state import ModelState
from stream_llsvm.records.columns import NameColumn, PartColumn, field_of, is_derived

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Explanation:
    """One prediction, taken apart.

    Attributes
    ----------
    label
        The label explained: the predicted one, unless another was asked for.
    score
        Its score, as `decision_function_one` gives it.
    bias
        The part of the score that is no feature's and no remembered record's:
        ``bias + memory + sum(contributions) == score``.
    contributions
        What each feature of the record adds: what the score, without ``memory`` and contexts,
        loses when the feature is set to its mean and the others stay (for a sparse feature, when
        it is not named), and its share of what contexts say, a Shapley value. Empty for a model
        that cannot share its score out among features.
    weights
        How the score changes with each feature, per unit of the feature, as far as the members
        that are smooth go (anchors, additive, waves); less for a value more than two
        standard deviations out, nearly 0 far out.
    memory
        What the remembered records add; 0 for a model without a memory.
    voters
        The remembered records that voted, nearest first.
    members
        The same score by member: ``sum(members.values()) == score``.
    reference
        The part of the bias that is the score, without ``memory``, of the record whose features
        are all at their means, and what contexts say of any record. The other part,
        ``bias - reference``, is what features do together: below 0 where they tell only side by
        side and each would lose the whole, above it where they say the same and none would lose
        much.
    contexts
        The contexts that add most to the score or take most away, the strongest first: what fields
        of the record say together, and which labels came with it.

    """

    label: Any
    score: float
    bias: float
    contributions: dict[Any, float]
    weights: dict[Any, float]
    memory: float = 0.0
    voters: list[Voter] = field(default_factory=list)
    members: dict[str, float] = field(default_factory=dict)
    reference: float = 0.0
    contexts: list[Context] = field(default_factory=list)


@dataclass(frozen=True)
class Context:
    """What some fields of a record say together, and which labels came with it.

    Attributes
    ----------
    values
        What each of the fields says: a name, a word, a whole number, ``"10 to 12.5"`` (the eighth
        of its scale in which a number lies), or None where the value is missing.
    counts
        How many records of each label came with it; of the last 200, about, if there were more.
    contribution
        What it adds to the score.

    """

    values: dict[Any, Any]
    counts: dict[Any, int]
    contribution: float

    def __str__(self) -> str:
        """Return it in one line: ``country=DE, device=web: 31 of 40 fraud``."""
        said = ", ".join(f"{name}={value}" for name, value in self.values.items())
        label = max(self.counts, key=self.counts.__getitem__)
        return f"{said}: {self.counts[label]} of {sum(self.counts.values())} {label}"


@dataclass(frozen=True)
class Voter:
    """A remembered record that voted.

    Attributes
    ----------
    label
        Its label.
    age
        How many records have been learned since.
    distance
        How far it is, in the learned metric.
    share
        Its share of the votes of the twenty nearest; for a local SVM, of all that its support
        vectors add to the likeliest class's machine, counted without signs.

    """

    label: Any
    age: int
    distance: float
    share: float


@dataclass(frozen=True)
class Anchor:
    """One anchor, in the user's own units.

    Attributes
    ----------
    position
        Where it is: ``{feature: value}``. Of a feature with names the name that it is nearest to;
        a time is an hour and a weekday.
    mass
        How many records it has answered, each counted by its share of the answer.
    weights
        Its own machine: for each label ``{feature: change of the score per unit}``; of a feature
        with names for the one that it is nearest to.
    bias
        For each label, its machine's score where every feature is 0.

    """

    position: dict[Any, Any]
    mass: float
    weights: dict[Any, dict[Any, float]]
    bias: dict[Any, float]


def mixed(memory: ModelState, experts: Array, strength: Array) -> Array:
    """Blend what experts have, (experts, columns, ...), into what each class has.

    ``strength`` holds for each expert and class what its score is multiplied with.
    """
    if experts.shape[1] == 1:
        signs = np.array([-0.5, 0.5]) if memory.n_classes == 2 else np.zeros(1)
        by_class = signs.reshape(1, -1, *[1] * (experts.ndim - 2)) * experts
    else:
        by_class = experts - experts.mean(axis=1, keepdims=True)
    return np.asarray(np.einsum("ec,ec...->c...", strength, by_class))


class Taken(NamedTuple):
    """A class's score for the last record, taken apart; arrays are one number a feature.

    ``linear`` is what features add by the accounts of members that are asked again without them,
    ``held`` by those of members whose account is the last word; ``usual`` is what these say of any
    record.
    """

    score: float
    memory: float
    linear: Array
    held: Array
    usual: float
    slopes: Array
    members: dict[str, float]


def explain_last(memory: ModelState, code: int, z: Array) -> Taken:
    """Explain the class's score for the record that the last call scored; z are its features."""
    model = memory.views(0)
    scores = model["scores"][0, 0].astype(np.float64)
    strength = strength_of(memory, scores)
    trust, normal = memory.trust, model["normal"][:, code]
    linear, held, slopes = np.zeros(len(z)), np.zeros(len(z)), np.zeros(len(z))
    voted = usual = 0.0
    by_member: dict[str, float] = {}
    for i, member in enumerate(memory.members):
        own = memory.experts_of(i)
        part = float(trust[own] @ normal[own])
        by_member[member.name] = by_member.get(member.name, 0.0) + part
        if model["members"][AWAKE, i] == 0:
            continue  # it was not asked
        seen = memory.shapes[1 + i][0]
        parts = member.parts(memory.views(1 + i), z[:seen])
        if parts is None:
            voted += part
            continue
        added = np.zeros(len(z))
        added[:seen] = mixed(memory, parts.of_features, strength[own])[code]
        if member.accounts:
            held += added
            usual += float(mixed(memory, parts.rest, strength[own])[code])
        else:
            linear += added
        slopes[:seen] += mixed(memory, parts.slopes, strength[own])[code]
    return Taken(float(trust @ normal), voted, linear, held, usual, slopes, by_member)


def strength_of(memory: ModelState, scores: Array) -> Array:
    """Return what the mixer multiplies each expert's score of each class with."""
    model = memory.views(0)
    rms = rms_of(model["mixer"])
    if scores.shape[1] == 1:
        unclipped = scores / 2 * np.array([-1.0, 1.0])[: memory.n_classes] / rms[:, None]
    else:
        unclipped = (scores - scores.mean(axis=1, keepdims=True)) / rms[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        clipped = np.where(unclipped == 0, 1.0, model["normal"] / unclipped)
    return np.asarray((memory.trust / rms)[:, None] * clipped)


@dataclass(frozen=True)
class MemberReport:
    """How a member is doing.

    Attributes
    ----------
    name
        As the option `members` has it.
    awake
        Whether it is asked at all; see `CommitteeClassifier`'s budget.
    weights
        The mixer's trust in each of its experts: raw weights of each step size, then averaged
        ones; for a memory, the votes of the closest, of the latest of them, and of all twenty.
    log_loss, accuracy
        Of the member alone, with the best mixture of its own experts; fading, over some 800
        records.
    worth
        How much greater the log loss of the whole would be without it; fading alike.
    experts
        What the weights are of, in their order: `"step 4"`, `"step 4, averaged"`, `"closest"`.

    """

    name: str
    awake: bool
    weights: tuple[float, ...]
    log_loss: float
    accuracy: float
    worth: float
    experts: tuple[str, ...] = ()


def mixture_of(memory: ModelState) -> list[MemberReport]:
    """Report on each member."""
    model = memory.views(0)
    trust, facts = memory.trust, model["members"]
    return [
        MemberReport(
            name=member.name,
            awake=bool(facts[AWAKE, i] > 0),
            weights=tuple(trust[memory.experts_of(i)].tolist()),
            log_loss=float(facts[OWN_LOSS, i]),
            accuracy=float(facts[OWN_ACCURACY, i]),
            worth=float(facts[WORTH, i]),
            experts=tuple(member.expert_names(*memory.shapes[1 + i])),
        )
        for i, member in enumerate(memory.members)
    ]


def relevance_of(memory: ModelState, names: tuple[Any, ...]) -> dict[Any, float]:
    """Return how much each field counts in the metric learned, on the mean 1; empty if none.

    A field of names, times or texts counts as much as its columns together.
    """
    for i, member in enumerate(memory.members):
        relevance = member.relevance(memory.views(1 + i))
        if relevance is not None and names:
            own = np.zeros(len(names))
            own[: len(relevance)] = relevance[: len(names)]
            fields = list(map(field_of, names))
            derived = {field_of(name) for name in names if is_derived([name])}
            # The own column of such a field says nothing, unless it had numbers, too.
            seen = memory.views(0)["statistics"][: len(names), COUNT] > 0
            silent = [n in derived and not told for n, told in zip(names, seen, strict=True)]
            places = {field: place for place, field in enumerate(dict.fromkeys(fields))}
            sums = np.zeros(len(places))
            np.add.at(sums, [places[field] for field in fields], np.where(silent, 0.0, own))
            return dict(zip(places, (sums / sums.mean()).tolist(), strict=True))
    return {}


def voters_of(memory: ModelState, labels: tuple[Any, ...]) -> list[Voter]:
    """List the remembered records that voted on the last one."""
    return [
        Voter(labels[code], int(age), distance, share)
        for i, member in enumerate(memory.members)
        if memory.views(0)["members"][AWAKE, i] > 0
        for code, age, distance, share in member.voters(memory.views(1 + i))
    ]


def anchors_of(
    memory: ModelState, names: tuple[Any, ...], labels: tuple[Any, ...], which: int
) -> list[Anchor]:
    """List the anchors of the member of this number, in the user's units."""
    model, n = memory.views(0), min(len(names), memory.shapes[1 + which][0])
    names = names[:n]  # of a capped member those that it sees
    own = memory.experts_of(which)
    trust = (memory.trust / rms_of(model["mixer"]))[own]
    strength = np.repeat(trust[:, None], memory.n_classes, axis=1)
    centre, scale = units(memory, n)
    found = []
    for position, mass, weights, biases in memory.members[which].anchors(memory.views(1 + which)):
        w, b = mixed(memory, weights[..., :n], strength), mixed(memory, biases, strength)
        w = w * np.where(scale > 0, 1 / np.where(scale > 0, scale, 1), 0)
        b = b - w @ centre
        places = centre + scale * position[:n]
        named = _nearest_names(names, position[:n])
        found.append(
            Anchor(
                position={**_by_field(names, places, named), **named},
                mass=mass,
                weights={
                    label: _by_field(names, row, named)
                    for label, row in zip(labels, w, strict=True)
                },
                bias=dict(zip(labels, b.tolist(), strict=True)),
            )
        )
    return found


def _nearest_names(names: tuple[Any, ...], position: Array) -> dict[Any, str]:
    """Return the name of each field that an anchor is nearest to."""
    nearest: dict[Any, tuple[float, str]] = {}
    for column, place in zip(names, position.tolist(), strict=True):
        if isinstance(column, NameColumn) and place > nearest.get(column.field, (-np.inf, ""))[0]:
            nearest[column.field] = place, column.name
    return {field: name for field, (_, name) in nearest.items()}


def _by_field(names: tuple[Any, ...], numbers: Array, named: dict[Any, str]) -> dict[Any, float]:
    """Return a number for each field: of names the one of the name, of times two."""
    found: dict[Any, float] = {}
    for column, number in zip(names, numbers.tolist(), strict=True):
        if isinstance(column, NameColumn):
            if named[column.field] == column.name:
                found[column.field] = number
        elif isinstance(column, PartColumn):
            found[str(column)] = number
        else:
            found[column] = number
    return found


def units(memory: ModelState, n_features: int) -> tuple[Array, Array]:
    """Return centre and scale of each feature: value = centre + scale z."""
    statistics = memory.views(0)["statistics"][:n_features]
    shares = memory.shares(n_features).astype(np.float64)
    if not memory.standardize:
        return np.zeros(n_features), 1 / shares
    inverse = statistics[:, INVERSE] * shares
    return statistics[:, CENTRE], np.where(inverse > 0, 1 / np.where(inverse > 0, inverse, 1), 0)


def per_unit(memory: ModelState, columns: NDArray[np.int64], z: Array, weights: Array) -> Array:
    """Return weights per unit of the features in these columns, whose scaled values are z."""
    shares = memory.shares(memory.width)[columns]
    if not memory.standardize:
        return weights * shares
    inverse = memory.views(0)["statistics"][columns, INVERSE]
    # How steep the bent part is where z lies, see kernels/scaling.py.
    room = np.clip((Z_MOST - np.abs(z / shares)) / (Z_MOST - Z_STRAIGHT), 0.0, 1.0)
    return np.asarray(weights * shares * inverse * room**2)
