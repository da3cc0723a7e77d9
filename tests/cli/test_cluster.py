"""``run --workers``: stopped or killed, each record is learned once, and predicted once."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from stream_llsvm import load_model
from tests.cli.support import csv_file, lines, newest, refused, run, started, told, wait_for
from tests.cli.test_signals import ended
from tests.cluster.processes import descendants, kill

#: How often everything is killed.
TIMES = int(os.environ.get("CLUSTER_TIMES", "2"))
RECORDS = 12_000


def arguments(data: Path, to: Path, *more: Any, workers: int = 2) -> list[Any]:
    columns = ["--label", "y", "--ignore", "id", "--model", "sapl"]
    of_cluster = ["--workers", workers, "--slice", 1_000]
    return ["run", "--from", data, *columns, *of_cluster, "--to", to, *more]


def places(to: Path) -> list[int]:
    return [one["offset"] for one in lines(to.read_text())]


def test_predictions_are_those_of_all_learners_in_order(tmp_path: Path) -> None:
    data, to, letters = csv_file(tmp_path / "a.csv", 5_000), tmp_path / "o", tmp_path / "l"
    with data.open("a") as file:
        file.write("bad\n" * 3)
    more = ["--cluster", "local", "--dead-letters", letters, "--probabilities", "all"]
    report = told(*arguments(data, to, *more))
    assert report["learned"] == report["predicted"] == 5_000
    assert report["cluster"]["rounds"] == 5 and report["cluster"]["learners"] == 1
    found = lines(to.read_text())
    assert [one["offset"] for one in found] == list(range(2, 5_002))
    assert [one["records_learned"] for one in found[1_990:2_010]] == list(range(1_990, 2_010))
    assert found[3_000]["records_learned"] == 2_000  # where the second learner began
    assert set(found[-1]["probabilities"]) == {"up", "down"}
    assert [one["offset"] for one in lines(letters.read_text())] == [5_002, 5_003, 5_004]
    assert report["rejected"] == {"wrong number of fields": 3}


def test_of_a_model_for_each_key_they_are_in_order_too(tmp_path: Path) -> None:
    data, to, folder = tmp_path / "a.csv", tmp_path / "o", tmp_path / "kept"
    lines_of = csv_file(data, 4_000).read_text().splitlines()
    keyed = [f"{line},{'key' if i == 0 else i % 7}\n" for i, line in enumerate(lines_of)]
    data.write_text("".join(keyed))
    report = told(
        *("run", "--from", data, "--label", "y", "--ignore", "id", "--model", "sapl"),
        *("--key", "key", "--per-key", "--workers", 2, "--slice", 500, "--cluster", "local"),
        *("--to", to, "--checkpoints", folder),
    )
    assert report["learned"] == 4_000 and report["cluster"]["keys"] == 7
    found = lines(to.read_text())
    assert [one["offset"] for one in found] == list(range(2, 4_002))
    assert [int(one["key"]) for one in found] == [i % 7 for i in range(1, 4_001)]


@pytest.mark.parametrize("between", [1, "auto"])
def test_one_learner_goes_on_where_several_stopped_and_they_where_it_did(
    tmp_path: Path, between: Any
) -> None:
    data, to, folder = csv_file(tmp_path / "a.csv", 6_000), tmp_path / "o", tmp_path / "kept"
    kept = ["--cluster", "local", "--checkpoints", folder]
    told(*arguments(data, to, *kept, "--max-records", 3_000))
    some = arguments(data, to, *kept, "--max-records", 500, workers=between)
    assert told(*some)["learned"] == 3_500
    assert told(*arguments(data, to, *kept))["learned"] == 6_000
    assert places(to) == list(range(2, 6_002))


@pytest.mark.parametrize("between", [1, None, "auto"])
def test_keys_come_along_when_the_workers_change(tmp_path: Path, between: Any) -> None:
    """Each key's records are learned once, by several, by one, and by several again."""
    data, to, folder = csv_file(tmp_path / "a.csv", 6_000), tmp_path / "o", tmp_path / "kept"
    text = data.read_text().splitlines()
    data.write_text(
        "".join(f"{line},{'key' if i == 0 else i % 7}\n" for i, line in enumerate(text))
    )
    command = ["run", "--from", data, "--label", "y", "--ignore", "id", "--model", "sapl",
           "--key", "key", "--per-key", "--to", to, "--checkpoints", folder]  # fmt: skip
    several, saved = ["--workers", 2, "--slice", 500, "--cluster", "local"], tmp_path / "m"
    told(*command, *several, "--max-records", 3_000)
    one = [] if between is None else ["--workers", between, "--cluster", "local", "--slice", 500]
    told(*command, *one, "--max-records", 500)
    report = told(*command, *several, "--save", saved)
    assert report["records"] == report["learned"] == 6_000
    assert report["cluster"]["keys"] == 7
    assert places(to) == list(range(2, 6_002))
    model = load_model(saved)
    counts = Counter(i % 7 for i in range(1, 6_001))
    assert {key: model.records_of(key) for key in range(7)} == counts


