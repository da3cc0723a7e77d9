"""``run --per-key``: by flags and from a pipeline file, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from stream_llsvm import KeyedClassifier, load_model
from tests.cli.support import refused, run, told


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("data") / "stream.csv"
    lines = ["customer,a,b,y"]
    for i in range(1_500):
        who, (a, b) = int(rng.integers(20)), rng.normal(size=2)
        key = "" if i == 700 else f"c{who}"
        lines.append(f"{key},{a:.3f},{b:.3f},{'yes' if (a > 0) == bool(who % 2) else 'no'}")
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_model_for_each_key(data: Path, tmp_path: Path) -> None:
    common = ["run", "--from", data, "--label", "y", "--key", "customer", "--model", "sapl"]
    out, kept = tmp_path / "model.llsvm", tmp_path / "kept"
    keyed = told(*common, "--per-key", "--save", out, "--checkpoints", kept)
    alike = told(*common)
    assert keyed["rejected"] == {"no key": 1} and keyed["learned"] == 1_499
    accuracy, without = (one["scores"]["cumulative"]["accuracy"] for one in (keyed, alike))
    assert accuracy > without + 0.2
    model = load_model(out)
    assert isinstance(model, KeyedClassifier) and model.key == "customer" and model.n_keys == 20
    predicted = told("predict", out, data, "--to", tmp_path / "p.jsonl", "--label", "y")
    assert predicted["rejected"] == 1 and predicted["accuracy"] > 0.85
    shown = run("inspect", kept).stdout
    assert "KeyedClassifier" in shown and "keys      20, by 'customer'" in shown
    options = told("inspect", out)["options"]
    assert (options["model"], options["key"]) == ("SAPLClassifier", "customer")
    assert "one model for all" in run(*common, "--checkpoints", kept).stderr


def test_a_pipeline_file_names_the_key(data: Path, tmp_path: Path) -> None:
    pipeline = tmp_path / "p.toml"
    out = tmp_path / "model.llsvm"
    pipeline.write_text(
        f'[source]\nfrom = "{data}"\nlabel = "y"\n'
        f'[model]\nclass = "sapl"\nkey = "customer"\nmax_keys = 15\nsave = "{out}"\n'
    )
    assert told("run", pipeline)["learned"] == 1_499
    model = load_model(out)
    assert model.key == "customer" and model.n_keys == 15 and "customer" not in model.features


def test_keys_are_spilled(data: Path, tmp_path: Path) -> None:
    out, all_of_them, kept = tmp_path / "m.llsvm", tmp_path / "all.llsvm", tmp_path / "kept"
    common = ["run", "--from", data, "--label", "y", "--key", "customer", "--model", "sapl",
              "--per-key"]  # fmt: skip
    few = [*common, "--max-keys", 5, "--checkpoints", kept]
    spilled = told(*few, "--spill", tmp_path / "spill", "--save", out)
    usual = told(*common, "--save", all_of_them)
    assert spilled["scores"] == usual["scores"]
    model = load_model(out, spill=tmp_path / "spill")
    assert model.n_keys == 20 and model.max_keys == 5
    assert told("inspect", out)["options"]["max_keys"] == 5
    predicted = [
        told("predict", one, data, "--to", tmp_path / "p.jsonl", "--label", "y")["accuracy"]
        for one in (out, all_of_them)
    ]
    assert predicted[0] == predicted[1]
    assert "spills keys: say to which folder" in run(*few).stderr
    (tmp_path / "file").touch()
    wrong = run(*few, "--spill", tmp_path / "file" / "below").stderr
    assert "keys cannot be spilled to" in wrong and len(wrong.strip().splitlines()) == 1


def test_evaluate_holds_keys_against_one_model(data: Path) -> None:
    common = ["evaluate", data, "--label", "y", "--models", "sapl", "--against", "majority"]
    rows = {row["model"]: row for row in told(*common, "--key", "customer")["models"]}
    assert list(rows) == ["sapl", "majority", "sapl-per-key"]
    assert rows["sapl-per-key"]["accuracy"] > rows["sapl"]["accuracy"] + 0.2


def test_what_makes_no_sense_is_refused(data: Path) -> None:
    common = ["run", "--from", data, "--label", "y"]
    assert "--per-key: whose a record is: name the column" in refused(*common, "--per-key")
    numbers = refused(*common, "--key", "customer", "--per-key", "--model", "llsvm-regressor")
    assert "learns numbers" in numbers
    assert "say --per-key" in refused(*common, "--max-keys", 3)
    assert "say --per-key" in refused(*common, "--spill", "somewhere")
    keyed = [*common, "--key", "customer", "--per-key"]
    assert "say how many are (--max-keys)" in refused(*keyed, "--spill", "somewhere")
    late = refused("run", "--from", data, "--labels", data, "--label", "y", "--key", "customer",
                   "--per-key")  # fmt: skip
    assert "joins late labels" in late and "[model] key" in late
