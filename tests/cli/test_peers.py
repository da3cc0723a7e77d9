"""River's models beside ours get names, times and words in a form that they can use."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.support import told


@pytest.mark.parametrize("peer", ["logreg", "arf", "knn"])
def test_a_name_decides(tmp_path: Path, peer: str) -> None:
    data = tmp_path / "shop.csv"
    lines = [
        f"{i % 10},{'DE' if i * 7 % 3 else 'FR'},2026-01-{i % 28 + 1:02}T{i % 24:02}:00,"
        f"{'call me now' if i % 5 else 'free'},{'up' if i * 7 % 3 else 'down'}\n"
        for i in range(900)
    ]
    data.write_text("a,country,when,note,y\n" + "".join(lines))
    given = ["--models", "lcc", "--against", peer]
    _, row = told("evaluate", data, "--label", "y", *given)["models"]
    assert row["refused"] == 0 and row["first_refused"] is None
    assert row["accuracy"] > 0.8  # two thirds are up


def test_a_word_decides(tmp_path: Path) -> None:
    data = tmp_path / "sms.csv"
    words = [("free", "spam") if i * 7 % 3 else ("home", "ham") for i in range(900)]
    data.write_text("said,y\n" + "".join(f"we do {word} now,{y}\n" for word, y in words))
    given = ["--models", "lcc", "--against", "logreg"]
    assert told("evaluate", data, "--label", "y", *given)["models"][1]["accuracy"] > 0.8
