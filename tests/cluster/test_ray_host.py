"""Learners on Ray: killed at random moments, each record is learned once, and to the same bits.

``CLUSTER_KILLS=25`` kills each kind of process 25 times.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from stream_llsvm import KeyedClassifier, SAPLClassifier
from stream_llsvm.cluster import ClusterEngine
from stream_llsvm.cluster.ray_host import RayHost, token_file
from stream_llsvm.cluster.rounds import Setup
from stream_llsvm.connectors.list_source import ListSource
from stream_llsvm.engine.checkpoints import Checkpoints
from stream_llsvm.engine.resume import EngineError
from stream_llsvm.model.file import ModelFileError
from tests.cluster.one_run import engine_of, outcome
from tests.cluster.processes import descendants, kill, listening, wait_for
from tests.cluster.streams import records, seen_of

ray = pytest.importorskip("ray")
ROOT = Path(__file__).resolve().parents[2]
KILLS = int(os.environ.get("CLUSTER_KILLS", "1"))
N = 24_000  # so that on a fast machine, too, most rounds are still to come when something dies
#: Seconds; a machine on which others work may take long to start a cluster.
PATIENCE = 400
#: Rounds amid which something dies: in the first ones everything has still to come.
AMID = range(3, 6)
LOOPBACK = {"0100007F", "00000000000000000000000001000000", "0000000000000000FFFF00000100007F"}


class Cluster:
    """A cluster of Ray that this process has started, and how another one joins it."""

    def __init__(self) -> None:
        self.host = RayHost(Setup({}), "auto", 2)
        self.host.start(0)
        self.address: str = ray.get_runtime_context().gcs_address
        self.token = token_file()

    def joining(self) -> dict[str, str]:
        return {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(self.token)}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    made = Cluster()
    yield made
    made.host.close()


@pytest.fixture(scope="module")
def undisturbed() -> dict[str, Any]:
    """Return what comes out where nothing dies: learned in one process, one after the other."""
    engine = engine_of(None, "local", N)
    engine.run()
    return outcome(engine)


def test_what_ray_learns_is_what_one_process_learns(
    cluster: Cluster, undisturbed: dict[str, Any]
) -> None:
    engine = engine_of(None, "auto", N)
    engine.run()
    assert outcome(engine) == undisturbed
    assert engine.counts["restarts"] == engine.counts["repeated"] == 0
    # Each label's records were learned once.
    assert sum(map(sum, undisturbed["confusion"])) + 1 == N  # nothing is told of the first


@pytest.mark.parametrize("kill_number", range(KILLS))
def test_a_learner_is_killed(
    cluster: Cluster, undisturbed: dict[str, Any], kill_number: int
) -> None:
    chance = random.Random(kill_number)
    engine = engine_of(None, "auto", N)
    host = engine.host
    assert isinstance(host, RayHost)
    amid, rank, wait = chance.choice(AMID), chance.randrange(2), chance.uniform(0, 0.05)

    def strike() -> None:
        wait_for(lambda: engine.epoch >= amid)
        time.sleep(wait)  # so that any step of the round can be the moment
        kill(int(host._processes[rank].rpartition(":")[2]))

    killer = threading.Thread(target=strike)
    killer.start()
    engine.run()
    killer.join()
    assert outcome(engine) == undisturbed
    assert engine.counts["restarts"] == 1


def test_a_learner_of_keys_is_killed(cluster: Cluster, tmp_path: Path) -> None:
    """The one in its place reads what it knew of its keys, and learns what it had not written."""
    rows = [{**one, "who": f"k{one['id'] % 97}"} for one in records(N)]
    model = KeyedClassifier(SAPLClassifier(), "who")
    engines = []
    for folder in ("local", "auto"):
        kept = Checkpoints(tmp_path / folder)
        engines.append(
            ClusterEngine(
                ListSource(rows, label="y"), model.clone(), workers=2, cluster=folder,
                checkpoints=kept, slice=1_000,
            )
        )  # fmt: skip
    undisturbed, engine = engines
    undisturbed.run()
    host = engine.host
    assert isinstance(host, RayHost)

    def strike() -> None:
        wait_for(lambda: engine.epoch >= AMID.start)
        kill(int(host._processes[1].rpartition(":")[2]))

    killer = threading.Thread(target=strike)
    killer.start()
    engine.run()
    killer.join()
    assert engine.counts["restarts"] == 1
    assert seen_of(engine.model) == seen_of(undisturbed.model)
    assert {engine.model.records_of(f"k{i}") for i in range(97)} == {N // 97, N // 97 + 1}


def begun(folder: Path) -> int:
    try:
        return int((folder / "rounds-begun").read_text())
    except (OSError, ValueError):
        return 0


def run(folder: Path, address: str, env: dict[str, str]) -> subprocess.Popen[str]:
    script = ROOT / "tests" / "cluster" / "one_run.py"
    return subprocess.Popen(
        [sys.executable, str(script), str(folder), address, str(N)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)} | env,
    )


def killed_and_run_again(
    folder: Path, address: str, env: dict[str, str], seed: int, strike: Callable[[int], None]
) -> dict[str, Any]:
    """Return what comes out of a run that is killed amid, and of the one that goes on."""
    chance = random.Random(seed)
    amid, wait = chance.choice(AMID), chance.uniform(0, 0.05)
    first = run(folder, address, env)
    wait_for(lambda: begun(folder) > amid or first.poll() is not None)
    time.sleep(wait)
    strike(first.pid)
    said = first.communicate(timeout=PATIENCE)
    assert first.returncode != 0, said
    second = run(folder, address, env)
    said = second.communicate(timeout=PATIENCE)
    assert second.returncode == 0, said[1]
    told: dict[str, Any] = json.loads(said[0])
    return told


def as_json(told: dict[str, Any]) -> dict[str, Any]:
    copy: dict[str, Any] = json.loads(json.dumps(told))
    return copy


@pytest.mark.parametrize("kill_number", range(KILLS))
def test_the_coordinator_is_killed(
    cluster: Cluster, undisturbed: dict[str, Any], tmp_path: Path, kill_number: int
) -> None:
    told = killed_and_run_again(
        tmp_path / "kept", cluster.address, cluster.joining(), kill_number, kill
    )
    assert told.pop("repeated") >= 1
    assert told == as_json(undisturbed)


def raylet_of(pid: int) -> None:
    (raylet,) = [one for one, said in descendants(pid).items() if "/raylet/raylet" in said]
    kill(raylet)


def all_of(pid: int) -> None:
    for one in [pid, *descendants(pid)]:
        kill(one)


@pytest.mark.parametrize("strike", [raylet_of, all_of])
@pytest.mark.parametrize("kill_number", range(KILLS))
def test_the_cluster_is_killed(
    undisturbed: dict[str, Any],
    tmp_path: Path,
    kill_number: int,
    strike: Callable[[int], None],
) -> None:
    told = killed_and_run_again(tmp_path / "kept", "auto", {}, kill_number, strike)
    assert told.pop("repeated") >= 1
    assert told == as_json(undisturbed)


def test_only_this_machine_can_reach_it(cluster: Cluster) -> None:
    engine = engine_of(None, "auto", 3_000)
    seen: set[tuple[int, str]] = set()

    class Watching:
        def on_start(self, engine: Any) -> None: ...
        def on_end(self, engine: Any, error: Any) -> None: ...
        def on_turn(self, engine: Any) -> None:
            seen.update(listening({os.getpid(), *descendants(os.getpid())}))

    engine.watchers.append(Watching())  # type: ignore[arg-type]
    engine.run()
    assert len({pid for pid, _ in seen}) > 3  # the raylet, learners, and this one
    assert {address for _, address in seen} <= LOOPBACK


def test_a_token_is_asked_for(cluster: Cluster, tmp_path: Path) -> None:
    assert cluster.token.stat().st_mode & 0o777 == 0o600
    wrong = tmp_path / "token"
    wrong.write_text("0" * 64)
    stranger = run(
        tmp_path / "kept",
        cluster.address,
        {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(wrong)},
    )
    said = stranger.communicate(timeout=PATIENCE)
    assert stranger.returncode != 0
    assert "no cluster at" in said[1], said[1]


def test_what_a_learner_raises_is_raised_here(cluster: Cluster) -> None:
    host = RayHost(Setup({"list": {"records": [], "label": "y"}}), "auto", 2)
    host.start(1)
    with pytest.raises(ModelFileError, match="the file holds no model"):
        host.call(0, "learn", b"\x80", None).result()
    host.close()


def test_more_learners_than_processors_are_refused(cluster: Cluster) -> None:
    with pytest.raises(EngineError, match="3 learners need a processor each"):
        RayHost(Setup({}), "auto", 3).start(3)


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("moon", 'cluster is "auto", "local" or host:port, as head:6379'),
        ("ray://10.1.2.3:10001", "can be reached by others.*RAY_AUTH_MODE=token"),
        ("somewhere:6379", "can be reached by others"),
    ],
)
def test_addresses_that_are_refused(
    address: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RAY_AUTH_MODE", raising=False)
    with pytest.raises(ValueError, match=why):
        RayHost(Setup({}), address, 2)
