"""River's transformers in front of our models: texts, checkpoints, and what cannot be kept."""

from __future__ import annotations

import contextlib
import os
import random
import subprocess
import sys
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from river import base, compose, feature_extraction, linear_model, preprocessing, stats

from stream_llsvm import (
    Engine,
    LLSVMClassifier,
    LLSVMRegressor,
    ModelFileError,
    load_model,
    save_model,
)
from stream_llsvm.connectors import FileSource, ListSource
from stream_llsvm.engine import Checkpoints, EngineError
from stream_llsvm.learners.pipeline import learner_in, payload_of
from stream_llsvm.model.file import dumps

COUNTRIES = ("DE", "FR", "IT", "ES", "PL", "AT")


class Doubled(base.Transformer):
    """A class that this package does not know."""

    def __init__(self) -> None:
        self.seen = 0

    def learn_one(self, x: dict[Any, Any]) -> None:
        self.seen += 1

    def transform_one(self, x: dict[Any, Any]) -> dict[Any, Any]:
        return {name: 2 * value for name, value in x.items() if isinstance(value, float)}


def amounts(x: dict[str, Any]) -> dict[str, Any]:
    return {"amount": x["amount"]}


def data(folder: Path, n: int = 2_000) -> Path:
    """Write a stream whose label lies in the country, and in the amount by country."""
    rng = np.random.default_rng(0)
    lines = ["amount,country,note,fraud"]
    for _ in range(n):
        country, amount = COUNTRIES[rng.integers(6)], float(rng.exponential())
        fraud = country in ("IT", "PL") if rng.random() < 0.8 else amount > 2
        note = "" if rng.random() < 0.1 else f"paid in {country}"
        lines.append(f"{amount:.2f},{country},{note},{'yes' if fraud else 'no'}")
    path = folder / "stream.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def pipeline() -> Any:
    numbers = compose.Select("amount") | preprocessing.StandardScaler()
    by = feature_extraction.Agg("amount", by="country", how=stats.RollingQuantile(0.5, 20))
    target = compose.Select("country") | preprocessing.OneHotEncoder()
    return (numbers + by + target) | LLSVMClassifier(n_anchors=8, n_neighbors=2)


def run(path: Path, model: Any, folder: Path, most: int | None = None, **more: Any) -> Any:
    with ExitStack() as stack:
        source = stack.enter_context(closing(FileSource(path, label="fraud")))
        kept = stack.enter_context(closing(Checkpoints(folder)))
        more = {"trust_pickle": True} | more
        engine = Engine(source, model, checkpoints=kept, detector=None, max_batch=100, **more)
        engine.run(most)
    return engine


def learner(model: Any) -> bytes:
    """Return the bytes of the last step: those of pickled sets are others in each process."""
    return dumps(payload_of(learner_in(model)))


def test_a_pipeline_sees_texts_and_learns_them(tmp_path: Path) -> None:
    engine = run(data(tmp_path), pipeline(), tmp_path / "kept")
    report = engine.report()
    assert report["learned"] == 2_000
    assert not report["bad_fields"]
    assert report["scores"]["cumulative"]["accuracy"] > 0.75
    assert "country_PL" in engine.model["LLSVMClassifier"].features


def test_a_pipeline_goes_on_to_the_byte(tmp_path: Path) -> None:
    path = data(tmp_path)
    quiet = run(path, pipeline(), tmp_path / "quiet")
    for most in (300, 700, 450, None):
        engine = run(path, pipeline(), tmp_path / "kept", most)
    assert engine.report()["learned"] == 2_000
    assert learner(engine.model) == learner(quiet.model)


def test_what_is_missing_is_left_out_or_none_where_a_step_knows_none(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"a": 1.0 * (i % 5), "b": None if i % 3 else 2.0, "y": i % 5 > 2} for i in range(200)
    ]
    scaled = preprocessing.StandardScaler() | LLSVMClassifier()
    report = Engine(ListSource(rows, label="y"), scaled).run()
    assert report["learned"] == 200
    imputed = preprocessing.StatImputer(("b", stats.Mean())) | LLSVMClassifier()
    report = Engine(ListSource(rows, label="y"), imputed).run()
    assert report["learned"] == 200
    assert imputed["StatImputer"].stats["b"].get() == 2.0


