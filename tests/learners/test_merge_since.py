"""Models that parted from a known one become that one and what each has learned since."""

from __future__ import annotations

import copy
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stream_llsvm import (
    AdditiveSVMClassifier,
    CommitteeClassifier,
    ContextsClassifier,
    FernsClassifier,
    LLSVMClassifier,
    LLSVMRegressor,
    MemoryClassifier,
    PegasosClassifier,
    PegasosRegressor,
    load_model,
)
from stream_llsvm.kernels import calibration
from stream_llsvm.kernels.metric import LARGEST, SMALLEST
from stream_llsvm.kernels.run import WAITING
from stream_llsvm.learners.base import LocalClassifier
from stream_llsvm.learners.merge import MergeWarning
from stream_llsvm.members.ferns import kernel as ferns
from stream_llsvm.members.neighbours import kernel as remembering
from tests.learners.number_support import BOTH, numbers
from tests.learners.number_support import everything as held
from tests.learners.support import everything, records, small, sound, taught
from tests.learners.test_merge import KINDS


def parted(
    kind: Any, n: int = 3, each: int = 100, **options: Any
) -> tuple[LocalClassifier, list[LocalClassifier]]:
    """Return the model of 200 records that others parted from, which then learned some each."""
    stream = records(200 + each * n)
    base = taught(small(kind, **options), stream[:200])
    models = [copy.deepcopy(base) for _ in range(n)]
    for i, model in enumerate(models):
        taught(model, stream[200 + each * i : 200 + each * (i + 1)])
    return base, models


def of(model: Any, row: int = 1) -> dict[str, Any]:
    """Return what a model keeps: of its first member, or of another row."""
    assert model._state is not None
    found: dict[str, Any] = model._state.views(row)
    return found


@KINDS
def test_one_that_learned_is_itself_whoever_has_learned_nothing(kind: Any) -> None:
    base, (a, _) = parted(kind, 2)
    idle = copy.deepcopy(base)
    for model in (a.merge([], since=base), idle.merge([a, idle], since=base)):
        assert everything(model) == everything(a)
    assert everything(idle.merge([idle], since=base)) == everything(base)
    assert everything(small(kind).merge([small(kind)], since=small(kind))) == everything(
        small(kind)
    )


@KINDS
def test_the_order_makes_no_difference_and_models_stay_as_they_are(kind: Any) -> None:
    base, (a, b, c) = parted(kind)
    before = [everything(model) for model in (base, a, b, c)]
    one = everything(a.merge([b, c], [1, 2, 3], since=base))
    assert one == everything(c.merge([a, b], [3, 1, 2], since=base))
    assert one != everything(a.merge([b, c], [1, 2, 3]))
    assert everything(a.merge([b, c], [0, 1, 0], since=base)) == everything(b)
    assert before == [everything(model) for model in (base, a, b, c)]


@KINDS
def test_counts_are_those_of_all_records(kind: Any) -> None:
    base, models = parted(kind, 3, each=90)
    taught(models[0], records(37, seed=4))
    merged = models[0].merge(models[1:], [1, 2, 5], since=base)
    assert sound(merged)

    def summed(row: int, name: str, index: Any = ...) -> Any:
        first = of(base, row)[name][index].astype(float)
        return first + sum(of(model, row)[name][index] - first for model in models)

    np.testing.assert_array_equal(of(merged, 0)["counters"][:3], summed(0, "counters")[:3])
    count = calibration.COUNT
    np.testing.assert_allclose(of(merged, 0)["calibration"][count], summed(0, "calibration", count))
    assert merged._state is not None
    counted = 0
    for row in range(1, 1 + len(merged._state.members)):
        name = "head" if "head" in of(merged, row) else "running"
        for i in range(np.size(of(merged, row).get(name, []))):
            own = [of(model, row)[name][i] for model in (base, *models)]
            if own == [200, 327, 290, 290]:  # it counts records
                assert of(merged, row)[name][i] == 507
                counted += 1
    assert counted > 0 or kind is ContextsClassifier, "contexts sleep among plain numbers"


@KINDS
def test_the_merged_model_goes_on(kind: Any, tmp_path: Path) -> None:
    base, models = parted(kind)
    for _ in range(3):  # round after round
        merged = models[0].merge(models[1:], since=base)
        assert sound(merged)
        base, models = merged, [copy.deepcopy(merged) for _ in range(3)]
        for i, model in enumerate(models):
            taught(model, records(60, seed=5 + i))
    base.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    for either in (base, loaded):
        taught(either, [*records(100, seed=9), ({"f0": 1.0, "new": 2.0}, "new")])
        assert sound(either)
    assert everything(base) == everything(loaded)


