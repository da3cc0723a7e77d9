"""Pipeline files: what is wrong is told by line and key, all of it at once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stream_llsvm.cli.pipeline import lines_of
from tests.cli.support import csv_file, refused, started, told

GOOD = """
[source]
from = "{data}"
label = "y"
key = "id"

[model]
class = "LLSVMClassifier"
n_anchors = 12
n_neighbors = 4

[engine]
max_batch = 50
"""


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "pipeline.toml"
    path.write_text(text)
    return path


def test_a_pipeline_runs(tmp_path: Path, data: Path) -> None:
    report = told("run", written(tmp_path, GOOD.format(data=data)))
    assert report["learned"] == 400
    assert report["model"] == "LLSVMClassifier"


def test_flags_say_the_same_and_come_first(tmp_path: Path, data: Path) -> None:
    flags = ["--from", data, "--label", "y", "--key", "id", "--model", "llsvm"]
    flags += ["--option", "n_anchors=12", "--option", "n_neighbors=4"]
    by_flags, by_file = told("run", *flags), told("run", written(tmp_path, GOOD.format(data=data)))
    for view, scores in by_file["scores"].items():  # sums over other batches differ in the last bit
        assert by_flags["scores"][view] == pytest.approx(scores)
    other = csv_file(tmp_path / "other.csv", 70)
    both = told("run", written(tmp_path, GOOD.format(data=data)), "--from", other)
    assert both["learned"] == 70


def test_all_mistakes_are_told_at_once_in_order(tmp_path: Path) -> None:
    text = """[source]
from = 3
lable = "y"

[model]
class = "SAPLClassifier"
n_anchor = 3
step_size = -4

[engine]
max_batch = "many"

[sinks]
to = "x"
"""
    path = written(tmp_path, text)
    lines = refused("run", path).splitlines()
    starts = [
        ":1: [source] label: label is missing",
        ":2: [source] from: from must be text",
        ':3: [source] lable: unknown key "lable": did you mean "label"?',
        ':7: [model] n_anchor: unknown option of SAPLClassifier "n_anchor": did you mean "n_anch',
        ":8: [model] step_size: step_size must be a number",
        ":11: [engine] max_batch: max_batch must be a whole number",
        ':13: [sinks]: unknown section "sinks": did you mean "sink"?',
    ]
    assert len(lines) == len(starts)
    for line, start in zip(lines, starts, strict=True):
        assert line.startswith(f"{path}{start}")


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (("[source]", "[sauce]"), '"sauce": did you mean "source"?'),
        (('label = "y"', ""), "label is missing"),
        (("LLSVMC", "LSVMC"), 'did you mean "LLSVMClassifier"?'),
        (("n_neighbors = 4", "n_neighbors = 0"), ":10: [model] n_neighbors: n_neighbors must be"),
        (('key = "id"', 'start = "earliest"'), ":5: [source] start: it is for Kafka only"),
        (('key = "id"', "= 4"), "not TOML"),
        (("[engine]", "[checkpoints]\nevery = 3\n[engine]"), "folder is missing"),
        (("[engine]", "[engine]\ndetector = 'x'"), "detector must be one of 'adwin', 'none'"),
        (("[engine]", "[sink]\nto = 's3://x'\n[engine]"), "s3:// is not known"),
        (("[engine]", "[sink]\nto = 'kafka://x'\n[engine]"), "kafka://localhost:9092/topic"),
        (("[engine]", "[labels]\nfrom = 'x.csv'\n[engine]"), "[labels] key: key is missing"),
    ],
)
def test_each_mistake_is_named(
    tmp_path: Path, data: Path, change: tuple[str, str], complaint: str
) -> None:
    text = GOOD.format(data=data).replace(*change)
    assert complaint in refused("run", written(tmp_path, text))


@pytest.mark.parametrize(
    ("sections", "where"),
    [
        ("[sink]\nto = '{data}'", "[sink] to: {data}"),
        ("[sink]\nto = '{folder}/../{name}/data.csv'", "[sink] to: "),
        ("[dead_letters]\nto = '{data}'", "[dead_letters] to: {data}"),
        ("[model]\nsave = '{data}'", "[model] save: {data}"),
        ("[model]\nsave = '{folder}/pipeline.toml'", "[model] save: "),
        ("[sink]\nto = '{folder}/o'\n[dead_letters]\nto = '{folder}/o'", "[dead_letters] to: "),
        ("[labels]\nfrom = '{folder}/l'\nkey = 'id'\nlabel = 'y'\n[sink]\nto = '{folder}/l'",
         "[sink] to: "),
    ],
)  # fmt: skip
def test_nothing_is_written_over_what_is_read_or_written(
    tmp_path: Path, data: Path, sections: str, where: str
) -> None:
    before = data.read_bytes()
    names = {"data": data, "folder": tmp_path, "name": tmp_path.name}
    head = '[source]\nfrom = "{data}"\nlabel = "y"\nkey = "id"\n'
    said = refused("run", written(tmp_path, (head + sections).format(**names)))
    assert where.format(**names) in said
    assert "is used by this run already: name another" in said
    assert data.read_bytes() == before


def test_a_topic_is_not_read_and_written() -> None:
    given = ["run", "--label", "y", "--from", "kafka://localhost:1/a,b"]
    said = refused(*given, "--to", "kafka://localhost:1/b")
    assert "--to: kafka://localhost:1/b is used by this run already" in said


def test_a_device_may_be_read_but_not_written(data: Path) -> None:
    given = ["--from", "/dev/stdin", "--format", "csv", "--label", "y", "--key", "id"]
    said = refused("run", "--from", data, *given[2:], "--to", "/dev/null")
    assert "/dev/null: a device or a pipe cannot be cut back; name a file, or - for" in said
    with data.open() as stdin:
        process = started("run", *given, "--json", stdin=stdin)
        out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert json.loads(out)["learned"] == 400


def test_there_is_no_such_pipeline(tmp_path: Path) -> None:
    assert "no such pipeline file" in refused("run", tmp_path / "none.toml")


def test_lines_of_keys_wherever_they_stand() -> None:
    text = '# x\n[a]\nb = [\n "c = 1",\n]\nd.e = 1\n"f" = """\ng = 2\n"""\n[a.h]\ni = {j = 1}\n'
    assert lines_of(text) == {
        ("a",): 2, ("a", "b"): 3, ("a", "d"): 6, ("a", "d", "e"): 6, ("a", "f"): 7,
        ("a", "h"): 10, ("a", "h", "i"): 11,
    }  # fmt: skip
