"""Texts are read once, and what is kept of them is bounded."""

from __future__ import annotations

import pytest

from stream_llsvm.kernels.boxes import NAME
from stream_llsvm.records import text_boxes
from stream_llsvm.records.boxes import name_code, unboxed
from stream_llsvm.records.text_boxes import TextBoxes
from stream_llsvm.records.texts import Name


def test_what_a_value_is() -> None:
    boxes = TextBoxes()
    assert boxes.of("a", 7) == boxes.of("a", "7") == 7.0
    name, marked = boxes.of("a", "DE"), boxes.of("a", Name("7"))
    assert isinstance(name, float) and isinstance(marked, float)
    assert unboxed(name) == (NAME, name_code("DE"))
    assert unboxed(marked) == (NAME, name_code("7"))
    words = boxes.of("a", "7 is prime")
    assert isinstance(words, tuple)
    assert list(map(unboxed, words)) == [(NAME, name_code(word)) for word in ("7", "is", "prime")]
    with pytest.raises(ValueError, match="feature 'a' has the value"):
        boxes.of("a", 1j)


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_boxes, "_MOST_TEXTS", 10)
    boxes = TextBoxes()
    for i in range(100):
        boxes.of("a", f"name {i}")
        boxes.of("a", f"some words {i}")
        boxes.of("a", "x" * 101)
    assert len(boxes.known) <= 11 and len(boxes._words) <= 10
    assert "x" * 101 not in boxes.known
    assert boxes.known[None] != boxes.known[None]  # missing stays known
