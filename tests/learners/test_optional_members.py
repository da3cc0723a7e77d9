"""Members that a committee has only if asked for: what any of them must do, however records come.

A further one is an entry in OPTIONAL and, in the tests of its own, what only it does.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from stream_llsvm import (
    BudgetedPegasosClassifier,
    CommitteeClassifier,
    L3SVMClassifier,
    LocalSVMClassifier,
    ModelFileError,
    PegasosClassifier,
    load_model,
)
from stream_llsvm.kernels.judge import JUDGE_ONE_IN
from stream_llsvm.kernels.mixer import AWAKE
from stream_llsvm.learners.base import LocalClassifier
from stream_llsvm.learners.load import from_payload
from stream_llsvm.members.family.budget_svm import kernel as budget
from stream_llsvm.members.family.landmarks import kernel as landmarks
from stream_llsvm.members.family.local_svm import kernel as local
from stream_llsvm.members.family.local_svm.window import LABEL, NORM, STAMP, WORTH
from stream_llsvm.members.family.pegasos import steps
from stream_llsvm.members.registry import KINDS
from tests.learners.support import everything, records, small, taught
from tests.learners.test_hostile_state import changed
from tests.oracle_compare import stream

Options = dict[str, Any]
Own = dict[str, NDArray[Any]]


class OptionalMember(NamedTuple):
    """A classifier that is one such member, and that member as a committee's."""

    kind: type[LocalClassifier]
    name: str
    #: Options, each of which is another way to learn.
    ways: dict[str, Options]
    #: Ways in which it is linear or smooth as long as the same part of it answers.
    smooth: dict[str, Options]
    #: Which part of it answered the last record.
    answering: Callable[[Own], tuple[float, ...]]
    #: What no file may say: the section, the place in it, and the value.
    impossible: dict[str, tuple[str, Any, float]]


def _neighbours(own: Own) -> tuple[int, ...]:
    return tuple(sorted(own["near"][: int(own["memo"][local.FOUND])].tolist()))


LANDMARK_WAYS: dict[str, Options] = {
    "axes": {},
    "components": {"n_landmarks": 2},
    "random": {"landmarks": "random", "l2": 1e-3},
    "rbf": {"projection": "rbf", "n_landmarks": 20},
}

BUDGET_WAYS: dict[str, Options] = {
    "merging": {},
    "removal": {"maintenance": "removal"},
    "one width": {"gamma": 0.2},
    "logistic": {"loss": "logistic", "multiclass": "crammer_singer"},
}

LINEAR_WAYS: dict[str, Options] = {
    "hinge": {},
    "one by one": {"batch_size": 1},
    "no ball": {"projection": False, "t0": 50},
    "logistic": {"loss": "logistic", "batch_size": 1},
    "squared": {"loss": "squared_hinge", "l2": 0.1},
}

