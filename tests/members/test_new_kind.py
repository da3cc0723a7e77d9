"""A new kind of member is its folder and one line in the registry: shown with ``members/toy``.

The toy is nowhere in the package. All that this test does for it is that one line.
"""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from stream_llsvm import CommitteeClassifier, ModelFileError, load_model
from stream_llsvm.kernels.mixer import AWAKE
from stream_llsvm.kernels.scaling import CENTRE, INVERSE
from stream_llsvm.learners.load import from_payload
from stream_llsvm.members.registry import KINDS, Kind
from tests.learners.support import accuracy, everything, records, sound, taught
from tests.learners.test_hostile_state import changed
from tests.members.toy import member as toy

MEMBERS = ("toy", "anchors:1")


@pytest.fixture(autouse=True)
def line_in_the_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(KINDS, "toy", Kind("toy", toy.of_size, "percent a step", 10, 1, 100))


def made(**options: Any) -> CommitteeClassifier:
    return CommitteeClassifier(members=MEMBERS, **options)


def arrays(n: int, classes: int = 3) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    stream = records(n, classes=classes)
    X = np.array([list(x.values()) for x, _ in stream])
    X[::17, 1] = np.nan
    return X, np.array([y for _, y in stream])


@pytest.mark.parametrize("classes", [2, 3])
def test_rows_batches_threads_and_files_are_the_same(classes: int, tmp_path: Path) -> None:
    X, y = arrays(700, classes)
    one, block, read, threads = (made(threads=n) for n in (1, 1, 1, 2))
    told = []
    for row, label in zip(X.tolist(), y.tolist(), strict=True):
        told.append(one.predict_one(dict(enumerate(row))))
        one.learn_one(dict(enumerate(row)), label)
    assert block.test_then_learn(X, y).tolist() == told
    assert threads.test_then_learn(X, y).tolist() == told
    for i in range(0, len(X), 97):
        read.learn_many(X[i : i + 97], y[i : i + 97])
        read.save(tmp_path / "model")
        again = load_model(tmp_path / "model")
        assert isinstance(again, CommitteeClassifier)
        read = again
    assert everything(one) == everything(block) == everything(read) == everything(threads)
    assert sound(one)


def test_it_learns() -> None:
    """Which side of a plane a record is on, but for a label in twenty, alone and beside others."""
    alone = CommitteeClassifier(members=("toy",))
    assert accuracy(alone, records(2_000, classes=2)) > 0.9
    model = made()
    assert accuracy(model, records(2_000, classes=2)) > 0.9
    first, second = model.mixture
    assert (first.name, second.name) == ("toy:10", "anchors:1") and first.experts == ("",)
    assert first.accuracy > 0.85 and first.weights[0] > 0


def test_it_grows_by_features_and_classes() -> None:
    model = taught(made(), records(300, classes=2))
    assert model._state is not None
    before = model._state.views(1)["weights"].copy()
    taught(model, records(300, seed=1, features=9, classes=4))
    after = model._state.views(1)["weights"]
    assert after.shape[0] == 4 and after.shape[1] > before.shape[1]
    assert sound(model) and len(model.features) == 9 and len(model.classes) == 4
    state = taught(made(), records(300, classes=2))._state
    assert state is not None
    new = state.grown(2 * state.width, 3)
    state.carry_to(new)
    assert np.array_equal(new.views(1)["weights"][:2, : state.width], before)
    assert not new.views(1)["weights"][2:].any() and new.views(1)["step"][0] == 0.1


@pytest.mark.parametrize("classes", [1, 2, 3])
def test_parts_of_an_explanation_add_up(classes: int) -> None:
    model = taught(made(), records(400, classes=classes))
    for x, _ in records(50, seed=1):
        for label in model.classes:
            told = model.explain_one(x, label)
            score = model.decision_function_one(x)[label]
            assert told.score == pytest.approx(score, abs=1e-6)
            assert told.bias + sum(told.contributions.values()) == pytest.approx(score, abs=1e-6)
            assert sum(told.members.values()) == pytest.approx(score, abs=1e-6)
            assert list(told.members) == ["toy:10", "anchors:1"]


def test_its_slopes_are_the_scores() -> None:
    """As far as neither the scales bend nor the mixer clips."""
    stream = records(600)
    model = CommitteeClassifier(members=("toy",), standardize=False)
    taught(model, stream)
    checked = 0
    for x, _ in stream[:40]:
        told = model.explain_one(x)
        assert model._state is not None
        if (np.abs(model._state.views(0)["normal"]) >= 4).any():
            continue
        for name, value in x.items():
            up, down = (
                model.decision_function_one(x | {name: value + s})[told.label]
                for s in (1e-3, -1e-3)
            )
            assert (up - down) / 2e-3 == pytest.approx(told.weights[name], abs=1e-2)
            checked += told.weights[name] != 0
    assert checked > 20


def parted(**options: Any) -> list[CommitteeClassifier]:
    """Return models that were one for 200 records, and then learned 200 others each."""
    first = made(**options)
    taught(first, records(200))
    parts = [copy.deepcopy(first) for _ in range(2)]
    for i, part in enumerate(parts):
        taught(part, records(200, seed=1 + i))
    return parts


def test_models_are_merged() -> None:
    parts = parted(standardize=False)
    model = parts[0].merge(parts[1:])
    assert sound(model)
    first, second, mean = (m._state.views(1) for m in (*parts, model) if m._state is not None)
    for name in ("weights", "biases"):
        assert not np.array_equal(first[name], second[name])
        assert mean[name] == pytest.approx((first[name] + second[name]) / 2, abs=1e-6)


def test_models_of_other_scales_are_merged() -> None:
    """Each weight times its scale: a score is the mean of what the models say of a record."""
    parts = parted()
    model = parts[0].merge(parts[1:])

    def heights(one: CommitteeClassifier, x: NDArray[np.float64]) -> NDArray[np.float64]:
        assert one._state is not None
        statistics, own = one._state.views(0)["statistics"][:3], one._state.views(1)
        z = (x - statistics[:, CENTRE]) * statistics[:, INVERSE]
        return np.asarray(own["weights"][:, :3] @ z + own["biases"])

    x = np.array([0.3, -0.4, 0.2])
    first, second = (heights(part, x) for part in parts)
    assert not np.allclose(first, second, atol=1e-3)
    assert heights(model, x) == pytest.approx((first + second) / 2, abs=1e-5)


def test_it_sleeps() -> None:
    model = taught(made(), records(300))
    assert model._state is not None
    model._state.views(0)["members"][AWAKE, 0] = 0
    before = model._state.views(1)["weights"].copy()
    x, y = records(1, seed=5)[0]
    assert model.explain_one(x).members["toy:10"] == 0
    model.learn_one(x, y)
    assert np.array_equal(model._state.views(1)["weights"], before)


def test_a_file_with_an_impossible_state_is_refused() -> None:
    model = taught(made(), records(100))
    from_payload(dict(model._payload()))
    with pytest.raises(ModelFileError):
        from_payload(changed(model, 1, "step", 0, 2.0))


def test_sizes_are_checked_and_listed() -> None:
    with pytest.raises(ValueError, match="the size in 'toy:101'"):
        CommitteeClassifier(members=("toy:101",))
    with pytest.raises(ValueError, match="'toy'"):
        CommitteeClassifier(members=("no such kind",))
