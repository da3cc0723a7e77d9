"""``run``: files in, predictions out, going on where it stopped; what goes wrong is one line."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from stream_llsvm import load_model
from stream_llsvm.model.file import read, write
from tests.cli.support import csv_file, newest, refused, run, started, told

SMALL = ["--model", "llsvm", "--option", "n_anchors=12", "--option", "n_neighbors=4"]


def arguments(data: Path, *more: Any) -> list[Any]:
    return ["run", "--from", data, "--label", "y", "--key", "id", *SMALL, *more]


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_predictions_are_written(tmp_path: Path, data: Path) -> None:
    to = tmp_path / "new" / "out.jsonl"
    report = told(*arguments(data, "--to", to))
    written = lines(to)
    assert len(written) == report["predicted"] == 400
    assert written[7]["key"] == "r7"
    right = sum(one["prediction"] == one["label"] for one in written)
    assert written[0]["prediction"] is None and report["unscored"] == 1
    assert report["scores"]["cumulative"]["accuracy"] == pytest.approx(right / 399)


def test_the_table_tells_what_json_tells(data: Path) -> None:
    result = run(*arguments(data))
    assert result.exit_code == 0
    report = told(*arguments(data))
    assert f"{report['scores']['cumulative']['accuracy']:.2%}" in result.stdout


@pytest.mark.parametrize("model", [SMALL, ["--model", "pegasos"]], ids=lambda model: model[1])
def test_a_run_goes_on_where_the_last_one_stopped(
    tmp_path: Path, data: Path, model: list[str]
) -> None:
    to, folder = tmp_path / "out.jsonl", tmp_path / "kept"
    learn = ["run", "--from", data, "--label", "y", "--key", "id", *model]
    more = ["--to", to, "--checkpoints", folder, "--max-batch", 50]
    assert told(*learn, *more, "--max-records", 100)["learned"] == 100
    assert told(*learn, *more, "--save", tmp_path / "m.llsvm")["learned"] == 400
    assert [one["key"] for one in lines(to)] == [f"r{i}" for i in range(400)]
    told(*learn, "--save", tmp_path / "whole.llsvm")
    assert (tmp_path / "m.llsvm").read_bytes() == (tmp_path / "whole.llsvm").read_bytes()
    assert load_model(tmp_path / "m.llsvm").classes == newest(folder)["model"]["labels"]


def test_labels_from_a_second_file(tmp_path: Path, data: Path) -> None:
    labels = tmp_path / "labels.csv"
    pairs = [line.split(",") for line in data.read_text().splitlines()]
    labels.write_text("".join(f"{row[0]},{row[-1]}\n" for row in pairs))
    pipeline = tmp_path / "late.toml"
    pipeline.write_text(
        f'[source]\nfrom = "{data}"\nkey = "id"\nignore = ["y"]\n'
        f'[labels]\nfrom = "{labels}"\nkey = "id"\nlabel = "y"\n'
        '[model]\nclass = "SAPLClassifier"\n[engine]\nmax_batch = 30\n'
    )
    report = told("run", pipeline)
    assert report["learned"] == 400
    assert report["waiting"]["matched"] == 400


def test_scores_by_the_values_of_fields(tmp_path: Path, data: Path) -> None:
    path = tmp_path / "some.csv"
    header, *rows = data.read_text().splitlines()
    some = [f"{row},{'abc'[i % 3] if i % 2 else ''}" for i, row in enumerate(rows)]
    path.write_text("\n".join([f"{header},shop", *some]) + "\n")
    report = told(*arguments(path, "--slices", "a,shop"))
    assert list(report["slices"]) == ["a", "shop"]
    missing = report["slices"]["shop"][0]
    assert missing["value"] == "(missing)"
    assert {one["value"] for one in report["slices"]["shop"][1:]} == {"a", "b", "c"}
    assert sum(one["records"] for one in report["slices"]["shop"]) == 399
    shown = run(*arguments(path, "--slices", "shop")).stdout
    assert f"accuracy, shop (missing) ({missing['records']})" in shown


def test_slices_that_cannot_be(data: Path) -> None:
    cases = [
        (["--slices", "shop"], "there is no column 'shop' (slices shop)"),
        (["--slices", "y"], "slices: 'y' is no feature here"),
        (["--slices", "a", "--ignore", "id,a"], "slices: 'a' is no feature here"),
        (["--slices", "a", "--field", "a=ignore"], "slices: 'a' is no feature here"),
        (["--slices", "a", "--features", "b"], "slices: 'a' is no feature here"),
        (["--slices", "a,a"], "slices name a field twice: a"),
    ]
    for given, complaint in cases:
        assert complaint in refused(*arguments(data, *given))


def test_the_closing_table_tells_which_fields_have_moved(tmp_path: Path) -> None:
    path = tmp_path / "drift.csv"
    rows = [f"{i % 7},{'' if i >= 3_000 else i % 5},{i % 2}" for i in range(5_000)]
    path.write_text("a,b,y\n" + "\n".join(rows) + "\n")
    given = ["run", "--from", path, "--label", "y", *SMALL]
    assert "field b has moved: missing in " in run(*given).stdout
    assert "moved" not in run(*given, "--max-records", 2_500).stdout


def test_a_run_without_records_says_so(tmp_path: Path) -> None:
    empty = tmp_path / "empty.csv"
    empty.write_text("a,y\n")
    result = run("run", "--from", empty, "--label", "y")
    assert result.exit_code == 0
    assert "there are no records in" in result.stderr


def test_a_file_without_a_header(tmp_path: Path, data: Path) -> None:
    bare, records = tmp_path / "bare.csv", data.read_text().splitlines()[1:]
    bare.write_text("".join(line.replace(",", ";") + "\n" for line in records))
    report = told(*arguments(bare, "--names", "id,a", "--names", "b,y", "--delimiter", ";"))
    assert report["learned"] == 400


def test_rejected_records_are_kept_apart(tmp_path: Path, data: Path) -> None:
    data.write_text(data.read_text() + "r400,1.0,inf,up\nr401,1.0\n")
    letters = tmp_path / "bad.jsonl"
    report = told(*arguments(data, "--dead-letters", letters, "--on-bad-field", "reject"))
    assert report["bad_fields"] == {"b": 1}
    assert sum(report["rejected"].values()) == 2
    assert [one["offset"] for one in lines(letters)] == [402, 403]


def test_the_first_that_was_rejected_is_told(tmp_path: Path, data: Path) -> None:
    data.write_text(data.read_text() + "r400,1.0,inf,up\nr401,1.0\n")
    first = f"the first that was rejected: {data}:403: wrong number of fields: 2 instead of 4"
    bad = f"the first field that could not be read: {data}:402: infinite value: 'b': 'inf'"
    said = run(*arguments(data)).stderr.splitlines()
    kept = "; --dead-letters keeps them"
    assert any(line.endswith(f"Z warning: {first}: b'r401,1.0'{kept}") for line in said)
    assert any(line.endswith(f"Z warning: {bad}") for line in said)
    assert sum("the first " in line for line in said) == 2
    said = run(*arguments(data, "--dead-letters", tmp_path / "bad.jsonl")).stderr.splitlines()
    assert any(line.endswith(f"Z warning: {first}: b'r401,1.0'") for line in said)


def test_bad_fields_are_in_the_table(tmp_path: Path, data: Path) -> None:
    data.write_text(data.read_text() + "r400,1.0,inf,up\nr401,-inf,inf,up\n")
    table = run(*arguments(data)).stdout
    assert re.search(r"rejected\W+1\W+infinite value\W+1", table)
    assert re.search(r"values that could not be read\W+3\W+b\W+2\W+a\W+1", table)


def test_values_as_people_write_them(tmp_path: Path, data: Path) -> None:
    """Semicolons, decimal commas, Latin-1, a word for missing, several names in one flag."""
    rows = [line.replace(".", ",").split(",", 1) for line in data.read_text().splitlines()[1:]]
    text = "größe;datum;id2;a;b;y\n"
    for i, (key, rest) in enumerate(rows):
        whole_a, a, whole_b, b, y = rest.split(",")
        text += f"{'k.A.' if i % 9 == 0 else '1,5'};heute;{key};{whole_a},{a};{whole_b},{b};{y}\n"
    path = tmp_path / "german.csv"
    path.write_bytes(text.encode("latin-1"))
    how = ["--delimiter", ";", "--decimal", ",", "--encoding", "latin-1", "--missing", "k.A.,x"]
    run_it = ["run", "--from", path, "--label", "y", *how, *SMALL]
    for which in (["--ignore", "datum,id2"], ["--features", "größe,a,b"]):
        report = told(*run_it, *which)
        assert report["learned"] == 400 and not report["bad_fields"]


def test_a_tab_by_its_name(tmp_path: Path, data: Path) -> None:
    path = tmp_path / "tabs.csv"
    path.write_text(data.read_text().replace(",", "\t"))
    for tab in ("tab", "\\t", "\t"):
        assert told(*arguments(path, "--delimiter", tab))["learned"] == 400


def test_a_label_that_is_no_class_is_told_of(tmp_path: Path) -> None:
    data = csv_file(tmp_path / "data.csv", 60)
    result = run("run", "--from", data, "--label", "a", "--key", "id", "--ignore", "y")
    assert result.exit_code == 0
    assert "warning: 60 labels in 60 records: is the label a class" in result.stderr
    assert "is the label a class" not in run(*arguments(data)).stderr


def test_what_a_run_cannot_go_on_with_names_the_checkpoint(tmp_path: Path, data: Path) -> None:
    kept, to = tmp_path / "kept", tmp_path / "out.jsonl"
    told(*arguments(data, "--checkpoints", kept, "--to", to))
    whole = to.read_bytes()
    to.unlink()
    said = refused(*arguments(data, "--checkpoints", kept, "--to", to))
    assert "out.jsonl: it has 0 bytes and cannot be cut to" in said
    assert f"({max(kept.glob('*.llsvm'))} stands there; another folder begins anew)" in said
    to.write_bytes(whole)
    csv_file(data, 100)
    said = refused(*arguments(data, "--checkpoints", kept, "--to", to))
    assert "data.csv: it is shorter than it was" in said
    assert "another folder begins anew" in said


def test_a_run_of_mostly_bad_records_fails(tmp_path: Path) -> None:
    data = csv_file(tmp_path / "data.csv", 120)
    data.write_text(data.read_text() + "oops\n" * 400)
    result = run(*arguments(data, "--max-batch", 100))
    assert result.exit_code == 1
    assert "records could not be used" in result.stderr
    assert "Traceback" not in result.output


def test_how_many_may_be_bad_can_be_said(tmp_path: Path) -> None:
    data = csv_file(tmp_path / "data.csv", 300)
    data.write_text(data.read_text() + "oops\n" * 100)
    result = run(*arguments(data, "--max-batch", 50, "--max-rejected-ratio", "0.2"))
    assert result.exit_code == 1
    assert "more than max_rejected_ratio=0.2 allows. The first: " in result.stderr
    assert result.stderr.partition("The first: ")[2].count("wrong number of fields") == 3
    assert told(*arguments(data, "--max-rejected-ratio", "0.25"))["learned"] == 300


def test_a_label_that_no_record_has_is_told_of(tmp_path: Path, data: Path) -> None:
    """Where it cannot be seen beforehand, as on standard input, it is said after a while."""
    given = arguments(data)[1:]
    given[given.index(data)] = "-"
    given[given.index("y")] = "Y"
    with data.open() as stdin:
        process = started("run", *given, "--format", "csv", "--ignore", "y", stdin=stdin)
        _, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert "warning: no labels: none of the first 400 records has one" in err
    assert "is the label's name right? The features are a, b" in err


def test_what_cannot_be_run_is_one_line(tmp_path: Path, data: Path) -> None:
    known = ["--from", data, "--label", "y", "--key", "id"]
    for given, complaint in [
        (["--from", tmp_path / "dato.csv", "--label", "y"], "did you mean"),
        (["--from", data, "--label", "Y"], "there is no column 'Y' (label): did you mean 'y'?"),
        (["--from", data, "--label", "y", "--field", "id"], "id must be one of 'name', 'number'"),
        (["--from", data, "--label", "y", "--field", "y=name"], "'y' is the label or the key"),
        (["--from", data, "--label", "y", "--ignore", "idd"], "did you mean 'id'?"),
        (["--from", data], "--label: label is missing"),
        ([], "--from is missing"),
        (["--from", data, "--label", "y", "--max-batch", "0"], "--max-batch: max_batch must be"),
        (["--from", data, "--label", "y", "--option", "threads"], "write name=value"),
        (["--from", data, "--label", "y", "--lable"], "No such option"),
        (["--from", data, "--label", "y", "--every", "soon"], "Invalid value for '--every'"),
        (["--from", data, "--label", "y", "--key", "id", "--to", data / "x"], "data.csv"),
        (["--from", tmp_path, "--label", "y"], "is a folder: name a file in it"),
        ([*known, "--save", tmp_path], "--save: "),
        ([*known, "--save", tmp_path / "none" / "m"], "--save: there is no folder"),
        ([*known, "--checkpoints", data], "data.csv is a file: name a folder"),
    ]:
        told_ = refused("run", *given)
        assert complaint in told_
        assert len(told_.splitlines()) == 1


def test_a_file_of_records_is_no_pipeline(data: Path) -> None:
    said = refused("run", data)
    assert "data.csv: not TOML: " in said
    assert said.endswith(f"; to learn its records: --from {data}\n")


def test_a_wrong_broker_is_one_line(tmp_path: Path) -> None:
    pytest.importorskip("kafka")
    pipeline = tmp_path / "p.toml"
    pipeline.write_text(
        '[source]\nfrom = "kafka://127.0.0.1:1/x"\nlabel = "y"\nconnect_timeout = 1'
    )
    assert "127.0.0.1:1 refuses connections" in refused("run", pipeline)


@pytest.mark.parametrize("section", ["sink", "dead_letters"])
def test_a_wrong_broker_to_write_to_is_told_at_the_start(
    tmp_path: Path, data: Path, section: str
) -> None:
    pytest.importorskip("kafka")
    pipeline = tmp_path / "p.toml"
    pipeline.write_text(
        f'[source]\nfrom = "{data}"\nlabel = "y"\nkey = "id"\n'
        f'[{section}]\nto = "kafka://127.0.0.1:1/x"\nconnect_timeout = 1'
    )
    assert "127.0.0.1:1 refuses connections" in refused("run", pipeline)


def test_another_model_than_the_one_kept_is_refused(tmp_path: Path, data: Path) -> None:
    folder = tmp_path / "kept"
    told(*arguments(data, "--checkpoints", folder))
    again = arguments(data, "--checkpoints", folder)
    assert "n_anchors = 12, not 13" in refused(*again, "--option", "n_anchors=13")
    assert "a LLSVMClassifier, not a SAPLClassifier" in refused(*again, "--model", "sapl")


def test_another_label_than_the_one_learned_is_refused(tmp_path: Path, data: Path) -> None:
    folder, to = tmp_path / "kept", tmp_path / "out.jsonl"
    more = ["--checkpoints", folder, "--to", to, *SMALL]
    told("run", "--from", data, "--label", "y", *more, "--max-records", 100)
    whole = to.read_bytes()
    said = refused("run", "--from", data, "--label", "a", *more)
    assert said == (
        f"stream-llsvm: {folder} holds a run with another label ('y', not 'a'): name another "
        "folder, or put the label back as it was\n"
    )
    assert to.read_bytes() == whole
    assert told("run", "--from", data, "--label", "y", *more)["learned"] == 400


def test_what_is_said_of_columns_otherwise_is_told(tmp_path: Path, data: Path) -> None:
    folder = tmp_path / "kept"
    given = ["run", "--from", data, "--label", "y", "--checkpoints", folder, *SMALL]
    told(*given, "--ignore", "id,b", "--max-records", 100)
    same = run(*given, "--ignore", "b,id", "--max-records", 100)
    assert same.exit_code == 0 and "columns changed" not in same.stderr
    changed = ["--ignore", "id", "--field", "b=number"]
    result = run(*given, *changed, "--max-records", 100)
    assert result.exit_code == 0, result.output
    (said,) = [line for line in result.stderr.splitlines() if "columns changed" in line]
    assert "warning: columns changed: " in said
    assert "ignore: b,id before, now id; fields: none before, now b=number; what was" in said
    assert "columns changed" not in run(*given, *changed).stderr  # the last one is what counts
    assert newest(folder)["columns"] == {"label": "y", "ignore": ["id"], "fields": {"b": "number"}}


def test_a_checkpoint_that_does_not_say_what_was_said_goes_on(tmp_path: Path, data: Path) -> None:
    folder = tmp_path / "kept"
    given = arguments(data, "--checkpoints", folder)
    told(*given, "--max-records", 100)
    for path in folder.glob("checkpoint-*"):
        payload = read(path)
        del payload["columns"]
        write(path, payload)
    result = run(*given, "--ignore", "a")
    assert result.exit_code == 0 and "columns changed" not in result.stderr
    assert newest(folder)["columns"] == {"label": "y", "key": "id", "ignore": ["a"]}


def test_debug_shows_where_it_came_from(data: Path) -> None:
    result = run("--debug", "run", "--from", data, "--label", "none")
    assert result.exception is not None
    assert type(result.exception).__name__ == "MistakeError"


def test_how_a_model_works_may_change_and_what_it_is_may_not(tmp_path: Path, data: Path) -> None:
    given = [*arguments(data), "--checkpoints", tmp_path / "kept"]
    assert told(*given, "--max-records", 200)["learned"] == 200
    assert told(*given, "--option", "max_mb=50", "--max-records", 100)["learned"] == 300
    assert newest(tmp_path / "kept")["model"]["params"]["max_mb"] == 50
    assert "seed = 0, not 7" in refused(*given, "--option", "seed=7")