def test_what_several_know_of_keys_can_be_looked_at_and_gone_back_to(tmp_path: Path) -> None:
    data, folder = csv_file(tmp_path / "a.csv", 3_000), tmp_path / "kept"
    columns = ["--label", "y", "--model", "sapl", "--key", "id", "--per-key"]
    told("run", "--from", data, *columns, "--workers", 2, "--slice", 500, "--cluster", "local",
         "--checkpoints", folder)  # fmt: skip
    assert "3,000, by 'id'" in run("inspect", folder).stdout
    predicted = run("predict", folder, data, "--label", "y", "--to", tmp_path / "o")
    assert "3,000 predicted, 0 rejected" in predicted.stdout + predicted.stderr
    number = newest(folder)["cluster"]["epoch"]
    back = max(int(path.name[11:21]) for path in folder.glob("checkpoint-*")) - 1
    gone_back = run("rollback", "--checkpoints", folder, "--to", back, "--replay")
    assert gone_back.exit_code == 0, gone_back.output
    assert newest(folder)["cluster"]["epoch"] < number
    report = told("run", "--from", data, *columns, "--checkpoints", folder)
    assert report["learned"] == 3_000


def test_what_was_written_and_is_in_no_manifest_is_taken_back(tmp_path: Path) -> None:
    data, to, folder = csv_file(tmp_path / "a.csv", 4_000), tmp_path / "o", tmp_path / "kept"
    kept = ["--cluster", "local", "--checkpoints", folder]
    told(*arguments(data, to, *kept, "--max-records", 2_000))
    with to.open("a") as file:
        file.write(to.read_text()[:20_000])
    told(*arguments(data, to, *kept))
    assert places(to) == list(range(2, 4_002))


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_signal_ends_it_with_a_commit(tmp_path: Path, number: signal.Signals, code: int) -> None:
    pytest.importorskip("ray", reason="comes with the extra 'test'")
    data, to, folder = csv_file(tmp_path / "a.csv", 200_000), tmp_path / "o", tmp_path / "kept"
    process = started(*arguments(data, to, "--checkpoints", folder, "--json"))
    try:
        wait_for(lambda: process.poll() is not None or (to.exists() and to.stat().st_size > 10**6))
        begun = set(descendants(process.pid))
    finally:
        process.send_signal(number)
    status, out, err = ended(process)
    assert status == code, err
    report = json.loads(out)
    assert report["stopped_by"] == number.name
    assert 2_000 < report["learned"] < 200_000, "it was over before it was stopped"
    assert newest(folder)["progress"]["counts"]["learned"] == report["learned"]
    assert places(to) == list(range(2, report["learned"] + 2))
    assert begun
    wait_for(lambda: not any(Path(f"/proc/{one}").exists() for one in begun))


def test_all_is_killed_and_each_record_is_learned_once(tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="comes with the extra 'test'")
    data, to, folder = csv_file(tmp_path / "a.csv", RECORDS), tmp_path / "o", tmp_path / "kept"
    model, alone, chance = tmp_path / "m", tmp_path / "alone", random.Random(7)
    for _ in range(TIMES):
        before = len(list(folder.glob("checkpoint-*"))) and newest(folder)["cluster"]["epoch"]
        process = started(*arguments(data, to, "--checkpoints", folder))
        wait_for(
            lambda process=process, before=before: process.poll() is not None  # type: ignore[misc]
            or (folder.exists() and list(folder.glob("checkpoint-*"))
                and newest(folder)["cluster"]["epoch"] > before)
        )  # fmt: skip
        time.sleep(chance.random() * 0.2)  # any moment of a round
        everybody = [process.pid, *descendants(process.pid)]
        for one in everybody:
            kill(one)
        process.communicate()
    report = told(*arguments(data, to, "--checkpoints", folder, "--save", model))
    assert report["records"] == report["learned"] == RECORDS
    assert places(to) == list(range(2, RECORDS + 2))
    told(*arguments(data, tmp_path / "other", "--cluster", "local", "--save", alone))
    assert model.read_bytes() == alone.read_bytes()


