"""Two processes of one run, of which the owner is killed or paused again and again under load."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from stream_llsvm.engine.lease import newest_term
from tests.cli.support import ROOT, newest, wait_for

#: How often an owner is disturbed; more for a longer look.
TIMES = int(os.environ.get("STANDBY_TIMES", "4"))
LEASE = 1.0  # seconds; usually it is five, and ten are allowed until the other one goes on
ALLOWED = 10.0 - 5.0 + LEASE


class Run:
    """One process of the two.

    Parameters
    ----------
    arguments
        Of the command.
    log
        Where what it says goes.

    """

    def __init__(self, arguments: list[Any], log: Path) -> None:
        self._log = log
        with log.open("wb") as file:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "stream_llsvm.cli", *map(str, arguments)],
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                env=os.environ | {"PYTHONPATH": str(ROOT)},
            )

    @property
    def said(self) -> str:
        """What it has said so far."""
        return self._log.read_text(encoding="utf-8")

    def ended(self) -> int:
        """Wait until it has ended; return the code."""
        return self.process.wait(timeout=120)


class Pair:
    """An owner and its standby; who has ended is replaced.

    Parameters
    ----------
    arguments
        Of the command that both run.
    folder
        Their checkpoints.
    log
        A folder for what they say.

    """

    def __init__(self, arguments: list[Any], folder: Path, log: Path) -> None:
        self._arguments = [*arguments, "--checkpoints", folder, "--standby", "--lease", LEASE]
        self._folder, self._log = folder, log
        log.mkdir()
        folder.mkdir()
        self.all: list[Run] = []
        self._alive: dict[int, Run] = {}
        self.waited: list[float] = []  # seconds from each disturbance until the next one goes on

    def fill(self) -> None:
        """Start processes until there are two, and return when one owns and one waits."""
        while len(self._alive) < 2:
            run = Run(self._arguments, self._log / f"{len(self.all)}.log")
            self._alive[run.process.pid] = run
            self.all.append(run)
        wait_for(lambda: self._owner() is not None and self._standby() is not None)

    def _owner(self) -> Run | None:
        words = newest_term(self._folder).owner.split()  # process 12 on host
        return self._alive.get(int(words[1])) if words[0] == "process" else None

    def _standby(self) -> Run | None:
        owner = self._owner()
        others = [one for one in self._alive.values() if one is not owner]
        return next((one for one in others if "standing by" in one.said), None)

    def learned(self) -> int:
        """Return how many records the newest checkpoint has learned."""
        if not list(self._folder.glob("checkpoint-*.llsvm")):
            return 0
        count: int = newest(self._folder)["progress"]["counts"]["learned"]
        return count

    def torment(self, chance: random.Random) -> None:
        """Disturb the owner as often as is asked for, each time after it has learned something.

        One in three is paused, and goes on when the other has learned something.
        """
        for turn in range(TIMES):
            self.fill()
            self._progress()
            time.sleep(chance.uniform(0.0, 0.3))
            owner, standby = self._owner(), self._standby()
            assert owner is not None and standby is not None
            pause, begin = turn % 3 == 1, time.monotonic()
            owner.process.send_signal(signal.SIGSTOP if pause else signal.SIGKILL)
            del self._alive[owner.process.pid]
            wait_for(lambda: "owner: term" in standby.said)  # noqa: B023
            self.waited.append(time.monotonic() - begin)
            if pause:
                self._progress()
                owner.process.send_signal(signal.SIGCONT)
                assert owner.ended() == 1, owner.said
                assert "has taken" in owner.said, owner.said
                assert "start it again to stand by" in owner.said, owner.said
            else:
                owner.ended()

    def _progress(self) -> None:
        """Wait until the owner has learned more and kept it."""
        learned = self.learned()
        wait_for(lambda: self.learned() > learned)

    def stop(self, ready: Callable[[], bool]) -> None:
        """Wait until it is ready, and end the one that waits and then the owner."""
        self.fill()
        wait_for(ready)
        for one in (self._standby(), self._owner()):
            assert one is not None
            one.process.terminate()
            assert one.ended() == 0, one.said

    def terms(self) -> list[str]:
        """Return the terms that were begun, by whoever said so."""
        lines = [line for one in self.all for line in one.said.splitlines()]
        return [line.partition("owner: ")[2].split(",")[0] for line in lines if "owner: " in line]

    def end(self) -> None:
        """End whatever is left."""
        for one in self.all:
            if one.process.poll() is None:
                one.process.kill()
                one.process.wait()
