"""A second model on the same stream, promoted while it runs; and back to an older checkpoint."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path

import pytest

from tests.cli.support import csv_file, newest, refused, run, started, told, wait_for


@pytest.fixture
def pipeline(tmp_path: Path) -> Path:
    """Return a pipeline with two challengers, over a file that may grow."""
    csv_file(tmp_path / "data.csv", 1_000)
    path = tmp_path / "p.toml"
    path.write_text(
        f'[source]\nfrom = "{tmp_path}/data.csv"\nlabel = "y"\nignore = ["id"]\n'
        '[model]\nclass = "pegasos"\n'
        '[challengers.sapl]\nclass = "sapl"\nn_anchors = 20\n'
        '[challengers.plain]\nclass = "llsvm"\n'
        f'[checkpoints]\nfolder = "{tmp_path}/kept"\n[sink]\nto = "{tmp_path}/out.jsonl"\n'
    )
    return path


def test_challengers_are_scored_beside_the_champion(pipeline: Path) -> None:
    report = told("run", pipeline)
    alone = told("evaluate", pipeline.with_name("data.csv"), "--label", "y", "--ignore", "id",
                 "--models", "llsvm")  # fmt: skip
    assert report["champion"] == "original"
    by_name = {one["name"]: one for one in report["challengers"]}
    assert list(by_name) == ["sapl", "plain"]
    assert by_name["sapl"]["verdict"] == "better"
    accuracy = by_name["plain"]["scores"]["cumulative"]["accuracy"]
    assert accuracy == pytest.approx(alone["models"][0]["accuracy"])


def test_the_table_and_inspect_say_who_is_better(pipeline: Path, tmp_path: Path) -> None:
    table = run("run", pipeline, "--challenger", "more=pegasos").stdout
    assert re.search(r"challenger sapl, accuracy\W+\d", table)
    assert re.search(r"over 999 records\W+errs less than original", table)
    assert "challenger more, accuracy" in table
    shown = run("inspect", tmp_path / "kept").stdout
    assert "champion  original, beside sapl, plain, more" in shown
    assert told("inspect", tmp_path / "kept")["challengers"] == ["sapl", "plain", "more"]


def test_a_run_that_goes_on_promotes_names_and_goes_back(pipeline: Path, tmp_path: Path) -> None:
    pipeline.write_text(pipeline.read_text().replace("[source]\n", "[source]\nfollow = true\n"))
    kept = tmp_path / "kept"
    process = started("run", pipeline)
    try:
        wait_for(lambda: (tmp_path / "out.jsonl").exists()
                 and (tmp_path / "out.jsonl").read_bytes().count(b"\n") == 1_000)  # fmt: skip
        named = run("checkpoint", "--checkpoints", kept, "--name", "before")
        assert re.fullmatch(r"checkpoint \d+ is kept as before, at record 1,000\n", named.stdout)
        promoted = run("promote", "--checkpoints", kept, "sapl")
        assert promoted.stdout == (
            "sapl is the champion at record 1,000, and original learns beside it\n"
        )
        assert newest(kept)["challengers"]["champion"] == "sapl"
        nobody = run("promote", "--checkpoints", kept, "nobody")
        assert nobody.exit_code == 1
        assert "there is no challenger nobody: there are plain, original" in nobody.stderr
        with open(tmp_path / "data.csv", "a") as more:
            more.writelines(f"r{i},{i % 7 - 3},{i % 5 - 2},up\n" for i in range(200))
        wait_for(lambda: (tmp_path / "out.jsonl").read_bytes().count(b"\n") == 1_200)
        busy = refused("rollback", "--checkpoints", kept, "--to", "before", "--skip")
        assert "is in use by process" in busy
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate()
    back = run("rollback", "--checkpoints", kept, "--to", "before", "--replay")
    assert back.exit_code == 0, back.output
    lines = back.stdout.splitlines()
    assert (
        lines[1] == "200 records came since, 200 of them learned: they are read and learned again"
    )
    assert lines[2] == "predictions of these records are cut away, and written again"
    pipeline.write_text(pipeline.read_text().replace("follow = true\n", ""))
    report = told("run", pipeline)
    assert report["champion"] == "original"
    assert report["learned"] == 1_200
    assert (tmp_path / "out.jsonl").read_bytes().count(b"\n") == 1_200


def test_without_a_run_a_promotion_waits_for_the_next(pipeline: Path, tmp_path: Path) -> None:
    told("run", pipeline, "--max-records", 500)
    kept = tmp_path / "kept"
    said = run("promote", "--checkpoints", kept, "plain").stdout
    assert said == f"no run uses {kept}: the next one begins with plain as its champion\n"
    assert "there is no challenger nobody" in refused("promote", "--checkpoints", kept, "nobody")
    named = run("checkpoint", "--checkpoints", kept, "--name", "half").stdout
    assert named == f"checkpoint {int(max(kept.glob('c*')).stem[-10:])} is kept as half\n"
    report = told("run", pipeline)
    assert report["champion"] == "plain"
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert len(lines) == 1_000
    assert "kept as   half" in run("inspect", kept / f"checkpoint-{int(named.split()[1]):010}.llsvm"
                                  ).stdout  # fmt: skip


def test_mistakes_are_told(pipeline: Path, tmp_path: Path) -> None:
    assert "has no checkpoints" in refused("promote", "--checkpoints", tmp_path / "no", "x")
    told("run", pipeline, "--max-records", 500)
    kept = tmp_path / "kept"
    assert "--replay or --skip" in refused("rollback", "--checkpoints", kept, "--to", 1)
    none = refused("rollback", "--checkpoints", kept, "--to", 77, "--skip")
    assert "there is no checkpoint 77" in none
    odd = refused("checkpoint", "--checkpoints", kept, "--name", "a b")
    assert "letters, digits" in odd
    pipeline.write_text(
        pipeline.read_text().replace("n_anchors = 20", "n_anchors = -2\nanchors = 1")
        + '[challengers.original]\nclass = "sappl"\n'
    )
    complaint = refused("run", pipeline)
    assert f"{pipeline}:10: [challengers.sapl] anchors: unknown option" in complaint
    assert f"{pipeline}:9: [challengers.sapl] n_anchors: n_anchors must be" in complaint
    assert "[challengers.original]: that is what [model] is called" in complaint
    assert '[challengers.original] class: unknown model "sappl"' in complaint


def test_another_model_under_the_same_name_is_refused(pipeline: Path) -> None:
    told("run", pipeline, "--max-records", 500)
    pipeline.write_text(pipeline.read_text().replace("n_anchors = 20", "n_anchors = 21"))
    assert "n_anchors = 20, not 21" in refused("run", pipeline)