OPTIONAL = {
    "local": OptionalMember(
        LocalSVMClassifier,
        "local:80",
        {
            "megm": {},
            "plain": {"metric": None},
            "diagonal": {"metric": "diagonal"},
            "linear": {"kernel": "linear"},
            "reservoir": {"replace": "random"},
        },
        {"linear": {"kernel": "linear", "window": 2_000}},
        _neighbours,
        {
            "more records than there is room for": ("running", local.HELD, 71.0),
            "half a record": ("running", local.HELD, 3.5),
            "a place beyond the window": ("running", local.HEAD, 70.0),
            "half a place": ("running", local.HEAD, 0.5),
            "records seen below 0": ("running", local.SEEN, -1.0),
            "more records than can be counted": ("running", local.SEEN, 2.0**53),
            "more offered than can be counted": ("running", local.OFFERED, 1e300),
            "a spread below 0": ("running", local.SPREAD, -1.0),
            "a class that there is not": ("facts", (LABEL, 5), 3.0),
            "half a class": ("facts", (LABEL, 0), 0.5),
            "a class below 0": ("facts", (LABEL, 0), -1.0),
            "a weight below 0": ("facts", (WORTH, 0), -1.0),
            "a record of the future": ("facts", (STAMP, 0), 1e6),
            "a norm below 0": ("facts", (NORM, 0), -1.0),
            "infinity in a record": ("store", (0, 0), np.inf),
            "nan in the map": ("matrix", (0, 0), np.nan),
            "an effort below 0": ("effort", 0, -1.0),
        },
    ),
    "landmarks": OptionalMember(
        L3SVMClassifier,
        "landmarks:6",
        LANDMARK_WAYS,
        {name: {"n_clusters": 3, "n_landmarks": 4} | way for name, way in LANDMARK_WAYS.items()},
        lambda own: (int(own["found"][0]),),
        {
            "more clusters than there is room for": ("running", landmarks.BORN, 6.0),
            "half a cluster": ("running", landmarks.BORN, 2.5),
            "more landmarks than there is room for": ("running", landmarks.HELD, 4.0),
            "less than no landmarks": ("running", landmarks.HELD, -1.0),
            "components that there are not": ("running", landmarks.FOUND, 1.0),
            "more records than can be counted": ("running", landmarks.SEEN, 2.0**53),
            "more offered than can be counted": ("running", landmarks.OFFERED, 1e300),
            "a spread below 0": ("running", landmarks.SPREAD, -1.0),
            "a norm below 0": ("norms", 0, -1.0),
            "infinity in a landmark": ("landmarks", (0, 0), np.inf),
            "nan in a weight": ("weights", (0, 0, 0, 0, 0), np.nan),
        },
    ),
    "budget": OptionalMember(
        BudgetedPegasosClassifier,
        "pegasos:25",
        BUDGET_WAYS,
        {name: {"budget": 30} | way for name, way in BUDGET_WAYS.items()},
        lambda own: (),
        {
            "more vectors than there is room for": ("running", budget.HELD, 21.0),
            "half a vector": ("running", budget.HELD, 2.5),
            "less than no records": ("running", budget.SEEN, -1.0),
            "more records than can be counted": ("running", budget.SEEN, 2.0**53),
            "a usual distance below 0": ("running", budget.SPREAD, -1.0),
            "a norm below 0": ("norms", 0, -1.0),
            "a stamp below 0": ("stamps", 0, -1.0),
            "infinity in a vector": ("vectors", (0, 0), np.inf),
            "nan in a coefficient": ("coefficients", (0, 0, 0), np.nan),
        },
    ),
    "linear": OptionalMember(
        PegasosClassifier,
        "linear:3",
        LINEAR_WAYS,
        LINEAR_WAYS,
        lambda own: (),
        {
            "more held than makes a batch": ("head", steps.HELD, 3.0),
            "half a step": ("head", steps.STEPS, 2.5),
            "less than no records": ("head", steps.SEEN, -1.0),
            "more records than can be counted": ("head", steps.SEEN, 2.0**53),
            "a batch of less than nothing": ("head", steps.ENERGY, -1.0),
            "a scale of 0": ("scale", 0, 0.0),
            "a norm below 0": ("norm", 0, -1.0),
            "a weight that nobody learns": ("weights", (0, 0), 1e200),
            "infinity in a batch": ("slope", (0, 0), np.inf),
            "nan in a bias": ("bias", 0, np.nan),
        },
    ),
}
#: Each of them between members of other kinds.
COMMITTEES = {kind: ("anchors:5", member.name, "ferns:6") for kind, member in OPTIONAL.items()} | {
    "all of them": ("anchors:5", *(member.name for member in OPTIONAL.values()), "memory:60")
}


def _each(part: str) -> list[Any]:
    """One case for each of a member's ways, or of what is impossible in it."""
    return [
        pytest.param(member, value, id=f"{kind}, {way}")
        for kind, member in OPTIONAL.items()
        for way, value in getattr(member, part).items()
    ]


