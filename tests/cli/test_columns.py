"""What columns were taken for, as people are told."""

from __future__ import annotations

import json
from pathlib import Path

from stream_llsvm.cli.columns import doubts, lines
from stream_llsvm.engine.census import Taken
from tests.cli.support import refused, run, told

SMALL = ["--model", "llsvm", "--option", "n_anchors=9", "--option", "n_neighbors=4"]

SMALL_MODEL = '[model]\nclass = "llsvm"\nn_anchors = 9\nn_neighbors = 4\n'


def shop(path: Path, n: int = 120) -> Path:
    path.write_text(
        "id,user,country,price,when,note,y\n"
        + "".join(
            f"r{i},u{i % 40},{'DE' if i % 3 else 'FR'},{i / 7:.2f},2026-01-{i % 28 + 1:02}T10:00,"
            f"{'free' if i % 9 else 'call me now'},{'up' if i % 2 else 'down'}\n"
            for i in range(n)
        )
    )
    return path


def test_a_file_with_text_is_evaluated_as_it_is(tmp_path: Path) -> None:
    data = shop(tmp_path / "shop.csv")
    result = run("evaluate", data, "--label", "y", "--models", "lcc", "--ignore", "note")
    assert result.exit_code == 0, result.output
    above = result.stdout.partition("┏")[0].splitlines()
    assert above[:4] == [
        "numbers   price",
        "names     id (120), user (40), country (2)",
        "times     when",
        "ignored   note",
    ]
    assert "column 'id' has another name in each record, which says nothing: --ignore id" in (
        result.stderr
    )
    report = told("evaluate", data, "--label", "y", "--models", "lcc", "--field", "user=ignore")
    assert report["columns"]["note"]["counts"] == {"name": 106, "text": 14}
    assert "user" not in report["columns"]


def test_a_run_tells_of_its_columns_and_so_does_inspect(tmp_path: Path) -> None:
    data, kept = shop(tmp_path / "shop.csv"), tmp_path / "kept"
    wanted = "names     user (40), country (2), note (2)"
    pipeline = tmp_path / "p.toml"
    pipeline.write_text(
        f'[source]\nfrom = "{data}"\nlabel = "y"\n[fields]\nid = "ignore"\nnote = "name"\n'
        f'[checkpoints]\nfolder = "{kept}"\n[model]\nclass = "llsvm"\nn_anchors = 9\n'
        "n_neighbors = 4\n"
    )
    result = run("run", pipeline)
    assert result.exit_code == 0, result.output
    assert wanted in result.stdout.splitlines()
    assert wanted in run("inspect", kept).stdout.splitlines()
    columns = told("inspect", kept)["columns"]
    assert columns["when"] == {"kind": "time", "counts": {"time": 120}, "distinct": 0}


def test_changes_are_unwrapped(tmp_path: Path) -> None:
    data = tmp_path / "changes.jsonl"
    changes = [{"after": {"a": i, "city": f"c{i % 3}", "y": i % 2}} for i in range(60)]
    data.write_text("".join(json.dumps(one) + "\n" for one in [*changes, {"after": None}]))
    given = ["evaluate", data, "--label", "y", "--unwrap", "after", "--models", "lcc"]
    shown = run(*given).stdout
    assert shown.startswith("numbers   a\nnames     city (3)\n")
    assert "60 records, 2 classes, 1 delete" in " ".join(shown.split())
    assert "There are a, city, y" in refused(*given[:3], "z", *given[4:])


def test_an_object_is_left_out_or_chosen_as_a_whole(tmp_path: Path) -> None:
    data = tmp_path / "nested.jsonl"
    inside = [{"amount": i / 7, "from": {"country": f"c{i % 3}"}} for i in range(60)]
    records = [{"a": i % 5, "payload": one, "y": i % 2} for i, one in enumerate(inside)]
    data.write_text("".join(json.dumps(one) + "\n" for one in records))
    given = ["evaluate", data, "--label", "y", "--models", "lcc"]
    whole = {"a", "payload.amount", "payload.from.country"}
    assert set(told(*given)["columns"]) == whole
    for flag, value, left in [
        ("--ignore", "payload", {"a"}),
        ("--ignore", "payload.from", {"a", "payload.amount"}),
        ("--field", "payload=ignore", {"a"}),
        ("--features", "payload", whole - {"a"}),
    ]:
        assert set(told(*given, flag, value)["columns"]) == left
    assert "did you mean 'payload'?" in refused(*given, "--ignore", "payloda")
    flat = tmp_path / "flat.csv"  # whose names only look like those of an object's fields
    flat.write_text("payload.amount,y\n" + "1,a\n" * 9)
    given[1] = flat
    assert "there is no column 'payload' (to ignore payload)" in refused(
        *given, "--ignore", "payload"
    )