BY_KEY = ["--workers", 2, "--cluster", "local", "--key", "id", "--per-key", "--model", "sapl"]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--workers", "none"], 'workers is a whole number from 1 up, or "auto"'),
        (["--workers", 0], 'workers is a whole number from 1 up, or "auto"'),
        (["--workers", 40, "--cluster", "local"], "above 16 nobody has measured how much"),
        (["--workers", 2, "--cluster", "moon"], 'cluster is "auto", "local" or host:port'),
        (["--workers", 2, "--cluster", "ray://10.0.0.1:10001"], "RAY_AUTH_MODE=token"),
        (["--workers", 2, "--standby"], "a run that has a standby has one learner"),
        (["--workers", 2, "--slices", "a"], "slices are scored by one learner"),
        (["--workers", 2, "--follow", "--cluster", "local"], "leave out --follow, or the workers"),
        (["--workers", 2, "--model", "LocalSVMClassifier"], "cannot be"),
        (["--slice", 100], "--slice: give --workers, too"),
        (["--workers", 2, "--challenger", "sapl"], "challengers learn beside one learner"),
        (["--workers", 2, "--max-batch", 10], "--max-batch: several learners take a slice at once"),
        (["--workers", 2, "--reference", "a.csv"], "--reference: the fields are watched by one"),
        (["--workers", 2, "--costs", "up:down=2"], "--costs: decisions are made by one learner"),
        (["--workers", 2, "--hold", "up:recall=0.8"], "--hold: decisions are made by one learner"),
        (["--workers", 2, "--coverage", 0.9], "--coverage: decisions are made by one learner"),
        (["--workers", 2, "--class-weight", "balanced"], "--class-weight: classes are weighed by"),
        ([*BY_KEY, "--max-keys", 9], "--max-keys: several learners keep all keys: leave it out"),
        ([*BY_KEY, "--publish", "p"], "--publish: one learner publishes a model for each key"),
        (BY_KEY, "give checkpoints, a folder that all of them see"),
    ],
)
def test_refusals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: list[Any], said: str
) -> None:
    monkeypatch.delenv("RAY_AUTH_MODE", raising=False)
    data = csv_file(tmp_path / "a.csv", 10)
    kept = ["--checkpoints", tmp_path / "kept"] if "--standby" in more else []
    text = refused("run", "--from", data, "--label", "y", *kept, *more)
    assert said in text and text.count("\n") == 1


def test_what_several_do_not_heed_is_refused_in_a_pipeline_too(tmp_path: Path) -> None:
    data, pipeline = csv_file(tmp_path / "a.csv", 10), tmp_path / "p.toml"
    pipeline.write_text(
        f"""
[source]
from = "{data}"
label = "y"
key = "id"
max_wait = "1 s"
order = "time"
time = "x"
[model]
per_key = true
[input]
watch = true
[cluster]
workers = 2
audit = 0.5
newest = 3
"""
    )
    text = refused("run", pipeline).replace(str(pipeline), "p.toml")
    assert [line.partition(": leave it out")[0] for line in text.splitlines()] == [
        "p.toml:6: [source] max_wait: several learners wait for every partition, however long",
        "p.toml:12: [input] watch: the fields are watched by one learner",
        "p.toml:15: [cluster] audit: it is for one model that several learn, not for one by key",
        "p.toml:16: [cluster] newest: it is for one model that several learn, not for one by key",
    ]


def test_it_is_said_if_no_record_has_a_label_and_what_columns_were_taken_for(
    tmp_path: Path,
) -> None:
    data, to = tmp_path / "a.csv", tmp_path / "o"
    data.write_text("x,city,y\n" + "".join(f"{i},{'ab'[i % 2]},\n" for i in range(1_200)))
    flags = ["--label", "y", "--model", "sapl", "--workers", 2, "--cluster", "local", "--json"]
    code, out, err = ended(started("run", "--from", data, *flags, "--to", to))
    assert code == 0, err
    assert "no labels: none of the first 1,200 records has one" in err
    assert "The features are x, city" in err
    columns = json.loads(out)["columns"]
    assert columns["x"]["counts"] == {"number": 1_200}
    assert columns["city"] == {"kind": "name", "counts": {"name": 1_200}, "distinct": 2}


def test_what_a_run_of_one_was_is_taken_over_or_refused(tmp_path: Path) -> None:
    data, folder = csv_file(tmp_path / "a.csv", 3_000), tmp_path / "kept"
    one = ["run", "--from", data, "--label", "y", "--model", "sapl", "--checkpoints", folder]
    several = [*one, "--workers", 2, "--cluster", "local", "--slice", 500]
    told(*one, "--challenger", "llsvm", "--max-records", 1_000)
    text = refused(*several)
    assert "holds a run with challengers (llsvm), which learn beside one learner" in text
    folder = tmp_path / "other"
    several[several.index("--checkpoints") + 1] = one[-1] = folder
    told(*one, "--ignore", "id", "--max-records", 1_000)
    code, _, err = ended(started(*several))
    assert code == 0
    assert "columns changed: ignore: id before, now none" in err


def test_late_labels_have_one_learner(tmp_path: Path) -> None:
    data = csv_file(tmp_path / "a.csv", 10)
    labels = ["--labels", data, "--key", "id", "--label", "y"]
    text = refused("run", "--from", data, *labels, "--workers", 2)
    assert "labels of their own stream are joined by one learner" in text


def test_a_compressed_file_is_refused(tmp_path: Path) -> None:
    import gzip

    data = tmp_path / "a.csv.gz"
    data.write_bytes(gzip.compress(csv_file(tmp_path / "a.csv", 10).read_bytes()))
    text = refused("run", "--from", data, "--label", "y", "--workers", 2, "--cluster", "local")
    assert "gunzip --keep" in text and text.count("\n") == 1
