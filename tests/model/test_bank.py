"""Who has which row of a bank, what is forgotten, and that damaged files are refused."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stream_llsvm.kernels.bank import COUNT_BITS, MOST_COUNTED
from stream_llsvm.model.bank import Bank
from stream_llsvm.model.packing import pack
from stream_llsvm.model.rows import Rows
from stream_llsvm.model.spill import Spill
from stream_llsvm.records.rows import dense


def give(bank: Bank, keys: list[Any], *, labelled: bool = True) -> None:
    n = len(keys)
    labels = np.arange(n) % 2 if labelled else np.full(n, -1)
    flat = dense(np.ones((n, 2)))._replace(values=np.ones(2 * n))
    proba = np.full((n, 2), 0.5)
    rows = Rows(*flat, labels, np.ones(n), proba, np.zeros(n, dtype=np.int64))
    bank.take(rows, keys, standardize=False)


def made(max_keys: int | None = None) -> Bank:
    bank = Bank(max_keys, 64)
    bank.grow(2, 2)
    return bank


@pytest.mark.parametrize("max_keys", [1, 2, 7, 200])
def test_those_used_longest_ago_are_forgotten(max_keys: int) -> None:
    """As a dict does that is kept in order of use, and loses a sixty-fourth when it is full."""
    rng, bank = np.random.default_rng(max_keys), made(max_keys)
    expected: OrderedDict[int, int] = OrderedDict()
    for size in (1, 3, 100, 1_000):
        keys = rng.zipf(1.3, size).clip(max=2_000).tolist()
        give(bank, keys)
        for key in keys:
            if key not in expected and len(expected) == max_keys:
                for _ in range(max(1, max_keys // 64)):
                    expected.popitem(last=False)
            expected[key] = expected.pop(key, 0) + 1
        assert set(bank.places) == set(expected)
        counts = bank.counts()
        assert {key: counts[place] for key, place in bank.places.items()} == dict(expected)
    assert len(bank) <= max_keys and bank.forgotten > 0


@pytest.mark.parametrize("max_keys", [1, 7, 200])
def test_those_used_longest_ago_are_spilled_and_come_back(max_keys: int, tmp_path: Path) -> None:
    """The same as above, but that keys come back, also to be asked; all as if they never went."""
    rng = np.random.default_rng(max_keys)
    bank, unbounded = Bank(max_keys, 64, Spill(tmp_path)), made()
    bank.grow(2, 2)
    order: OrderedDict[int, None] = OrderedDict()
    known: set[int] = set()
    for size in (1, 3, 100, 1_000):
        keys = rng.zipf(1.3, size).clip(max=2_000).tolist()
        for labelled in (True, False):
            for each in (bank, unbounded):
                give(each, keys, labelled=labelled)
            known.update(keys if labelled else ())
            for key in filter(known.__contains__, keys):
                if key not in order and len(order) == max_keys:
                    for _ in range(max(1, max_keys // 64)):
                        order.popitem(last=False)
                order.pop(key, None)
                order[key] = None
            keys = [keys[0], -1]  # more would all be of the same age
        assert set(bank.places) == set(order)
        assert len(bank) == len(unbounded) == len(known)
    assert bank.spilled > 0 and bank.forgotten == 0
    for name in ("trust", "tallies", "statistics"):
        assert (getattr(bank, name) == getattr(unbounded, name)).all(), name
    for key in known:
        mine, other = bank.known(key), unbounded.known(key)
        assert mine is not None and other is not None
        assert mine[0] & MOST_COUNTED == other[0] & MOST_COUNTED
        assert mine.row.tobytes() == other.row.tobytes()
        assert mine.clocks.tobytes() == other.clocks.tobytes()
    assert bank.known(-1) is None
    assert list(tmp_path.iterdir()) == []  # a process that is killed leaves nothing


@pytest.mark.parametrize("asked", [True, False])
def test_to_be_asked_is_use_too(asked: bool) -> None:
    bank = made(3)
    give(bank, ["a", "a", "b", "c"])
    give(bank, ["a", "nobody"] if asked else ["nobody"], labelled=False)
    give(bank, ["d"])
    assert set(bank.places) == {"a" if asked else "b", "c", "d"}


def test_a_key_takes_what_is_promised() -> None:
    for features, classes, machines in ((22, 2, 1), (10, 7, 7)):
        bank = Bank(None, 64)
        bank.grow(features, classes)
        give_one = Rows(
            np.ones(features), np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(1, np.int64),
            np.ones(1), np.full((1, classes), 1 / classes), np.zeros(1, np.int64),
        )  # fmt: skip
        bank.take(give_one, ["a"], standardize=True)
        per_key = sum(array[0].nbytes for array in (bank.matrix, bank.facts, bank.clocks))
        assert per_key == 8 * (features + 1) * machines + 24


def test_counts_end_where_they_have_no_more_room() -> None:
    bank = made()
    give(bank, ["a"] * 70_000)
    assert bank.counts().tolist() == [65_535]
    assert int(bank.facts[0]) >> COUNT_BITS == bank.taught == 70_000


def test_what_is_known_stays_when_features_and_classes_come() -> None:
    rng, bank = np.random.default_rng(0), made()
    give(bank, rng.integers(0, 5, 300).tolist())
    before = bank.matrix[:5, 0].copy()
    bank.grow(4, 2)
    assert (bank.matrix[:5, 0, :, :3] == before).all() and (bank.matrix[:5, 0, :, 3:] == 0).all()
    bank.grow(4, 3)
    after = bank.matrix[:5]
    np.testing.assert_allclose(after[:, 1, 0, :3] - after[:, 0, 0, :3], before[:, 0])
    assert (after[:, :2, 1, :3] == before[:, None, 1]).all()
    assert (after[:, 2] == 0).all()
    bank.grow(4, 5)
    assert (bank.matrix[:5, :3] == after).all() and bank.matrix.shape[1:] == (5, 2, 5)
    bank.grow(100, 5)
    assert bank.features == 64


def test_a_saved_one_goes_on_as_if_it_had_not_been() -> None:
    rng, bank = np.random.default_rng(1), made(50)
    give(bank, rng.integers(0, 90, 500).tolist())
    other = Bank(50, 64)
    other.restore(bank.payload(), 2, 2)
    keys = rng.integers(0, 90, 500).tolist()
    for each in (bank, other):
        give(each, keys)
    assert bank.places == other.places
    for name in ("matrix", "facts", "clocks", "trust", "tallies", "statistics"):
        assert (getattr(bank, name) == getattr(other, name)).all(), name


def test_what_changed_since_is_all_that_a_later_file_needs() -> None:
    rng, bank = np.random.default_rng(2), made(60)
    parts, since = [], None
    for _ in range(6):
        give(bank, rng.zipf(1.2, 400).clip(max=300).tolist())
        give(bank, rng.zipf(1.2, 5).clip(max=300).tolist(), labelled=False)
        rows = bank.rows(since)
        since = bank.taught
        parts.append(rows.payload())
        give(bank, rng.zipf(1.2, 5).clip(max=300).tolist(), labelled=False)  # at the same time
    parts.append(bank.rows(since).payload())
    other = Bank(60, 64)
    other.restore(bank.head() | {"rows": parts}, 2, 2)
    assert other.places == bank.places and other.keys == bank.keys and other._free == bank._free
    assert (other.matrix == bank.matrix[: len(bank.keys)]).all()
    assert (other.facts == bank.facts[: len(bank.keys)]).all()
    assert (other.clocks == bank.clocks[: len(bank.keys)]).all()
    give(bank, ["one"])
    assert bank.rows(bank.taught - 1).keys.count("one") == 1
    assert len(bank.rows(bank.taught - 1).places) < 12  # and who was asked just before


def damaged() -> dict[str, Any]:
    """Return what is wrong, by name, as changes of a payload."""
    return {
        "a weight that is NaN": ("matrix", lambda a: a.__setitem__((0, 0, 0, 0), np.nan)),
        "a clock that is NaN": ("clocks", lambda a: a.__setitem__((0, 0), np.nan)),
        "a variance below 0": ("clocks", lambda a: a.__setitem__((0, -1), -1.0)),
        "less than nothing learned": ("matrix", lambda a: a.__setitem__((0, 0, 1, 0), -1.0)),
        "a time that has not come": ("facts", lambda a: a.__setitem__(0, 2**62)),
        "a time before all": ("facts", lambda a: a.__setitem__(0, -1)),
        "a key without facts": ("facts", lambda a: a.__setitem__(0, 0)),
        "too much trust": ("trust", lambda a: a.__setitem__((1, 3), 1e9)),
        "infinite trust": ("trust", lambda a: a.__setitem__((2, 3), np.inf)),
        "more right than answered": ("tallies", lambda a: a.__setitem__((1, 0), 10**6)),
        "a count below nothing": ("tallies", lambda a: a.__setitem__((0, 0), -1)),
        "a count beyond all": ("tallies", lambda a: a.__setitem__((0, 0), 2**62)),
        "a variance below nothing": ("statistics", lambda a: a.__setitem__((0, 2), -1.0)),
    }


@pytest.mark.parametrize("what", damaged())
def test_impossible_values_are_refused(what: str) -> None:
    bank = made()
    give(bank, ["a", "b", "a"])
    payload = bank.payload()
    name, change = damaged()[what]
    change(payload[name] if name in payload else payload["rows"][0][name])
    with pytest.raises(ValueError, match="damaged"):
        made().restore(payload, 2, 2)


def test_spilled_rows_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    bank = Bank(2, 64, Spill(tmp_path))
    bank.grow(2, 2)
    give(bank, ["a", "b", "c", "d", "a"])
    sound = bank.payload()
    other = Bank(2, 64, Spill(tmp_path))
    other.restore(sound, 2, 2)
    assert pack(other.payload()) == pack(sound)
    (part,) = sound["spilled"]
    for wrong in (
        {"facts": part["facts"] * 0},
        {"facts": part["facts"] + 2**61},
        {"facts": part["facts"][:1]},
        {"matrix": part["matrix"] * np.float32(np.nan)},
        {"matrix": -np.abs(part["matrix"]) - 1},
        {"matrix": part["matrix"][:, :, :, :2]},
        {"keys": part["keys"] | {"kinds": np.array([0, 5], dtype=np.uint8)}},
    ):
        with pytest.raises(ValueError, match=r"damaged|no key"):
            Bank(2, 64, Spill(tmp_path)).restore(sound | {"spilled": [part | wrong]}, 2, 2)
    for wrong in ({"spilled": []}, {"spilled_keys": 1}, {"spilled_keys": -1}):
        with pytest.raises(ValueError, match="damaged"):
            Bank(2, 64, Spill(tmp_path)).restore(sound | wrong, 2, 2)
    with pytest.raises(ValueError, match="damaged"):
        Bank(2, 64).restore(sound, 2, 2)


def test_rows_of_a_file_without_clocks_begin_calm(tmp_path: Path) -> None:
    """Files of 0.2 have none."""
    bank = Bank(2, 64, Spill(tmp_path))
    bank.grow(2, 2)
    give(bank, ["a", "b", "c", "d", "a"])
    payload = bank.payload()
    for part in (*payload["rows"], *payload["spilled"]):
        del part["clocks"]
    other = Bank(2, 64, Spill(tmp_path))
    other.restore(payload, 2, 2)
    for key in "abcd":
        own, old = other.known(key), bank.known(key)
        assert own is not None and old is not None
        assert own.row.tobytes() == old.row.tobytes() and not own.clocks.any()


def test_parts_that_do_not_fit_are_refused() -> None:
    bank = made()
    give(bank, ["a", "b", "a"])
    sound = bank.payload()
    Bank(2, 64).restore(sound, 2, 2)
    (rows,) = sound["rows"]
    for wrong in (
        {"matrix": rows["matrix"][:1]},
        {"matrix": rows["matrix"].astype(np.float64)},
        {"matrix": rows["matrix"][:, :, :, :2]},
        {"facts": rows["facts"][:1]},
        {"places": rows["places"][:1]},
        {"places": rows["places"] + 1},
        {"places": rows["places"] - 1},
        {"places": rows["places"][::-1]},
        {"keys": rows["keys"] | {"text": b"aa"}},
        {"keys": rows["keys"] | {"kinds": np.array([0, 5], dtype=np.uint8)}},
    ):
        with pytest.raises(ValueError, match=r"damaged|no key"):
            Bank(None, 64).restore(sound | {"rows": [rows | wrong]}, 2, 3)
    for wrong in (
        {"classes": 3},
        {"classes": -1},
        {"classes": "2"},
        {"forgotten": -1},
        {"places": 3},
        {"places": 10**15},
        {"places": 1},
        {"rows": []},
        {"statistics": sound["statistics"][:, :3]},
    ):
        with pytest.raises(ValueError, match="damaged"):
            Bank(None, 64).restore(sound | wrong, 2, 3)
    with pytest.raises(ValueError, match="damaged"):
        Bank(1, 64).restore(sound, 2, 2)
    with pytest.raises(ValueError, match="damaged"):
        Bank(None, 64).restore(sound, 1, 2)