def arrays(n: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    return stream(7, n, 4, 3, missing=0.05)


def test_each_optional_member_is_tested_here() -> None:
    always = {member.name.partition(":")[0] for member in CommitteeClassifier()._members()}
    assert len(OPTIONAL) == len(set(KINDS) - always)


def same_thrice(models: Any, path: Path) -> None:
    """Row by row, in blocks, and with a file between blocks of an odd size."""
    one, block, read = models
    X, y = arrays(700)
    told = []
    for row, label in zip(X.tolist(), y.tolist(), strict=True):
        told.append(one.predict_one(dict(enumerate(row))))
        one.learn_one(dict(enumerate(row)), label)
    assert block.test_then_learn(X, y).tolist() == told
    for i in range(0, len(X), 97):
        read.learn_many(X[i : i + 97], y[i : i + 97])
        read.save(path)
        read = load_model(path)
    assert everything(one) == everything(block) == everything(read)


@pytest.mark.parametrize(("member", "options"), _each("ways"))
def test_rows_blocks_and_files_are_the_same(
    member: OptionalMember, options: Options, tmp_path: Path
) -> None:
    same_thrice([small(member.kind, **options) for _ in range(3)], tmp_path / "model")


@pytest.mark.parametrize("members", COMMITTEES.values(), ids=COMMITTEES)
def test_in_a_committee_too(members: tuple[str, ...], tmp_path: Path) -> None:
    same_thrice([CommitteeClassifier(members=members) for _ in range(3)], tmp_path / "model")


@pytest.mark.parametrize("threads", [2, 3])
@pytest.mark.parametrize("members", COMMITTEES.values(), ids=COMMITTEES)
def test_on_several_cores_too(members: tuple[str, ...], threads: int) -> None:
    X, y = arrays(900)
    one, many = (CommitteeClassifier(members=members, threads=t) for t in (1, threads))
    assert one.test_then_learn(X, y).tolist() == many.test_then_learn(X, y).tolist()
    assert everything(one) == everything(many)


@pytest.mark.parametrize("kind", OPTIONAL)
def test_a_member_learns_what_it_would_learn_alone(kind: str) -> None:
    X, y = arrays(500)
    together = CommitteeClassifier(members=COMMITTEES[kind])
    alone = CommitteeClassifier(members=(OPTIONAL[kind].name,))
    for model in (together, alone):
        model.learn_many(X, y)
    assert together._state is not None and alone._state is not None
    expected = alone._state.views(1)
    for section, view in together._state.views(2).items():
        if alone._state._places[1][section].where == "state":
            assert np.array_equal(view, expected[section]), section


@pytest.mark.parametrize("member", OPTIONAL.values(), ids=OPTIONAL)
def test_while_it_rests_it_says_nothing_and_learns_what_it_is_judged_on(
    member: OptionalMember,
) -> None:
    X, y = arrays(300)
    model = CommitteeClassifier(members=("anchors:1", member.name))
    model.learn_many(X, y)
    assert model._state is not None
    model._state.views(0)["members"][AWAKE, 1] = 0
    before = {name: view.copy() for name, view in model._state.views(2).items()}
    explained = model.explain_one({0: 0.5, 1: 0.5})
    assert explained.members[member.name] == 0 and explained.voters == []
    model.learn_one({0: 0.5, 1: 0.5}, 1)
    judged = JUDGE_ONE_IN - (len(X) + 1) % JUDGE_ONE_IN
    model.learn_many(X[: judged - 1], y[: judged - 1])
    for name, view in model._state.views(2).items():
        assert np.array_equal(view, before[name], equal_nan=True), name
    model.learn_many(X[judged - 1 : judged], y[judged - 1 : judged])
    after = model._state.views(2)
    assert any(not np.array_equal(after[name], before[name], equal_nan=True) for name in after)


def _asked(member: OptionalMember, model: LocalClassifier, x: dict[Any, Any]) -> tuple[Any, ...]:
    """Return which part of it answers, and whether the mixer cut its answer off."""
    model.predict_one(x)
    assert model._state is not None
    whole = model._state.views(0)
    return member.answering(model._state.views(1)), bool((np.abs(whole["normal"]) >= 4).any())


@pytest.mark.parametrize(("member", "options"), _each("smooth"))
def test_weights_are_slopes(member: OptionalMember, options: Options) -> None:
    """As far as the same neighbours or cluster answer, and the mixer does not clip them."""
    X, y = stream(0, 600, 4, 3)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    model = small(member.kind, standardize=False, **options)
    model.learn_many(X, y)
    checked = 0
    for row in X[:60]:
        x = dict(enumerate(row.tolist()))
        label = model.predict_one(x)
        explained = model.explain_one(x, label)
        for i in range(4):
            moved = [x | {i: x[i] + s * 1e-3} for s in (1, -1)]
            if any(_asked(member, model, m) != _asked(member, model, x) for m in moved):
                continue
            up, down = (model.decision_function_one(m)[label] for m in moved)
            assert (up - down) / 2e-3 == pytest.approx(
                explained.weights[i], abs=3e-2 * max(1, abs(explained.weights[i]))
            )
            checked += explained.weights[i] != 0
    assert checked > 20


@pytest.mark.parametrize("member", OPTIONAL.values(), ids=OPTIONAL)
def test_a_stream_of_any_length_takes_no_more_memory(member: OptionalMember) -> None:
    X, y = arrays(3_000)
    model = small(member.kind)
    model.learn_many(X, y)
    assert model._state is not None
    memory = model._state
    before = memory.n_bytes, len(memory.state), len(memory.scratch)
    for _ in range(5):
        model.learn_many(X, y)
    assert model._state is memory
    assert before == (memory.n_bytes, len(memory.state), len(memory.scratch))


@pytest.mark.parametrize(("member", "change"), _each("impossible"))
def test_what_is_impossible_is_refused(
    member: OptionalMember, change: tuple[str, Any, float]
) -> None:
    model = taught(small(member.kind), records(100))
    from_payload(dict(model._payload()))
    with pytest.raises(ModelFileError):
        from_payload(changed(model, 1, *change))
