"""What docs/connectors.md shows runs as it is written there."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stream_llsvm import SAPLClassifier

PAGE = Path(__file__).resolve().parents[1] / "docs" / "connectors.md"


def blocks() -> list[str]:
    return re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


def add(base: sqlite3.Connection, rows: list[tuple[Any, ...]]) -> None:
    base.executemany("INSERT INTO wind VALUES (?, ?, ?)", rows)
    base.commit()


def test_a_connector_in_forty_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, usage = blocks()
    body = source[source.index("class SqliteSource") :]
    assert len([line for line in body.splitlines() if line.strip()]) <= 40
    monkeypatch.chdir(tmp_path)
    base = sqlite3.connect("weather.db")
    base.execute("CREATE TABLE wind (speed, gust, storm)")
    x = np.random.default_rng(0).normal(size=(300, 2)).tolist()
    good = [(a, b, int(a * b > 0)) for a, b in x]
    add(base, good[:150])
    add(base, [("calm", 1.0, 0)])
    add(base, good[150:200])
    # 201 rows, one of them bad: the first run takes 200.
    space: dict[str, Any] = {}
    exec(source, space)
    exec(usage, space)
    assert space["report"]["learned"] == 199
    assert space["report"]["rejected"] == {"not a number": 1}
    add(base, good[200:])
    base.close()
    exec(usage.replace("200", "101"), space)  # goes on with the very next row
    assert space["report"]["learned"] == 300
    alone = SAPLClassifier()
    for a, b, storm in good:
        alone.learn_one({"speed": a, "gust": b}, storm)
    probe = {"speed": 0.5, "gust": -0.5}
    assert space["engine"].model.predict_proba_one(probe) == alone.predict_proba_one(probe)
    space["source"].close()
    with pytest.raises(space["SourceError"], match=r"weather\.db, table wind: Cannot operate"):
        space["source"].poll(1, 0.0)