@KINDS
def test_features_and_classes_that_only_one_has_met(kind: Any) -> None:
    base, (a, b) = parted(kind, 2)
    taught(a, [({"f0": 1.0, "left": 1.0 * i}, "a") for i in range(30)])
    taught(b, [({"f1": 1.0, "right": 1.0 * i, "f9": 0.5}, "b") for i in range(30)])
    taught(b, [({"f1": 1.0, "left": 1.0 * i}, "a") for i in range(5)])
    merged = a.merge([b], since=base)
    assert merged.features[:3] == base.features and sound(merged)
    assert set(merged.features) == {"f0", "f1", "f2", "left", "right", "f9"}
    assert merged.classes[:3] == base.classes and set(merged.classes) == {0, 1, 2, "a", "b"}
    assert everything(merged) == everything(b.merge([a], since=base))
    assert of(merged, 0)["counters"][0] == 200 + 2 * 100 + 65
    taught(merged, records(50, seed=3))
    assert sound(merged)


@KINDS
def test_models_that_begin_from_one_that_has_seen_nothing(kind: Any) -> None:
    base = small(kind)
    a, b = taught(small(kind), records(80)), taught(small(kind), records(60, seed=1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MergeWarning)  # their anchors are not the same
        merged = a.merge([b], since=base)
    assert sound(merged) and of(merged, 0)["counters"][0] == 140
    taught(merged, records(30, seed=2))


def test_scales_are_those_of_all_values_together() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal([0, 100, -5], [1, 10, 0.1], (900, 3))
    X[500:] += [0.3, -4, 0.02]
    y = (np.arange(900) % 2).tolist()
    base = LLSVMClassifier(n_anchors=1)
    base.learn_many(X[:300], y[:300])
    parts = [copy.deepcopy(base) for _ in range(3)]
    for part, (begin, end) in zip(parts, ((300, 500), (500, 550), (550, 900)), strict=True):
        part.learn_many(X[begin:end], y[begin:end])
    statistics = of(parts[0].merge(parts[1:], [9, 1, 1], since=base), 0)["statistics"]
    np.testing.assert_allclose(statistics[:3, 0], 900)
    np.testing.assert_allclose(statistics[:3, 1], X.mean(axis=0), rtol=1e-9)
    np.testing.assert_allclose(statistics[:3, 2], X.var(axis=0), rtol=1e-9)
    np.testing.assert_allclose(statistics[:3, 4], 1 / X.std(axis=0), rtol=1e-9)


def test_a_scale_that_began_anew_in_one_model_is_that_of_its_new_level() -> None:
    rng = np.random.default_rng(0)
    base = LLSVMClassifier(n_anchors=1)

    def learn(model: LLSVMClassifier, level: float, n: int) -> None:
        model.learn_many(rng.normal(level, 1, (n, 1)), [i % 2 for i in range(n)])

    learn(base, 0, 2_000)
    a, b = copy.deepcopy(base), copy.deepcopy(base)
    learn(a, 0, 1_000)
    learn(b, 1_000, 1_000)
    before = of(base, 0)["statistics"][0, 0]
    assert of(b, 0)["statistics"][0, 0] < before < of(a, 0)["statistics"][0, 0]
    merged, there = of(a.merge([b], since=base), 0)["statistics"], of(b, 0)["statistics"]
    np.testing.assert_allclose(merged[0, :3], there[0, :3], rtol=1e-12)


def test_the_metric_adds_up_what_all_have_learned() -> None:
    base, models = parted(MemoryClassifier)
    merged = of(models[0].merge(models[1:], since=base))
    logs = [np.log(of(model)["scale"].astype(float)) for model in (base, *models)]
    a = np.exp(logs[0] + sum(own - logs[0] for own in logs[1:]))
    a = np.clip(a, SMALLEST, LARGEST)
    np.testing.assert_allclose(merged["scale"], a / np.sqrt(np.square(a).mean()), rtol=1e-5)
    assert not np.allclose(merged["scale"], of(base)["scale"], rtol=1e-3)
    held = int(merged["running"][remembering.HELD])
    norms = merged["ruler"] @ merged["store"][:, :held] ** 2
    np.testing.assert_allclose(merged["norms"][:held], norms, rtol=1e-5)


def test_what_is_remembered_is_the_newest_of_all_each_once() -> None:
    base, models = parted(MemoryClassifier, 3, each=40)
    merged = of(models[0].merge(models[1:], since=base))
    stamp, seen = remembering.STAMP, remembering.SEEN
    begin = of(base)["running"][seen]
    wanted = []
    for model in models:
        own = of(model)["facts"][stamp, : int(of(model)["running"][remembering.HELD])]
        wanted += (begin + 3 * (own[own > begin] - begin)).tolist()
    old = of(base)["facts"][stamp, : int(of(base)["running"][remembering.HELD])]
    wanted = sorted([*wanted, *old.tolist()])[-70:]
    held = merged["facts"][stamp, : int(merged["running"][remembering.HELD])]
    assert held.tolist() == wanted, "oldest first, as many as the window holds"
    assert merged["running"][seen] == 200 + 3 * 40


def test_ferns_that_were_drawn_anew_stay() -> None:
    base, models = parted(FernsClassifier, 3, each=700)
    merged = models[0].merge(models[1:], since=base)
    asks = [of(model)["features"] for model in (base, merged, *models)]
    cuts = [of(model)["thresholds"] for model in (base, *models)]
    use = np.stack([of(model)["facts"][ferns.USE] for model in models])
    drawn = 0
    for f in range(len(asks[0])):
        anew = [
            i
            for i in range(3)
            if not (
                np.array_equal(asks[2 + i][f], asks[0][f])
                and np.array_equal(cuts[1 + i][f], cuts[0][f])
            )
        ]
        if anew:
            best = max(anew, key=lambda i: use[i, f])
            assert np.array_equal(asks[1][f], asks[2 + best][f])
            np.testing.assert_array_equal(of(merged)["mass"][f], of(models[best])["mass"][f])
            drawn += 1
        else:
            assert np.array_equal(asks[1][f], asks[0][f])
            total = of(base)["mass"][f] + sum(
                of(m)["mass"][f] - of(base)["mass"][f] for m in models
            )
            np.testing.assert_allclose(of(merged)["mass"][f], total, rtol=1e-5)
    assert drawn > 0


def test_cells_move_by_the_mean_of_their_changes_and_averages_farther() -> None:
    base, models = parted(AdditiveSVMClassifier, 2, standardize=False)
    merged = of(models[0].merge(models[1:], since=base))
    first, (a, b) = of(base), (of(model) for model in models)
    gained = np.stack([own["mass"].astype(float) - first["mass"] for own in (a, b)])
    total = gained.sum(axis=0)
    share = np.divide(gained, total, out=np.zeros_like(gained), where=total > 0)
    several = np.divide(1, (share**2).sum(axis=0), out=np.ones_like(total), where=total > 0)
    moved = [own["weights"].astype(float) - first["weights"] for own in (a, b)]
    step = (several**0.5 * share)[..., None, None]
    raw = first["weights"][:, :, 0] + sum(s * m[:, :, 0] for s, m in zip(step, moved, strict=True))
    np.testing.assert_allclose(merged["weights"][:, :, 0], raw, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(merged["mass"], first["mass"] + total, rtol=1e-5, atol=1e-5)
    both = (gained > 0.5).all(axis=0)
    mean = first["weights"][:, :, 1] + sum(
        s[..., None, None] * m[:, :, 1] for s, m in zip(share, moved, strict=True)
    )
    ours = np.abs(merged["weights"][:, :, 1] - first["weights"][:, :, 1])[both].sum()
    assert ours > np.abs(mean - first["weights"][:, :, 1])[both].sum() > 0


def test_pegasos_is_the_mean_of_all_that_has_pushed_it() -> None:
    """With steps of 1 / (l2 t), t w is a sum over all records, which adds up exactly."""
    base, models = parted(PegasosClassifier, 3, standardize=False, projection=False)
    merged = models[0].merge(models[1:], since=base)

    def sums(model: Any) -> Any:
        own = of(model)
        t = own["head"][1]
        return t, t * own["scale"][:, None] * own["weights"]

    t_0, first = sums(base)
    wanted = first + sum(sums(model)[1] - first for model in models)
    t, ours = sums(merged)
    assert t == t_0 + sum(sums(model)[0] - t_0 for model in models)
    np.testing.assert_allclose(ours, wanted, rtol=1e-6, atol=1e-9)


def test_contexts_count_what_all_have_met() -> None:
    stream = [({"a": f"v{i % 7}", "b": f"w{i % 3}"}, i % 2) for i in range(400)]
    base = taught(small(ContextsClassifier), stream[:200])
    models = [copy.deepcopy(base) for _ in range(2)]
    taught(models[0], stream[200:300])
    taught(models[1], [({"a": "only here", "b": "w0"}, 1) for _ in range(40)])
    merged = of(models[0].merge(models[1:], since=base))

    def cells(views: dict[str, Any]) -> dict[tuple[int, int], Any]:
        table = views["table"][: int(views["running"][2])]
        return {(i >> 1, int(table[i, 1])): table[i] for i in np.flatnonzero(table[:, 0]).tolist()}

    ours, first = cells(merged), cells(of(base))
    each = [cells(of(model)) for model in models]
    checked = 0
    for key, cell in ours.items():
        before = first[key][0] if key in first else 0
        counts = [own[key][0] - before for own in each if key in own]
        assert cell[0] == before + sum(counts)
        met = [own[key] for own in each if key in own and own[key][0] > before]
        if len(met) == 1:
            assert cell[2] == pytest.approx(met[0][2], abs=1e-6)
            checked += 1
    assert merged["running"][5] == of(base)["running"][5] + 140
    assert checked > 3 and set(ours) == set(first) | set(each[0]) | set(each[1])


def test_anchors_that_strayed_are_the_newest_models() -> None:
    options: Any = {"n_anchors": 12, "n_neighbors": 4}
    base = taught(LLSVMClassifier(**options), records(300))
    a, b = copy.deepcopy(base), copy.deepcopy(base)
    taught(a, records(50, seed=1))
    taught(b, records(40, seed=2))
    order = np.roll(np.arange(12), 5)
    for name in ("positions", "weights", "biases", "facts", "keep", "gain"):
        table = of(b)[name]
        table[..., :12] = table[..., order] if name == "facts" else table[..., :12]
        if name != "facts":
            table[:12] = table[order]
    for since in (None, base):
        with pytest.warns(MergeWarning, match="anchors:12 has nothing in common"):
            merged = a.merge([b], [1, 2], since=since)
        assert merged.merge_fallbacks == {"anchors:12": 1}
        np.testing.assert_array_equal(of(merged)["facts"][3], of(b)["facts"][3])
        assert sound(merged)
    assert of(merged, 0)["counters"][0] == 390, "counts are exact all the same"
    again = copy.deepcopy(merged)
    taught(again, records(10, seed=3))
    assert again.merge([], since=merged).merge_fallbacks == {"anchors:12": 1}


def test_whom_the_models_did_not_part_from_is_refused() -> None:
    base, (a, b) = parted(LLSVMClassifier, 2)
    with pytest.raises(ValueError, match="since is the model that all parted from"):
        base.merge([b], since=a)
    other = taught(small(LLSVMClassifier), [({"x": 1.0 * i}, i % 3) for i in range(50)])
    with pytest.raises(ValueError, match="since is the model that all parted from"):
        a.merge([b], since=other)
    with pytest.raises(ValueError, match=r"one kind.*LLSVMClassifier and a MemoryClassifier"):
        other_kind: Any = MemoryClassifier()
        a.merge([b], since=other_kind)
    with pytest.raises(ValueError, match="same options"):
        a.merge([b], since=LLSVMClassifier(n_anchors=7))
    with pytest.raises(ValueError, match="from 0 up, got nan"):
        a.merge([b], [1, float("nan")], since=base)


def test_predictions_wait_until_their_label_has_come_to_one() -> None:
    base = taught(CommitteeClassifier(members=("anchors:1", "prior:9")), records(200))
    late = [x for x, _ in records(6, seed=8)]
    for x in late[:3]:
        base.predict_one(x)
    a, b = copy.deepcopy(base), copy.deepcopy(base)
    a.learn_one(late[0], 1)  # its label comes to one of them
    taught(b, records(20, seed=2))
    a.predict_one(late[3])
    b.predict_one(late[4])
    merged = a.merge([b], since=base)
    assert of(merged, 0)["memo"][WAITING] == 4
    assert np.count_nonzero(of(merged, 0)["foretold"][:, 0]) == 4
    for x in late[1:5]:
        merged.learn_one(x, 1)
    assert of(merged, 0)["memo"][WAITING] == 0
    assert sound(merged)


@BOTH
def test_numbers_are_merged_as_classes_are(kind: Any) -> None:
    stream = numbers(500)
    base = taught_numbers(kind, stream[:200])
    a, b = copy.deepcopy(base), copy.deepcopy(base)
    for model, part in ((a, stream[200:350]), (b, stream[350:])):
        for x, y in part:
            model.learn_one(x, y)
    assert held(a.merge([], since=base)) == held(a)
    merged = a.merge([b], since=base)
    target = merged._state.numbers["target"][0]
    targets = np.array([told for _, told in stream])
    assert target[1] == pytest.approx(targets.mean(), rel=1e-9)
    assert target[2] == pytest.approx(targets.var(), rel=1e-9)
    assert of(merged, 0)["counters"][0] == 500 and merged._state.sound()

    def error(model: Any) -> float:
        return float(np.mean([abs(model.predict_one(x) - y) for x, y in numbers(200, seed=1)]))

    assert error(merged) < 1.02 * np.mean([error(a), error(b)])


def taught_numbers(kind: type[LLSVMRegressor] | type[PegasosRegressor], stream: Any) -> Any:
    """Return a regressor that has learned these."""
    model = kind()
    for x, y in stream:
        model.learn_one(x, y)
    return model