def test_a_record_that_a_transformer_cannot_take_is_refused_and_counted() -> None:
    rows: list[dict[str, Any]] = [{"amount": 1.0 * (i % 9), "y": i % 9 > 4} for i in range(300)]
    del rows[7]["amount"]
    rows[8]["amount"] = "much"
    model = compose.FuncTransformer(amounts) | preprocessing.StandardScaler() | LLSVMClassifier()
    engine = Engine(ListSource(rows, label="y"), model)
    report = engine.run()
    assert report["learned"] == 298
    assert report["rejected"] == {"refused by the model": 2}
    first, second = (one.detail for one in engine.rejects.first)
    assert first == "KeyError: 'amount'"
    assert second.startswith("unsupported operand")


def test_records_are_the_same_after_a_transformer_renamed_them() -> None:
    rows: list[dict[str, Any]] = [{"a": 1.0 * (i % 9), "y": i % 9 > 4} for i in range(100)]
    model = compose.Renamer({"a": "b"}) | LLSVMClassifier()
    assert Engine(ListSource(rows, label="y"), model).run()["learned"] == 100
    assert model["LLSVMClassifier"].features == ("b",)


def test_steps_need_trust_to_be_written_and_to_be_read(tmp_path: Path) -> None:
    def model() -> Any:
        return compose.FuncTransformer(amounts) | Doubled() | LLSVMClassifier(n_anchors=4)

    path = data(tmp_path, 400)
    with pytest.raises(EngineError, match=r"the steps .* \(amounts, Doubled\) .*need no"):
        run(path, model(), tmp_path / "kept", trust_pickle=False)
    run(path, model(), tmp_path / "kept", 200)
    with pytest.raises(EngineError, match="checkpoints cannot hold this model"):
        run(path, model(), tmp_path / "kept", trust_pickle=False)
    # Also where the one that is given needs no trust itself.
    with pytest.raises(Exception, match=r"pickled parts, which can run any code.*--trust-pickle"):
        run(path, LLSVMClassifier(), tmp_path / "kept", trust_pickle=False)
    engine = run(path, model(), tmp_path / "kept")
    assert engine.report()["learned"] == engine.model["Doubled"].seen == 400
    save_model(engine.model, tmp_path / "model.llsvm", trust_pickle=True)
    read = load_model(tmp_path / "model.llsvm", trust_pickle=True)
    x = {"amount": 3.0, "country": "DE"}
    assert read.predict_proba_one(x) == engine.model.predict_proba_one(x)


def test_other_learners_of_river_need_trust_too(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"a": 1.0 * (i % 9), "y": i % 9 > 4} for i in range(300)]
    model = preprocessing.StandardScaler() | linear_model.LogisticRegression()
    with pytest.raises(EngineError, match="LogisticRegression is none of this package's learners"):
        Engine(ListSource(rows, label="y"), model, checkpoints=Checkpoints(tmp_path / "kept"))
    for most in (100, None):
        with closing(Checkpoints(tmp_path / "trusted")) as kept:
            model = preprocessing.StandardScaler() | linear_model.LogisticRegression()
            source = ListSource(rows, label="y")
            engine = Engine(source, model, checkpoints=kept, trust_pickle=True, detector=None)
            report = engine.run(most)
    assert report["learned"] == 300


def test_pickles_are_never_read_unless_trusted(tmp_path: Path) -> None:
    """A file that a stranger made must not run what is in it."""

    class Evil(base.Transformer):
        def __reduce__(self) -> Any:
            return os.mkdir, (str(tmp_path / "ran"),)

        def transform_one(self, x: dict[Any, Any]) -> dict[Any, Any]:
            return x

    save_model(Evil() | LLSVMClassifier(), tmp_path / "evil.llsvm", trust_pickle=True)
    with pytest.raises(ModelFileError, match=r"load_model\(path, trust_pickle=True\)"):
        load_model(tmp_path / "evil.llsvm")
    assert not (tmp_path / "ran").exists()
    with pytest.raises(ModelFileError):
        load_model(tmp_path / "evil.llsvm", trust_pickle=True)
    assert (tmp_path / "ran").exists()