def test_what_is_said_of_a_column_that_is_not_there_is_refused(tmp_path: Path) -> None:
    data = shop(tmp_path / "shop.csv")
    given = ["run", "--from", data, "--label", "y"]
    for kind in ("name", "ignore"):
        said = refused(*given, "--field", f"usr={kind}")
        assert "there is no column 'usr' (" in said and "did you mean 'user'?" in said
    pipeline = tmp_path / "p.toml"
    pipeline.write_text(f'[source]\nfrom = "{data}"\nlabel = "y"\n[fields]\nprise = "number"\n')
    assert "'prise' (prise=number): did you mean 'price'?" in refused("run", pipeline)


def test_what_columns_are_in_a_pipeline_file(tmp_path: Path) -> None:
    data, pipeline = shop(tmp_path / "shop.csv"), tmp_path / "p.toml"
    text = f'[fields]\nuser = "nam"\nprice = 7\n[source]\nfrom = "{data}"\nlabel = "y"\n'
    pipeline.write_text(text)
    first, second = refused("run", pipeline).splitlines()
    assert "p.toml:2: [fields] user: user must be one of 'name', 'number', 'time'" in first
    assert "p.toml:3: [fields] price: price must be one of" in second
    pipeline.write_text(
        text.replace('"nam"', '"number"').replace("price = 7", 'price = "name"') + SMALL_MODEL
    )
    columns = told("run", pipeline, "--field", "user=name,id=ignore")["columns"]
    assert (columns["user"]["kind"], columns["price"]["kind"]) == ("name", "name")
    assert "id" not in columns  # what flags say goes before the file


def test_a_model_of_names_predicts_a_file(tmp_path: Path) -> None:
    data, saved = shop(tmp_path / "shop.csv", 300), tmp_path / "m.llsvm"
    given = ["--label", "y", "--field", "id=ignore,note=text"]
    assert told("run", "--from", data, *given, "--save", saved, *SMALL)["learned"] == 300
    result = run("predict", saved, data, *given, "--to", tmp_path / "out.jsonl")
    assert result.exit_code == 0 and "300 predicted, 0 rejected" in result.stderr
    assert "does not have" not in result.stderr


def test_a_run_asks_about_columns_once(tmp_path: Path) -> None:
    data = tmp_path / "german.csv"
    data.write_text("a;b;y\n" + "".join(f"{i},5;1;{i % 2}\n" for i in range(1_500)))
    given = ["run", "--from", data, "--label", "y", "--delimiter", ";", *SMALL]
    asked = "column 'a' holds names such as '0,5': if they are numbers, --decimal ,"
    assert run(*given).stderr.count(asked) == 1
    assert asked not in run(*given, "--decimal", ",").stderr
    assert asked not in run(*given, "--field", "a=name").stderr
    evaluated = ["evaluate", data, *given[3:7], "--models", "lcc"]
    assert asked in run(*evaluated).stderr
    assert asked not in run(*evaluated, "--field", "a=name").stderr


def test_how_many_names_there_are_is_about_if_there_are_many(tmp_path: Path) -> None:
    data = tmp_path / "many.csv"
    rows = "".join(f"u{i},c{i % 200},{i % 2}\n" for i in range(2_000))
    data.write_text("user,city,y\n" + rows)
    kept = tmp_path / "kept"
    given = ["--label", "y", "--checkpoints", kept, *SMALL]
    shown = [
        run("run", "--from", data, *given).stdout,
        run("inspect", kept).stdout,
        run("evaluate", data, "--label", "y", "--models", "lcc").stdout,
    ]
    for text in shown:
        names = next(line for line in text.splitlines() if line.startswith("names"))
        assert names.startswith("names     user (~") and names.endswith("), city (200)")
        assert int(names.split("~")[1].split(")")[0].replace(",", "")) <= 2_000


def test_kinds_that_mix_and_many_columns() -> None:
    fields = {f"f{i}": Taken({"number": 9}) for i in range(50)}
    fields["zip"] = Taken({"number": 60, "name": 30, "missing": 900}, 12)
    shown = lines(fields | {"empty": Taken({"missing": 3})})
    assert shown[0].startswith("numbers   f0, f1, ") and shown[-1] == "empty     empty"
    assert "and 27 more" in shown[-2]
    assert lines({"zip": fields["zip"]}) == ["numbers   zip (33% names)"]
    assert all(len(line) <= 96 for line in shown)


def test_what_may_not_have_been_meant() -> None:
    fields = {
        "price": Taken({"name": 100}, 90, "1,5"),
        "id": Taken({"name": 100}, 99, "r1"),
        "few": Taken({"name": 9}, 9, "r1"),
        "city": Taken({"name": 100}, 7, "Oslo"),
    }
    assert list(doubts(fields)) == [
        "column 'price' holds names such as '1,5': if they are numbers, --decimal ,",
        "column 'id' has another name in each record, which says nothing: --ignore id",
    ]
