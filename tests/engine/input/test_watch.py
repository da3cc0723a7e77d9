"""What the fields do, beside numpy's own answers, and wherever batches end."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_llsvm.connectors import message_codec
from stream_llsvm.connectors.base import Batch
from stream_llsvm.engine.input.drift import FieldNow
from stream_llsvm.engine.input.watch import InputWatch, Moved
from stream_llsvm.kernels.boxes import NAME, TIME
from stream_llsvm.model.file import ModelFileError, dumps, loads
from stream_llsvm.records.boxes import boxed, name_code

Rows = np.ndarray[Any, np.dtype[np.float64]]


def batch(values: Rows, names: Sequence[str], keys: list[Any] | None = None) -> Batch:
    n = len(values)
    return Batch([None] * n, [("rows", i) for i in range(n)], {}, tuple(names), values, keys=keys)  # type: ignore[misc]


def fed(
    watch: InputWatch, values: Rows, names: Sequence[str] = "abcdefgh", size: int = 1_000
) -> list[Moved]:
    names = names[: values.shape[1]]
    return [
        moved
        for begin in range(0, len(values), size)
        for moved in watch.take(batch(values[begin : begin + size], names))
    ]


def named(watch: InputWatch) -> dict[str, FieldNow]:
    return {one.name: one for one in watch.ranked()}


def name(text: str) -> float:
    return boxed(NAME, name_code(text))


def test_mean_spread_and_missing_are_numpys() -> None:
    chance = np.random.default_rng(0)
    values = chance.normal(5, 2, (6_000, 2))
    values[chance.random(6_000) < 0.3, 1] = np.nan
    watch = InputWatch()
    assert fed(watch, values) == []
    found = named(watch)
    age = 1_000 * (np.arange(5_999, -1, -1) // 1_000)  # memories fade a thousand at a time
    for field, column in (("a", values[:, 0]), ("b", values[:, 1])):
        there = ~np.isnan(column)
        for mean, spread, missing, span in (
            (found[field].mean, found[field].spread, found[field].missing, 1_000),
            (
                found[field].mean_before,
                found[field].spread_before,
                found[field].missing_before,
                1e5,
            ),
        ):
            weights = (1 - 1 / span) ** age
            assert missing == pytest.approx((weights * ~there).sum() / weights.sum(), abs=1e-9)
            w, x = weights[there], column[there]
            centre = (w * x).sum() / w.sum()
            # The first 256 numbers count as if they had come together, before there were bins.
            assert mean == pytest.approx(centre, abs=0.02)
            assert spread == pytest.approx(
                np.sqrt((w * (x - centre) ** 2).sum() / w.sum()), rel=0.02
            )


SHIFTS: dict[str, tuple[Any, str]] = {
    "mean": (lambda x, chance: x + 3, "mean "),
    "spread": (lambda x, chance: 4 * x, "spread "),
    "missing": (lambda x, chance: np.where(chance.random(len(x)) < 0.5, np.nan, x), "missing in"),
    "vanished": (lambda x, chance: np.full(len(x), np.nan), "missing in 98%"),
    "a name": (lambda x, chance: np.full(len(x), name("red")), "name, before number"),
}


@pytest.mark.parametrize("kind", SHIFTS)
def test_a_field_that_moves_is_told_and_no_other(kind: str) -> None:
    change, word = SHIFTS[kind]
    chance = np.random.default_rng(1)
    values = chance.normal(size=(12_000, 4))
    values[8_000:, 2] = change(values[8_000:, 2], chance)
    watch = InputWatch()
    moved = fed(watch, values)
    assert [one.name for event in moved for one in event.fields] == ["c"]
    assert 8_000 < moved[0].record <= 10_000
    assert word.split("98%")[0] in named(watch)["c"].what()
    assert watch.alarms == 1


def test_what_is_the_same_does_not_move() -> None:
    chance = np.random.default_rng(2)
    values = np.column_stack([
        chance.normal(size=30_000), chance.integers(0, 2, 30_000), chance.exponential(size=30_000),
        np.where(chance.random(30_000) < 0.9, 0.0, chance.random(30_000)),
        [name(f"n{i}") for i in chance.geometric(0.05, 30_000)],
    ])  # fmt: skip
    watch = InputWatch()
    assert fed(watch, values) == []
    assert all(one.drift < 0.02 for one in watch.ranked())


def test_new_names_and_how_many_there_are() -> None:
    chance = np.random.default_rng(3)
    old = [f"old {i}" for i in chance.integers(0, 5_000, 20_000)]
    new = [f"new {i}" for i in chance.integers(0, 9_000, 2_000)]
    watch = InputWatch()
    moved = fed(watch, np.array([name(one) for one in (*old, *new)])[:, None])
    (now,) = watch.ranked()
    assert now.kind == now.was == "name"
    assert now.fresh > 0.5
    true = len({*old, *new})
    assert now.distinct == pytest.approx(true, rel=0.03)
    assert not moved or "new names" in moved[0].text()


def test_a_category_that_takes_over_is_told() -> None:
    chance = np.random.default_rng(4)
    colours = [name(c) for c in ("red", "green", "blue")]
    values = np.array([colours[i] for i in chance.integers(0, 3, 9_000)])[:, None]
    values[6_000:] = colours[0]
    (moved,) = fed(InputWatch(), values)
    assert moved.fields[0].what() == "the shares of its values"


def test_a_field_that_appears_is_told() -> None:
    chance = np.random.default_rng(5)
    values = chance.normal(size=(9_000, 2))
    watch = InputWatch()
    assert fed(watch, values[:6_000, :1]) == []
    (moved,) = fed(watch, values[6_000:])
    assert [one.name for one in moved.fields] == ["b"]
    assert moved.fields[0].began == 6_000
    assert "there in" in moved.text()


def test_times_are_no_numbers_that_drift() -> None:
    n = 9_000
    epoch = 1.7e9 + 60.0 * np.arange(n)
    boxes = np.array([boxed(TIME, int(i % 86_400)) for i in range(n)])
    watch = InputWatch()
    assert fed(watch, np.column_stack([epoch, boxes]), ["created_at", "when"]) == []
    assert [one.kind for one in watch.ranked()] == ["time", "time"]


def test_the_range_seen_widens_with_time() -> None:
    chance = np.random.default_rng(6)
    values = chance.random((8_000, 1))
    values[4_000:, 0] *= 3
    watch = InputWatch()
    fed(watch, values[:4_500])
    assert named(watch)["a"].outside > 0.15
    fed(watch, values[4_500:])
    assert named(watch)["a"].outside < 0.05


def test_a_reference_stays_what_it_is() -> None:
    chance = np.random.default_rng(7)
    values = chance.normal(size=(40_000, 1))
    values[3_000:] += np.linspace(0, 3, 37_000)[:, None]  # so slowly that a memory goes along
    watch = InputWatch(reference=2_000)
    moved = fed(watch, values)
    assert watch.frozen
    assert len(moved) == 1
    before = named(watch)["a"].mean_before
    assert before == pytest.approx(values[:2_000].mean(), abs=0.02)
    with pytest.raises(ValueError, match="at least 1000"):
        InputWatch(reference=10)


class Given:
    """A source of one matrix."""

    def __init__(self, values: Rows) -> None:
        self.values, self.at = values, 0

    @property
    def ended(self) -> bool:
        return self.at >= len(self.values)

    def poll(self, most: int, timeout: float) -> Batch:
        part = self.values[self.at : self.at + most]
        self.at += most
        return batch(part, "abcdefgh"[: part.shape[1]])


def test_a_reference_of_a_source_is_read_once() -> None:
    chance = np.random.default_rng(8)
    reference: Any = Given(chance.normal(size=(3_333, 2)))
    watch = InputWatch(reference)
    watch.begin()
    assert watch.frozen and watch.seen == 0
    values = chance.normal(size=(4_000, 2))
    values[:, 1] += 2
    moved = fed(watch, values)
    assert [one.name for event in moved for one in event.fields] == ["b"]
    assert moved[0].record == 2_000
    again = InputWatch(reference)
    again.restore(loads(dumps(watch.payload())))
    again.begin()
    assert dumps(again.payload()) == dumps(watch.payload())


def mixed(n: int, seed: int) -> Rows:
    chance = np.random.default_rng(seed)
    values = chance.normal(size=(n, 4))
    values[chance.random(n) < 0.2, 1] = np.nan
    values[:, 2] = [name(f"v{i}") for i in chance.integers(0, 300, n)]
    values[n // 2 :, 3] += 2
    return values


@settings(deadline=None, max_examples=20)
@given(st.lists(st.integers(1, 1_700), max_size=6), st.integers(0, 5))
def test_how_the_stream_is_cut_does_not_matter(sizes: list[int], seed: int) -> None:
    values = mixed(4_200, seed)
    whole, cut = InputWatch(), InputWatch()
    fed(whole, values, size=4_200)
    begin = 0
    for size in [*sizes, 4_200]:
        part = values[begin : begin + size]
        if len(part):
            cut.take(batch(part, "abcd"))
        begin += size
    assert dumps(cut.payload()) == dumps(whole.payload())


def test_a_watch_that_is_restored_goes_on_with_the_same_bytes() -> None:
    values = mixed(9_000, 1)
    whole, first, second = InputWatch(), InputWatch(), InputWatch()
    whole.relevance = second.relevance = lambda: {"d": 2.0}
    fed(whole, values)
    fed(first, values[:3_210])
    second.restore(loads(dumps(first.payload())))
    fed(second, values[3_210:], size=777)
    assert dumps(second.payload()) == dumps(whole.payload())
    assert second.report() == whole.report()


def test_records_with_words_are_watched_too() -> None:
    chance = np.random.default_rng(9)
    words = np.array(["to", "be", "or", "not", "that", "is", "the", "question"])
    other = np.array(["buy", "cheap", "pills", "now", "here", "free", "win", "cash"])

    def said(pool: Any, i: int) -> bytes:
        text = " ".join(chance.choice(pool, 5))
        return f'{{"text": "{text}", "x": {i % 7}}}'.encode()

    codec = message_codec()
    watch = InputWatch()
    places: Any = list(range(1_000))
    found = []
    for begin in range(0, 40_000, 1_000):
        pool = words if begin < 24_000 else other
        raws = [said(pool, i) for i in range(1_000)]
        found += watch.take(codec.decode(raws, places, {}))
    assert [one.name for event in found for one in event.fields] == ["text"]
    assert named(watch)["text"].kind == "text"
    assert named(watch)["x"].kind == "number"


def test_keys_that_come_again_are_counted() -> None:
    watch = InputWatch()
    keys: list[Any] = [*range(900), *range(100)]
    watch.take(batch(np.zeros((1_000, 1)), "a", keys))
    assert (watch.duplicates.count, watch.duplicates.keys) == (100, 1_000)
    again = InputWatch()
    again.restore(loads(dumps(watch.payload())))
    again.take(batch(np.zeros((3, 1)), "a", [5, "5", "new"]))
    assert again.duplicates.count == 102


def test_infinite_and_huge_numbers_do_no_harm() -> None:
    values = mixed(3_000, 3)
    values[::7, 0] = np.inf
    values[::11, 1] = -1e300
    watch = InputWatch()
    fed(watch, values)
    report = watch.report()
    assert all(
        np.isfinite(v) for one in report["fields"] for v in one.values() if isinstance(v, float)
    )


def test_memory_is_bounded_by_fields_not_by_records() -> None:
    """Of 3,000 fields 1,000 are watched, of names those of 128; further records add nothing."""
    chance = np.random.default_rng(10)
    names = [f"f{i}" for i in range(3_000)]
    watch = InputWatch()
    codes = np.array([name(f"v{i}") for i in range(500)])
    sizes = []
    for _ in range(6):
        values = codes[chance.integers(0, 500, (200, 3_000))]
        watch.take(batch(values, names))
        sizes.append(len(dumps(watch.payload())))
    assert len(watch.fields) == 1_000
    assert len(watch.fields.marked) == 128
    assert sizes[-1] == pytest.approx(sizes[0], rel=0.01)


HOSTILE: dict[str, tuple[tuple[str, ...], Any]] = {
    "more fields than sums": (("fields", "names"), [*"abcde"]),
    "a field twice": (("fields", "names"), [*"aacd"]),
    "filled beyond its room": (("fields", "filled"), np.full(4, 10**6)),
    "filled below 0": (("fields", "filled"), np.full(4, -1)),
    "nan in the bins": (("fields", "bins"), np.full((4, 48), np.nan)),
    "bins below 0": (("fields", "now", "bins"), np.full((4, 48), -1.0)),
    "a memory without a total": (("fields", "long", "total"), np.nan),
    "marks of no field": (("fields", "marked"), ["nobody"]),
    "marks of another size": (("fields", "marks"), np.zeros((1, 3), np.uint8)),
    "a table of another size": (("duplicates", "table"), np.zeros(5, np.int64)),
    "records below 0": (("seen",), -1),
    "a drift above 1": (("drift",), np.full(4, 2.0)),
    "pending that did not move": (("pending",), ["a"]),
    "frozen by a number": (("frozen",), 1),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_what_does_not_fit_is_refused(case: str) -> None:
    watch = InputWatch()
    fed(watch, mixed(1_000, 1))
    payload = loads(dumps(watch.payload()))
    where, value = HOSTILE[case]
    inside: Any = payload
    for part in where[:-1]:
        inside = inside[part]
    inside[where[-1]] = value
    with pytest.raises(ModelFileError):
        InputWatch().restore(payload)


def test_counting_keeps_no_array_alive() -> None:
    values, keys = mixed(1_000, 4), list(range(1_000))
    watch = InputWatch()
    watch.take(batch(values, "abcd", keys))
    known = (values, watch.fields.sums.bins, watch.fields.marks, watch.fields.now.sums["bins"])
    before = [sys.getrefcount(one) for one in known]
    for _ in range(20):
        watch.take(batch(values, "abcd", keys))
    assert [sys.getrefcount(one) for one in known] == before
