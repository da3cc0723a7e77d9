"""Each exported learner through the engine: killed in the middle, it goes on to the bit."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import stream_llsvm

ROOT = Path(__file__).resolve().parents[2]
RECORDS, STUCK_AFTER = 900, 500
#: But for what only decides by one of them, which the engine does itself.
LEARNERS = sorted(
    {name for name in stream_llsvm.__all__ if name.endswith(("Classifier", "Regressor"))}
    - {"DecidingClassifier"}
)

#: Runs the learners named one after the other. With "stuck" each stays in the middle of its stream,
#: some way behind a checkpoint, until somebody kills the process.
RUN = """
import json, sys, threading, time
from pathlib import Path
from stream_llsvm.connectors import FileSink, FileSource
from stream_llsvm.engine import Checkpoints, Engine
from stream_llsvm.learners.registry import KEYED
from tests.digests import made

way, stuck_after, data, folder, *names = sys.argv[1:]


class Stuck(FileSink):
    results, reached = 0, None

    def write(self, results):
        super().write(results)
        self.results += len(results)
        if self.reached is not None and self.results >= int(stuck_after):
            self.reached.set()
            threading.Event().wait()


for name in names:
    own = Path(folder) / name
    own.mkdir(parents=True, exist_ok=True)
    sink = Stuck(own / "out.jsonl")
    label, other = ("number", "class") if name.endswith("Regressor") else ("class", "number")
    engine = Engine(
        FileSource([data], label=label, ignore=[other]),
        made(name, **({"key": "c"} if name == KEYED else {})), sink=sink,
        checkpoints=Checkpoints(own / "checkpoints"), every=0.0, max_batch=100,
        clock=lambda: 0.0,
    )
    if way == "stuck":
        sink.reached = threading.Event()
        threading.Thread(target=engine.run, daemon=True).start()
        assert sink.reached.wait(300)
        deadline = time.monotonic() + 300
        while engine.made.record == 0:  # they are written by a thread of their own
            assert time.monotonic() < deadline
            time.sleep(0.001)
        print("stuck", name, flush=True)
        continue
    begun = engine.position is not None
    report = engine.run()
    engine.model.save(own / "model.llsvm")
    scores = {key: report[key] for key in ("scores", "unscored", "drifts", "rejected")}
    (own / "scores.json").write_text(json.dumps(scores))
    print(name, "went on" if begun else "began", report["records"], flush=True)
print("all", flush=True)
if way == "stuck":
    threading.Event().wait()
"""


def begin(way: str, data: Path, folder: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", RUN, way, str(STUCK_AFTER), str(data), str(folder)]
    return subprocess.Popen([*command, *LEARNERS], stdout=subprocess.PIPE, text=True, cwd=ROOT)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run all of them undisturbed, and all of them killed and taken up again."""
    folder = tmp_path_factory.mktemp("runs")
    rng = np.random.default_rng(0)
    x = rng.normal(size=(RECORDS, 3)).round(3)
    y = (x[:, 0] * x[:, 1] > 0).astype(int) + (x[:, 2] > 1)
    numbers = np.where(np.arange(RECORDS) < 600, x[:, 0] * x[:, 1], 5 * x[:, 2]).round(3)
    columns = zip(x.tolist(), y.tolist(), numbers.astype(str).tolist(), strict=True)
    rows = [f"{a},{b},{c},{k},{z}" for (a, b, c), k, z in columns]
    rows[450] = "1,1,1,0,none at all"  # of two that were checkpointed before, and after
    rows[700] = "1,1,1,0,1e999"
    data = folder / "stream.csv"
    data.write_text("a,b,c,class,number\n" + "\n".join(rows) + "\n")
    quiet = begin("through", data, folder / "quiet")
    killed = begin("stuck", data, folder / "killed")
    try:
        assert killed.stdout is not None
        stuck = []
        while (line := killed.stdout.readline().strip()) not in ("", "all"):
            stuck.append(line)
    finally:
        killed.kill()
        killed.communicate()
    assert stuck == [f"stuck {name}" for name in LEARNERS]
    told = quiet.communicate()[0].splitlines()
    assert told == [*(f"{name} began {RECORDS}" for name in LEARNERS), "all"]
    told = begin("through", data, folder / "killed").communicate()[0].splitlines()
    assert told == [*(f"{name} went on {RECORDS}" for name in LEARNERS), "all"]
    return folder


@pytest.mark.parametrize("name", LEARNERS)
def test_a_killed_run_goes_on_to_the_bit(name: str, runs: Path) -> None:
    for file in ("model.llsvm", "out.jsonl", "scores.json"):
        quiet, killed = (runs / which / name / file for which in ("quiet", "killed"))
        assert quiet.stat().st_size > 0
        assert killed.read_bytes() == quiet.read_bytes(), file
