"""Records with words are learned in blocks, to the bit as one by one."""

from __future__ import annotations

import random
from typing import Any

import pytest

from stream_llsvm import CommitteeClassifier, SAPLClassifier
from stream_llsvm.connectors.base import Batch
from stream_llsvm.connectors.json_codec import JsonCodec
from stream_llsvm.engine.learner import Learner
from stream_llsvm.engine.word_rows import WordRows
from tests.connectors.support import decoded
from tests.connectors.test_names import as_json
from tests.learners.support import everything

WORDS = ["go", "home", "none", "7", "call", "me", "now", "free", "ä"]


def mixed(n: int, seed: int = 0) -> list[dict[str, Any]]:
    chance = random.Random(seed)
    rows = []
    for i in range(n):
        said = " ".join(chance.choices(WORDS, k=chance.randrange(9)))
        city = chance.choice(["Oslo", "Rome", None, "42"])
        spam = "free" in said
        tags = ["x", f"t{i % 3}"][: i % 3]
        rows.append({
            "a": chance.gauss(0, 1), "city": city, "said": said, "tags": tags,
            "when": f"2026-01-{i % 28 + 1:02}T{i % 24:02}:30", "y": "spam" if spam else "ham",
        })  # fmt: skip
    return rows


@pytest.mark.parametrize("make", [CommitteeClassifier, SAPLClassifier])
def test_a_block_is_what_one_by_one_is(make: Any) -> None:
    codec = JsonCodec(label="y", fields={"city": "name"})
    batches = [decoded(codec, *as_json(*mixed(150, seed))) for seed in range(3)]
    block, alone = Learner(make()), Learner(make())
    for batch in batches:
        assert batch.records is not None and WordRows().of(batch.records) is not None
        quick = block.take(batch)
        slow = alone.records([batch.record(i) for i in range(len(batch))], batch.labels)
        assert list(quick.labels) == list(slow.labels) and not slow.refused
        assert quick.sure is not None and slow.sure is not None
        assert quick.sure.tobytes() == slow.sure.tobytes()
    assert everything(block.model) == everything(alone.model)


def test_what_is_left_to_one_by_one() -> None:
    words = {"said": ("go", "home")}
    rows = WordRows()
    assert rows.of([words] * 3) is None  # few
    assert rows.of([{"a": 1.0}] * 9) is None  # a matrix would do
    assert rows.of([words] * 9 + [{"a": 1.0}]) is None
    assert rows.of([words] * 9 + [{"said": object()}]) is None
    assert rows.of([words] * 9 + [{"said": "inf"}]) is None


def test_one_bad_record_costs_no_other() -> None:
    good = [{"a": float(i), "said": ("go", f"w{i}")} for i in range(20)]
    records: list[dict[str, Any]] = [*good, {"a": float("inf"), "said": ("x", "y")}]
    assert WordRows().of(good) is not None and WordRows().of(records) is None
    batch = Batch([i % 2 for i in range(21)], [], {}, records=records)
    assert list(Learner(SAPLClassifier()).take(batch).refused) == [20]
