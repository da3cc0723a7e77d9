"""A server as a process of its own, and what asks it."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx
import orjson

from stream_llsvm import Engine, LLSVMClassifier
from stream_llsvm.connectors.log.segments import LABEL, entries, segments
from stream_llsvm.connectors.log.source import LogSource
from stream_llsvm.connectors.log.writer import LogWriter
from stream_llsvm.dashboard.run_page import RunPage
from stream_llsvm.engine import Checkpoints, Waiting
from stream_llsvm.learners.pipeline import payload_of
from stream_llsvm.model.file import dumps
from stream_llsvm.serve.bodies import Names
from stream_llsvm.serve.served import ServedModel
from stream_llsvm.serve.server import Server
from tests.cli.support import ROOT, newest, started, wait_for
from tools.kafka_broker import free_ports

JSON = {"content-type": "application/json"}
COMMAND = "from stream_llsvm.cli.main import main; main()"
LINES = {"content-type": "application/x-ndjson"}


class Served:
    """``stream-llsvm serve`` on a port that is free."""

    def __init__(self, folder: Path, *flags: object, tokens: str | None = None) -> None:
        self.folder = folder
        self.process = started("serve", "--folder", folder, "--port", 0, *flags)
        self.said: list[str] = []
        self._up = threading.Event()
        self.address = ""
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        self._up.wait(600)
        assert self.address, self.text
        token = {} if tokens is None else {"authorization": f"Bearer {tokens}"}
        self.http = httpx.Client(base_url=self.address, timeout=400, headers=token, verify=False)

    def _listen(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.said.append(line)
            if found := re.search(r"serving .* at (\S+)", line):
                self.address = found[1]
                self._up.set()
        self._up.set()

    @property
    def text(self) -> str:
        """All that it has said."""
        return "".join(self.said)

    def post(self, path: str, said: Any, status: int = 200) -> Any:
        """Send JSON, and return what comes back."""
        answer = self.http.post(path, json=said)
        assert answer.status_code == status, answer.text
        return answer.json()

    def get(self, path: str) -> Any:
        """Return what is answered, which is JSON."""
        answer = self.http.get(path)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def learned(self) -> int:
        """Return how many records it has learned by now."""
        number: int = self.get("/v1/models/default")["counts"]["learned"]
        return number

    def stop(self, by: signal.Signals = signal.SIGTERM) -> str:
        """End it in order; return what it has said."""
        self.process.send_signal(by)
        code = self.process.wait(600)
        self._gone()
        assert code == 0, self.text
        return self.text

    def kill(self) -> None:
        """Kill it."""
        self.process.kill()
        self.process.wait()
        self._gone()

    def _gone(self) -> None:
        """Let go of what is left of it."""
        self._listener.join()
        for pipe in (self.process.stdout, self.process.stderr):
            if pipe is not None:
                pipe.close()
        self.http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.process.poll() is None:
            self.kill()


def certificate(folder: Path) -> tuple[Path, Path]:
    """Make a certificate of this machine's own, and its key."""
    made, key = folder / "made.pem", folder / "key.pem"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2"
    subprocess.run(
        [*command.split(), "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1",
         "-keyout", str(key), "-out", str(made)],
        check=True, capture_output=True,
    )  # fmt: skip
    return made, key


@contextmanager
def serving(folder: Path, tokens: Mapping[str, str] | None = None, **more: Any) -> Iterator[Server]:
    """Serve one model in this process, so that its log and its routes can be looked at."""
    with ExitStack() as stack:
        writer = LogWriter(folder / "log")
        stack.callback(writer.close)
        source = LogSource(folder / "log", label="y", key="id")
        stack.callback(source.close)
        engine = Engine(
            source,
            LLSVMClassifier(),
            waiting=Waiting(),
            checkpoints=Checkpoints(folder / "checkpoints"),
            detector=None,
        )
        page = RunPage(engine, name="default")
        more = {"on_failed": bool} | more
        model = ServedModel("default", writer, engine, page, Names("y", "id"), **more)
        server = Server([model], port=0, tokens=tokens)
        server.start()
        stack.callback(server.stop)
        yield server


def record(i: int, label: bool = True) -> dict[str, Any]:
    """Return a record that is a function of its number."""
    chance = random.Random(i)
    a, b = chance.gauss(0, 1), chance.gauss(0, 1)
    fields: dict[str, Any] = {"a": round(a, 3), "b": round(b, 3), "id": f"r{i}"}
    return fields | ({"y": "up" if a * b > 0 else "down"} if label else {})


def records(first: int, number: int, label: bool = True) -> dict[str, Any]:
    """Return a request's body."""
    return {"records": [record(i, label) for i in range(first, first + number)]}


def served_model(folder: Path) -> bytes:
    """Return the model in a server's newest checkpoint, as it is saved."""
    return dumps(newest(folder / "checkpoints")["model"])


def calm_model(folder: Path, model: Any = None) -> bytes:
    """Return the model of a run that reads a server's log in peace, as it is saved."""
    source = LogSource(folder / "log", label="y", key="id")
    engine = Engine(
        source, LLSVMClassifier() if model is None else model, waiting=Waiting(), detector=None
    )
    engine.run()
    source.close()
    return dumps(payload_of(engine.model))


def in_log(folder: Path) -> tuple[dict[str, int], dict[str, int]]:
    """Return how often each id stands in a server's log as a labelled record, and as a label."""
    taught, labels = dict[str, int](), dict[str, int]()
    for segment in segments(folder / "log"):
        for _, entry in entries(segment):
            fields = orjson.loads(entry.body)
            if "id" in fields and "y" in fields:
                counts = labels if entry.kind == LABEL else taught
                counts[fields["id"]] = counts.get(fields["id"], 0) + 1
    return taught, labels


@contextmanager
def serving_command(
    folder: Path, stderr: Any, *flags: object, before: str = ""
) -> Iterator[tuple[subprocess.Popen[str], httpx.Client]]:
    """Serve with this stderr, after some code of its own; asked at a port that was free."""
    (port,) = free_ports(1)
    how = ["--folder", folder, "--port", port, "--label", "y", "--model", "llsvm", *flags]
    process = subprocess.Popen(
        [sys.executable, "-c", before + COMMAND, "serve", *map(str, how)],
        stderr=stderr, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=400) as http:

        def is_up() -> bool:
            assert process.poll() is None, process.communicate()
            try:
                return http.get("/healthz").status_code == 200
            except httpx.TransportError:
                return False

        try:
            wait_for(is_up)
            yield process, http
        finally:
            process.kill()
            process.communicate()