def test_a_lambda_is_told_to_get_a_name(tmp_path: Path) -> None:
    model = compose.FuncTransformer(lambda x: x) | LLSVMClassifier()
    with pytest.raises(ValueError, match="define them with def in a module"):
        save_model(model, tmp_path / "model.llsvm", trust_pickle=True)


def test_a_pipeline_that_predicts_numbers_is_kept_and_run(tmp_path: Path) -> None:
    model = preprocessing.StandardScaler() | LLSVMRegressor()
    for i in range(50):
        model.learn_one({"a": float(i)}, 2.0 * i)
    save_model(model, tmp_path / "model.llsvm", trust_pickle=True)
    read = load_model(tmp_path / "model.llsvm", trust_pickle=True)
    assert read.predict_one({"a": 7.0}) == model.predict_one({"a": 7.0})
    report = Engine(ListSource([{"a": 7.0, "y": 14.0}], label="y"), read).run()
    off = abs(model.predict_one({"a": 7.0}) - 14.0)
    assert report["scores"]["cumulative"]["mae"] == pytest.approx(off)


def test_late_labels_teach_a_pipeline(tmp_path: Path) -> None:
    rows = [{"id": i, "country": COUNTRIES[i % 6]} for i in range(300)]
    labels = [{"id": i, "y": i % 6 in (2, 4)} for i in range(300)]
    model = compose.Select("country") | preprocessing.OneHotEncoder() | LLSVMClassifier()
    engine: Any = Engine(
        ListSource(rows, label="y", key="id"),
        model,
        labels=ListSource(labels, label="y", key="id"),
        max_batch=20,
    )
    report = engine.run()
    assert report["learned"] == report["waiting"]["matched"] == 300
    assert engine.model.predict_one({"country": "PL"}) is True


RUN = """
import sys
from pathlib import Path
from stream_llsvm import Engine
from stream_llsvm.connectors import FileSink, FileSource
from stream_llsvm.engine.checkpoints import Checkpoints
from stream_llsvm import save_model
from tests.engine.test_pipelines import pipeline

data, folder = Path(sys.argv[1]), Path(sys.argv[2])
print("begun", flush=True)
engine = Engine(
    FileSource([data], label="fraud"),
    pipeline(),
    sink=FileSink(folder / "out.jsonl"),
    checkpoints=Checkpoints(folder / "checkpoints"),
    every=0.05,
    max_batch=50,
    detector=None,
    clock=lambda: 0.0,
    trust_pickle=True,
)
report = engine.run()
save_model(engine.model["LLSVMClassifier"], folder / "model.llsvm")
print(report["records"], report["learned"])
"""


def begin(path: Path, folder: Path, seed: int) -> subprocess.Popen[str]:
    folder.mkdir(exist_ok=True)
    command = [sys.executable, "-c", RUN, str(path), str(folder)]
    environment = os.environ | {
        "PYTHONHASHSEED": str(seed), "PYTHONPATH": str(Path(__file__).parents[2]),
    }  # fmt: skip
    started = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    assert started.stdout is not None
    assert started.stdout.readline() == "begun\n"
    return started


def test_a_pipeline_that_is_killed_again_and_again_ends_the_same(tmp_path: Path) -> None:
    """Each process orders its sets in a way of its own, and may be killed at any moment."""
    path = data(tmp_path, 12_000)
    undisturbed = begin(path, tmp_path / "quiet", 0).communicate()[0]
    assert undisturbed == "12000 12000\n"
    chance, killed = random.Random(0), 0
    while True:
        process = begin(path, tmp_path / "killed", killed)
        if killed < 6:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(chance.uniform(0.1, 0.5))
            if process.returncode is None:
                process.kill()
                process.communicate()
                killed += 1
                continue
        assert process.communicate()[0] == undisturbed
        break
    assert killed == 6, "the stream was over too soon"
    for name in ("model.llsvm", "out.jsonl"):
        mine, other = (tmp_path / which / name for which in ("killed", "quiet"))
        assert mine.read_bytes() == other.read_bytes(), name
