"""``answer``: readers with the newest model that a run publishes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from stream_llsvm import load_model
from stream_llsvm.engine.snapshots import published
from tests.cli.pair import Run
from tests.cli.support import csv_file, lines, refused, rows, run, told, wait_for
from tests.cli.test_signals import arguments


def answers(folder: Path, data: Path, *more: object) -> list[dict[str, object]]:
    result = run("answer", "--from-model", folder, "--from", data, *more)
    assert result.exit_code == 0, result.output
    return lines(result.stdout)


def test_a_published_model_answers_as_it_would_itself(tmp_path: Path) -> None:
    data, folder = csv_file(tmp_path / "data.csv", 2_000), tmp_path / "published"
    told(*arguments(data, "--publish", folder, "--publish-every", 0, "--max-batch", 100))
    found = published(folder)
    assert found[0][0] == 2_000
    assert len(found) <= 3
    asked = csv_file(tmp_path / "asked.csv", 300, seed=1)
    given = answers(folder, asked, "--key", "id")
    model = load_model(found[0][1])
    values = np.loadtxt(asked, delimiter=",", skiprows=1, usecols=(1, 2))
    wanted = [model.predict_one({"a": a, "b": b}) for a, b in values.tolist()]
    assert [one["prediction"] for one in given] == wanted
    assert [one["key"] for one in given] == [f"r{i}" for i in range(300)]
    assert {one["records_learned"] for one in given} == {2_000}
    for one in given:
        assert isinstance(one["model_age"], float) and 0 <= one["model_age"] < 300
        assert one["label"] is None
    file = answers(found[0][1], asked)
    assert [one["prediction"] for one in file] == wanted
    assert {one["records_learned"] for one in file} == {None}


def test_a_newer_model_is_taken_while_answering(tmp_path: Path) -> None:
    data, folder, to = tmp_path / "data.csv", tmp_path / "published", tmp_path / "out.jsonl"
    csv_file(data, 400)
    asked = csv_file(tmp_path / "asked.csv", 10, seed=1)
    told(*arguments(data, "--publish", folder, "--checkpoints", tmp_path / "kept"))
    at_once = ["--look-every", 0]
    reader = Run(
        ["answer", "--from-model", folder, "--from", asked, "--follow", "--to", to, *at_once],
        tmp_path / "log",
    )

    def learned() -> list[int]:
        text = to.read_text() if to.exists() else ""
        return [one["records_learned"] for one in lines(text[: text.rfind("\n") + 1])]

    try:
        wait_for(lambda: learned() == [400] * 10)
        with data.open("a") as file:
            file.write(rows(50, seed=2))
        told(*arguments(data, "--publish", folder, "--checkpoints", tmp_path / "kept"))
        with asked.open("a") as file:
            file.write(rows(5, seed=3))
        wait_for(lambda: learned() == [400] * 10 + [450] * 5)
        reader.process.terminate()
        assert reader.ended() == 0, reader.said
    finally:
        reader.process.kill()


def test_a_run_that_begins_anew_publishes_anew(tmp_path: Path) -> None:
    data, folder = csv_file(tmp_path / "data.csv", 400), tmp_path / "published"
    told(*arguments(data, "--publish", folder))
    told(*arguments(data, "--publish", folder, "--max-records", 100))
    assert [learned for learned, _ in published(folder)] == [100]


def test_a_model_is_had_from_the_live_page(tmp_path: Path) -> None:
    data = csv_file(tmp_path / "data.csv", 500)
    asked = csv_file(tmp_path / "asked.csv", 20, seed=1)
    shown = [*arguments(data, "--follow", "--dashboard", "0", "--log-format", "json")]
    learner = Run(shown, tmp_path / "log")
    try:
        wait_for(lambda: '"address"' in learner.said)
        address = next(
            json.loads(line)["address"] for line in learner.said.splitlines() if '"address"' in line
        )
        given: list[dict[str, object]] = []

        def all_learned() -> bool:
            given[:] = lines(run("answer", "--from-model", address, "--from", asked).stdout)
            return [one["records_learned"] for one in given] == [500] * 20

        wait_for(all_learned)
        told(*arguments(data, "--save", tmp_path / "model"))
        assert [one["prediction"] for one in given] == [
            one["prediction"] for one in answers(tmp_path / "model", asked)
        ]
        learner.process.terminate()
        assert learner.ended() == 0
    finally:
        learner.process.kill()


def test_what_cannot_be_answered_is_said(tmp_path: Path, data: Path) -> None:
    given = ["answer", "--from-model", tmp_path / "none"]
    assert "--from is missing" in refused(*given)
    assert "there is no such file or folder" in refused(*given, "--from", data)
    assert "answers are JSON Lines" in refused(*given, "--from", data, "--to", "a.csv")
    told(*arguments(csv_file(tmp_path / "d.csv", 50), "--publish", tmp_path / "p"))
    given = ["answer", "--from-model", tmp_path / "p", "--from", data, "--group", "g"]
    assert "files has no groups" in refused(*given)


@pytest.mark.parametrize("broken", [b"", b"no model"])
def test_a_file_that_is_no_model_is_waited_out(tmp_path: Path, broken: bytes) -> None:
    path, asked = tmp_path / "model.llsvm", csv_file(tmp_path / "asked.csv", 20)
    path.write_bytes(broken)
    reader = Run(
        ["answer", "--from-model", path, "--from", asked, "--look-every", 0.1], tmp_path / "log"
    )
    try:
        wait_for(lambda: "no newer model" in reader.said)
        told(*arguments(csv_file(tmp_path / "d.csv", 50), "--save", path))
        assert reader.ended() == 0, reader.said
    finally:
        reader.process.kill()
