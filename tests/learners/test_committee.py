"""The committee: its members are what they are alone, and together no worse than the best."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from river import datasets, evaluate, metrics

from stream_llsvm import CommitteeClassifier, MemoryClassifier, load_model
from stream_llsvm.kernels.metric import PERIOD
from stream_llsvm.learners.committee import MEMBERS
from stream_llsvm.members.ferns.kernel import GRACE
from tests.learners.support import SMALL, everything, records, small, sound, taught

Arrays = tuple[NDArray[np.float64], NDArray[np.int64]]
FEW = SMALL[CommitteeClassifier]["members"]


def stream(n: int, seed: int = 0) -> Arrays:
    """Draw records of three classes that curves, corners and neighbours all know something of."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, (X[:, 0] * X[:, 1] > 0).astype(np.int64) + (X[:, 2] > 1)


# ---- members


@pytest.mark.parametrize("which", range(len(FEW)))
def test_a_member_learns_what_it_would_learn_alone(which: int) -> None:
    """To the bit: members know neither each other nor the mixer."""
    # Ferns that are drawn anew are drawn by what the memory has learned.
    X, y = stream(PERIOD - 1 if FEW[which].startswith("ferns") else GRACE - 1)
    together, alone = small(CommitteeClassifier), CommitteeClassifier(members=(FEW[which],))
    for model in (together, alone):
        model.learn_many(X, y)
    assert together._state is not None and alone._state is not None
    expected = alone._state.views(1)
    for name, view in together._state.views(1 + which).items():
        if alone._state._places[1][name].where == "state":
            assert np.array_equal(view, expected[name]), name


def test_a_committee_of_a_memory_is_the_memory() -> None:
    X, y = stream(500)
    one, other = CommitteeClassifier(members=("memory:70",)), MemoryClassifier(window=70)
    assert one.test_then_learn(X, y).tolist() == other.test_then_learn(X, y).tolist()
    assert everything(one) == everything(other)


def test_members_may_be_a_list_and_come_twice() -> None:
    model = CommitteeClassifier(members=["ferns:5", "ferns:5"])  # type: ignore[arg-type]
    taught(model, records(200))
    assert sound(model)
    assert list(model.explain_one({"f0": 1.0}).members) == ["ferns:5"]


def test_the_anchors_shown_are_those_of_the_member_with_the_most() -> None:
    model = CommitteeClassifier(members=("anchors:2", "anchors:7", "additive", "anchors:3"))
    taught(model, records(200))
    assert len(model.anchors) == 7
    assert small(CommitteeClassifier, members=("memory", "ferns")).anchors == []


# ---- the same, however records come in


@pytest.mark.parametrize(
    ("members", "history"),
    [
        (("memory:100", "ferns:12"), 0),
        (("memory:100", "ferns:12"), 150),
        (("ferns:12", "memory:100"), 0),
    ],
    ids=["live", "after a warm start", "ferns first"],
)
def test_rows_blocks_and_files_are_the_same_when_ferns_are_drawn_anew(
    members: tuple[str, ...], history: int, tmp_path: Path
) -> None:
    X, y = stream(history + GRACE + 20 * PERIOD)
    block, single, saved = (CommitteeClassifier(members=members) for _ in range(3))
    for model in (block, single, saved):
        if history:
            model.warm_start(X[:history], y[:history], epochs=3)
    X, y = X[history:], y[history:]
    block.learn_many(X, y)
    taught(single, [(dict(enumerate(r)), c) for r, c in zip(X.tolist(), y.tolist(), strict=True)])
    reader = saved
    for i in range(0, len(X), 97):
        reader.learn_many(X[i : i + 97], y[i : i + 97])
        reader.save(tmp_path / "model")
        reader = load_model(tmp_path / "model")
    for model in (block, single):
        model.save(tmp_path / "model")  # which gives back the room that history took
    assert everything(block) == everything(single)
    assert everything(block) == everything(reader)


# ---- what it reaches


@pytest.mark.parametrize(
    ("dataset", "floor"),
    [(datasets.Bananas, 0.885), (datasets.Phishing, 0.9), (datasets.ImageSegments, 0.93)],
)
def test_it_is_as_good_as_its_best_member(dataset: type[datasets.Bananas], floor: float) -> None:
    """Within a point: the mixer has to find out which one that is."""
    rows = list(dataset())

    def score(members: tuple[str, ...]) -> float:
        model = CommitteeClassifier(members=members)
        return float(evaluate.progressive_val_score(rows, model, metrics.Accuracy()).get())

    together = score(MEMBERS)
    assert together > floor
    assert together > max(score((name,)) for name in MEMBERS) - 0.01


@pytest.mark.parametrize("dataset", [datasets.Bananas, datasets.ImageSegments])
def test_after_a_warm_start_it_is_as_good_as_its_best_member(
    dataset: type[datasets.Bananas],
) -> None:
    """On records that it has not seen; within two standard errors of their share."""
    rows = list(dataset())
    X = np.array([list(x.values()) for x, _ in rows], dtype=np.float64)
    y = np.array([label for _, label in rows])
    order = np.random.default_rng(0).permutation(len(X))
    train, test = order[: len(X) // 2], order[len(X) // 2 :]

    def score(members: tuple[str, ...]) -> float:
        model = CommitteeClassifier(members=members)
        model.warm_start(X[train], y[train], epochs=5)
        assert sound(model)
        return float(np.mean(model.predict_many(X[test]) == y[test]))

    together, best = score(MEMBERS), max(score((name,)) for name in MEMBERS)
    noise = 2 * np.sqrt(best * (1 - best) / len(test))
    assert together > best - noise


def test_xor_and_back_after_a_sudden_change() -> None:
    model, reached = CommitteeClassifier(), []
    for part, swapped in enumerate((False, True, False)):
        X = np.random.default_rng(part).uniform(-1, 1, (3_000, 2))
        y = (X[:, 0] * X[:, 1] > 0) ^ swapped
        told = model.test_then_learn(X, y)
        reached.append(float(np.mean(told[-1_000:] == y[-1_000:])))
    assert min(reached) > 0.95
