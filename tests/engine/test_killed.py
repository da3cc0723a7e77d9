"""kill -9 at random moments: all that was learned and written is as if nobody had disturbed it."""

from __future__ import annotations

import contextlib
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

RECORDS = 500_000
KILLS = {"for all": 25, "for each key": 10, "for each key, spilled": 5}

RUN = """
import sys
from pathlib import Path
from stream_llsvm import Engine, KeyedClassifier, LLSVMClassifier
from stream_llsvm.connectors import FileDeadLetters, FileSink
from stream_llsvm.connectors import FileSource
from stream_llsvm.engine.checkpoints import Checkpoints

data, folder, which = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
model = LLSVMClassifier(n_anchors=10, n_neighbors=3, step_size=1.0)
if which == "for each key":  # of which there are some six thousand
    model = KeyedClassifier(model, key="c", max_keys=3_000)
elif which == "for each key, spilled":
    model = KeyedClassifier(model, key="c", max_keys=2_000, spill=folder / "spill")
print("begun", flush=True)
engine = Engine(
    FileSource([data], label="y"),
    model,
    sink=FileSink(folder / "out.jsonl"),
    dead_letters=FileDeadLetters(folder / "dead.jsonl"),
    checkpoints=Checkpoints(folder / "checkpoints"),
    every=0.05,
    detector=None,
    clock=lambda: 0.0,  # what is written holds the time
)
report = engine.run()
engine.model.save(folder / "model.llsvm")
print(report["records"], report["learned"], sum(report["rejected"].values()))
"""


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a CSV file with one record in a thousand broken."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(RECORDS, 3)).round(3)
    y = (x[:, 0] * x[:, 1] > 0).astype(int)
    rows = [f"{a},{b},{c},{k}" for (a, b, c), k in zip(x.tolist(), y.tolist(), strict=True)]
    rows[::1_000] = [f"{row},too,many" for row in rows[::1_000]]
    path = tmp_path_factory.mktemp("data") / "stream.csv"
    path.write_text("a,b,c,y\n" + "\n".join(rows) + "\n")
    return path


def begin(data: Path, folder: Path, which: str) -> subprocess.Popen[str]:
    folder.mkdir(exist_ok=True)
    command = [sys.executable, "-c", RUN, str(data), str(folder), which]
    run = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert run.stdout is not None
    assert run.stdout.readline() == "begun\n"
    return run


@pytest.mark.parametrize("which", KILLS)
def test_nothing_is_lost_or_learned_twice(data: Path, tmp_path: Path, which: str) -> None:
    quiet = begin(data, tmp_path / "quiet", which)
    undisturbed = quiet.communicate()[0]
    assert undisturbed == f"{RECORDS} {RECORDS - 500} 500\n"
    chance, killed = random.Random(0), 0
    while True:
        run = begin(data, tmp_path / "killed", which)
        if killed < KILLS[which]:
            with contextlib.suppress(subprocess.TimeoutExpired):
                run.wait(chance.uniform(0.0, 0.4))
            if run.returncode is None:
                run.kill()
                killed += 1
                run.communicate()
                continue
        assert run.communicate()[0] == undisturbed
        break
    assert killed == KILLS[which], "the stream was over too soon"
    for name in ("model.llsvm", "out.jsonl", "dead.jsonl"):
        mine, other = (tmp_path / which / name for which in ("killed", "quiet"))
        assert mine.read_bytes() == other.read_bytes(), name
