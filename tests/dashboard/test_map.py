"""The map follows the anchors, in a plane that stays."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import pytest

from stream_llsvm import CommitteeClassifier, SAPLClassifier
from stream_llsvm.dashboard.map import CELLS, SHARE, AnchorMap, Throttle, regions
from stream_llsvm.dashboard.recent_records import Recent
from tests.dashboard.support import Clock, Run, quadrants, sendable

BOTH = np.arange(2)


class Drawing:
    """A run whose map is drawn now and then."""

    def __init__(self, model: Any, member: int = 0) -> None:
        self.run, self.clock, self.member = Run(model), Clock(), member
        self.map = AnchorMap(self.clock)

    def look(self) -> Any:
        copy = self.run.copy
        assert copy._state is not None
        self.clock.now += 2
        return sendable(self.map.look(copy, copy._state, self.member, self.run.recent))


def codes(drawn: Any) -> Any:
    raw = base64.b64decode(drawn["regions"]["codes"])
    shape = drawn["regions"]["rows"], drawn["regions"]["columns"]
    return np.frombuffer(raw, dtype=np.uint8).reshape(shape)


def test_anchors_and_records_are_where_they_are() -> None:
    drawing = Drawing(SAPLClassifier(n_anchors=15))
    drawing.run.learn(*quadrants(500), names=["a", "b"])
    drawn = drawing.look()
    assert (drawn["member"], drawn["members"]) == ("anchors:15", ["anchors:15"])
    assert (drawn["axes"], drawn["classes"]) == (["a", "b"], list(drawing.run.model.classes))
    anchors = drawing.run.model.anchors
    total = sum(anchor.mass for anchor in anchors)
    for one, anchor in zip(drawn["anchors"], anchors, strict=True):
        assert one["at"] == pytest.approx(list(anchor.position.values()), rel=1e-3, abs=1e-5)
        assert one["mass"] == pytest.approx(anchor.mass / total, rel=0.01)
        assert one["label"] == int(np.argmax(one["share"]))
        assert {name for name, _ in one["weights"]} == {"a", "b"}
        assert one["trail"] == [one["at"]]
    last = drawing.run.recent[-1]
    assert drawn["records"][-1]["at"] == pytest.approx(list(last.x.values()), rel=1e-4)
    assert drawn["records"][-1]["right"] == (last.label == last.prediction)
    assert drawn["classes"][drawn["records"][-1]["label"]] == last.label
    assert len(drawn["records"]) == 200


def test_regions_are_what_the_model_says_there() -> None:
    drawing = Drawing(CommitteeClassifier(members=("anchors:1", "anchors:30", "ferns:8")), 1)
    drawing.run.learn(*quadrants(1_500))
    drawn = drawing.look()
    assert drawn["members"] == ["anchors:30"]
    table, box = codes(drawn), drawn["regions"]["box"]
    sure = np.frombuffer(base64.b64decode(drawn["regions"]["sure"]), dtype=np.uint8)
    assert sure.min() >= 127
    rows, columns = table.shape
    for r, c in ((3, 5), (40, 5), (40, 30), (20, 20)):
        x = box[0] + (box[2] - box[0]) * (c + 0.5) / columns
        y = box[1] + (box[3] - box[1]) * (r + 0.5) / rows
        proba = drawing.run.copy.predict_proba_one({0: x, 1: y})
        likeliest = max(proba, key=proba.__getitem__)
        assert drawn["classes"][table[r, c]] == likeliest
        assert sure[r * columns + c] == pytest.approx(255 * proba[likeliest], abs=1)


def test_a_record_without_truth_shows_its_prediction() -> None:
    drawing = Drawing(SAPLClassifier(n_anchors=15))
    rows, labels = quadrants(300)
    drawing.run.learn(rows[:250], labels[:250])
    drawing.run.learn(rows[250:], [None] * 50)
    last = drawing.look()["records"][-1]
    assert last["right"] is None
    assert drawing.run.model.classes[last["label"]] == drawing.run.recent[-1].prediction


def test_trails_show_where_anchors_came_from_and_the_idle_are_dead() -> None:
    drawing = Drawing(SAPLClassifier(n_anchors=12, n_neighbors=3, standardize=False))
    rng = np.random.default_rng(0)
    for step in range(30):
        rows = rng.normal(size=(150, 2)) * 0.3 + [0.1 * step, 0.0]
        rows[:10, 0] -= 20 * (step == 0)  # what comes once only, far away
        drawing.run.learn(rows, (rows[:, 1] > 0).tolist())
        drawn = drawing.look()
    assert all(1 <= len(one["trail"]) <= 12 for one in drawn["anchors"])
    left = [one for one in drawn["anchors"] if one["at"][0] < -5]
    assert left
    assert all(one["dead"] for one in left)
    moved = [one for one in drawn["anchors"] if len(one["trail"]) == 12 and not one["dead"]]
    assert moved
    assert np.mean([one["trail"][-1][0] - one["trail"][0][0] for one in moved]) > 0


def test_the_plane_is_frozen_until_there_are_other_features() -> None:
    drawing = Drawing(SAPLClassifier(n_anchors=12))
    drawing.run.learn(*quadrants(10, 0, 5))
    copy = drawing.run.copy
    assert copy._state is not None
    assert drawing.map.look(copy, copy._state, 0, drawing.run.recent[-3:]) is None  # too little
    drawing.run.learn(*quadrants(300, 1, 5))
    first = drawing.look()
    assert first["plane"] == "projection"
    assert all(axis.startswith("mostly ") for axis in first["axes"])
    record = drawing.run.recent[-1]
    drawing.run.learn(*quadrants(400, 2, 5))
    drawing.run.recent[-1] = record  # seen again much later
    second = drawing.look()
    assert second["axes"] == first["axes"]
    assert second["records"][-1]["at"] == first["records"][-1]["at"]
    drawing.run.learn(*quadrants(300, 3, 7))
    drawing.clock.now += 20
    assert drawing.look()["axes"] != first["axes"]


def test_one_feature_is_a_line() -> None:
    drawing = Drawing(SAPLClassifier(n_anchors=12))
    rows, labels = quadrants(200)
    drawing.run.learn(rows[:, :1], labels)
    drawn = drawing.look()
    assert drawn["plane"] == "value"
    assert {one["at"][1] for one in [*drawn["anchors"], *drawn["records"]]} == {0.0}


def test_wide_and_sparse_records_are_placed_too() -> None:
    drawing, rng = Drawing(SAPLClassifier(n_anchors=12)), np.random.default_rng(0)
    for i in range(200):
        words = rng.choice(2_000, 12, replace=False)
        x = {f"word {w}": 1.0 for w in words} | {f"topic {i % 2}": 3.0}
        told = drawing.run.model.predict_one(x)
        drawing.run.model.learn_one(x, i % 2)
        drawing.run.recent.append(Recent(i, "a", x, i % 2, told, 0.5))
    for _ in range(10):
        drawn = drawing.look()
    assert drawn["plane"] == "projection"
    assert len(drawn["records"]) == 200
    by_label = [[one["at"] for one in drawn["records"] if one["label"] == c] for c in (0, 1)]
    means = [np.mean(places, axis=0) for places in by_label]
    assert np.abs(means[0] - means[1]).max() > 0.5  # the topic is what they differ in


def test_bad_records_are_left_out() -> None:
    drawing = Drawing(SAPLClassifier(n_anchors=12))
    drawing.run.learn(*quadrants(200))
    bad: list[Any] = [{0: "text", 1: 1.0}, {0: 10**400, 1: 1.0}, {"other": 3.0}, {}]
    for i, x in enumerate(bad):
        drawing.run.recent.append(Recent(10_000 + i, "a", x, "same", "same", 0.5))
    drawn = drawing.look()
    assert 196 <= len(drawn["records"]) <= 200
    assert drawn["records"][-1]["at"] == pytest.approx([0, 0], abs=0.5)  # the middle


def test_more_classes_than_a_byte_tells_are_not_drawn() -> None:
    model = SAPLClassifier(n_anchors=2)
    for i in range(257):
        model.learn_one({"a": float(i), "b": 1.0}, i)
        drawn = regions(model, np.zeros(2), np.array([300.0, 2.0]), BOTH, np.zeros(2))
        assert (drawn is None) == (i == 256)


def test_rows_go_up_and_columns_to_the_right() -> None:
    model = SAPLClassifier(n_anchors=2)
    rng = np.random.default_rng(0)
    rows = rng.uniform(-1, 1, (3_000, 2))
    model.learn_many(rows, ["high" if y > 0.5 else "low" for _, y in rows.tolist()])
    drawn = regions(model, -np.ones(2), np.ones(2), BOTH, np.zeros(2))
    assert drawn is not None
    codes = np.frombuffer(base64.b64decode(drawn["codes"]), dtype=np.uint8)
    table = codes.reshape(drawn["rows"], drawn["columns"])
    assert table.shape == (CELLS, CELLS)
    high = model.classes.index("high")
    assert (table[:30] != high).mean() > 0.95
    assert (table[-6:] == high).mean() > 0.95


def test_of_many_features_the_two_that_lead_are_the_plane() -> None:
    """Find the two features of eight that say all, and what is said where, the rest at its mean."""
    drawing = Drawing(CommitteeClassifier(), member=1)
    names = [f"f{i}" for i in range(8)]
    drawing.run.learn(*quadrants(60, 0, 8), names)
    assert drawing.look()["plane"] == "projection", "nothing leads yet"
    drawing.run.learn(*quadrants(4_000, 1, 8), names)
    drawing.clock.now += 20
    for _ in range(3):
        drawn = drawing.look()
    assert (drawn["plane"], drawn["axes"]) == ("pair", ["f0", "f1"])
    told, (x0, y0, x1, y1) = codes(drawn), drawn["regions"]["box"]
    xs = x0 + (x1 - x0) * (np.arange(CELLS) + 0.5) / CELLS
    ys = y0 + (y1 - y0) * (np.arange(CELLS) + 0.5) / CELLS
    same = drawing.run.model.classes.index("same")
    clear = (np.abs(xs)[None, :] > 0.4) & (np.abs(ys)[:, None] > 0.4)
    expected = (np.sign(xs)[None, :] == np.sign(ys)[:, None]) == (told == same)
    assert expected[clear].mean() > 0.85
    latest = drawing.run.recent[-1]
    at = drawn["records"][-1]["at"]
    assert at == pytest.approx([latest.x["f0"], latest.x["f1"]], abs=1e-3)
    axes = drawn["axes"]
    for seed in range(2, 5):
        drawing.run.learn(*quadrants(200, seed, 8), names)
        drawing.clock.now += 20
        assert drawing.look()["axes"] == axes, "it stays"


def test_it_is_made_when_it_is_due_or_for_another_key() -> None:
    clock, made = Clock(), []

    def make() -> int:
        made.append(clock.now)
        return len(made)

    kept = Throttle[int](clock, 1.0)
    assert [kept.get("a", make), kept.get("a", make), kept.get("b", make)] == [1, 1, 2]
    clock.now += 0.9
    assert kept.get("b", make) == 2
    clock.now += 0.2
    assert kept.get("b", make) == 3


def test_what_takes_long_takes_a_small_share_of_the_time() -> None:
    clock, spent = Clock(), 0.0

    def make() -> int:
        nonlocal spent
        clock.now += 0.5
        spent += 0.5
        return 0

    kept, begin = Throttle[int](clock, 0.1), clock.now
    for _ in range(10_000):
        clock.now += 0.05
        kept.get("a", make)
    assert 0.5 * SHARE < spent / (clock.now - begin) < 1.1 * SHARE


def named(n: int, seed: int) -> tuple[list[dict[str, Any]], list[str]]:
    """Return records of three names and a number, of which two names tell together."""
    rng, records, labels = np.random.default_rng(seed), list[dict[str, Any]](), list[str]()
    for a, b, c, v in rng.integers(0, 4, (n, 4)).tolist():
        records.append({"land": f"l{a}", "device": f"d{b}", "shop": f"s{c}", "amount": v + 0.5})
        labels.append("fraud" if (a + b) % 2 else "fine")
    return records, labels


def test_records_with_names_are_drawn_and_axes_speak_of_fields() -> None:
    drawing = Drawing(CommitteeClassifier(members=("anchors:30", "memory:200")))
    drawing.run.take(*named(500, 0))
    drawn = drawing.look()
    assert drawn["plane"] == "projection"
    assert len(drawn["records"]) == 200
    assert len({tuple(one["at"]) for one in drawn["records"]}) > 30
    fields = {"land", "device", "shop", "amount"}
    for axis in drawn["axes"]:
        assert set(axis.removeprefix("mostly ").split(", ")) <= fields
    assert any("land=" in name for one in drawn["anchors"] for name, _ in one["weights"])


def test_a_single_field_of_names_is_no_plane_of_two() -> None:
    drawing = Drawing(SAPLClassifier(n_anchors=12))
    records, labels = named(200, 0)
    drawing.run.take([{"land": x["land"]} for x in records], labels)
    drawn = drawing.look()
    assert drawn["plane"] == "projection"
    drawing = Drawing(SAPLClassifier(n_anchors=12))
    drawing.run.take([{"land": "here"} for _ in records], labels)
    assert drawing.look()["plane"] == "projection"


def test_regions_beside_names_are_those_of_a_usual_record() -> None:
    """Two numbers lead; the names are as they usually are, and none is taken for a number."""
    drawing = Drawing(CommitteeClassifier(members=("anchors:30", "memory:200", "contexts")))
    rows, labels = quadrants(1_500)
    names = np.random.default_rng(1).integers(0, 3, len(rows)).tolist()
    records = [
        {"a": a, "b": b, "name": f"n{k}"} for (a, b), k in zip(rows.tolist(), names, strict=True)
    ]
    drawing.run.take(records, labels)
    copy = drawing.run.copy
    columns = [copy._features.names.index(name) for name in ("a", "b")]
    memory = copy._state
    assert memory is not None
    middle = np.full(len(copy._features.names), np.nan)
    drawn = regions(copy, np.array([-2.0, -2.0]), np.array([2.0, 2.0]), np.array(columns), middle)
    table = codes({"regions": drawn})
    for r, c in ((6, 6), (6, 41), (41, 6), (41, 41)):
        x, y = (-2 + 4 * (at + 0.5) / CELLS for at in (c, r))
        assert copy.classes[table[r, c]] == ("same" if x * y > 0 else "other")
        told = copy.predict_one({"a": x, "b": y, "name": None})
        assert copy.classes[table[r, c]] == told
