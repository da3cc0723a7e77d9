"""What somebody asks of a run while it goes on: to promote a model, to keep a checkpoint by name.

Requests come from this process, or from another as files in a folder beside the checkpoints: it
needs the right to write there and nothing else. The run sees to them between two batches and
answers each with a file, which who asked takes away.
"""

from __future__ import annotations

import json
import os
import queue
import re
import secrets
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

FOLDER = "requests"
KINDS = ("promote", "checkpoint")
_NAME = re.compile(r"([0-9a-f]{16})\.request")
_LOOK = 0.25  # seconds between two looks into the folder
_LONGEST = 4_096  # bytes
_OLD = 3_600.0  # seconds after which nobody waits for an answer any more
_STEP = 0.05


class RequestError(Exception):
    """What was asked cannot be done; the text says why."""


class Request(NamedTuple):
    """What is to be done, and with what name; ``answer`` tells who asked, or why not."""

    do: str
    name: str
    answer: Callable[[str, bool], None]


class Requests:
    """What is asked of a run, from this process and from others.

    Parameters
    ----------
    folder
        That of the checkpoints; None if there is none, and so no other process can ask.

    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = None if folder is None else folder / FOLDER
        self._asked: queue.SimpleQueue[Request] = queue.SimpleQueue()
        self._due = 0.0

    def ask(self, do: str, name: str) -> Future[str]:
        """Ask from a thread of this process; what comes of it is a text, or a RequestError."""
        told: Future[str] = Future()

        def answer(text: str, well: bool) -> None:
            if well:
                told.set_result(text)
            else:
                told.set_exception(RequestError(text))

        self._asked.put(Request(do, name, answer))
        return told

    def pending(self, *, all: bool = False) -> Iterator[Request]:
        """Yield what is asked by now; into the folder it looks some times a second."""
        with suppress(queue.Empty):
            while True:
                yield self._asked.get_nowait()
        now = time.monotonic()
        if self._folder is not None and (all or now >= self._due):
            self._due = now + _LOOK
            yield from self._files(self._folder)

    def _files(self, folder: Path) -> Iterator[Request]:
        try:
            names = sorted(os.listdir(folder))
        except OSError:  # nobody has ever asked
            return
        for name in names:
            path = folder / name
            if _NAME.fullmatch(name) is None:
                _forget(path)
                continue
            answered = path.with_suffix(".answer")
            try:
                do, what = _read(path)
            except (OSError, ValueError) as error:
                _answer(path, answered, f"the request cannot be read: {error}", False)
                continue
            yield Request(do, what, partial(_answer, path, answered))

    def close(self) -> None:
        """Refuse what was asked in this process and not seen to; files wait for the next run."""
        with suppress(queue.Empty):
            while True:
                self._asked.get_nowait().answer("the run has ended", False)


def leave(folder: Path, do: str, name: str) -> Path:
    """Leave a request for the run of a folder; return where it lies."""
    place = folder / FOLDER
    place.mkdir(exist_ok=True)
    path = place / f"{secrets.token_hex(8)}.request"
    unfinished = path.with_suffix(".tmp")
    unfinished.write_text(json.dumps({"do": do, "name": name}), encoding="utf-8")
    unfinished.replace(path)
    return path


def ask(folder: Path, do: str, name: str, timeout: float) -> str:
    """Ask the run that goes on in a folder; return what it says.

    Raises RequestError if that cannot be done, or nobody answers in so many seconds: what was asked
    is then taken back.
    """
    path = leave(folder, do, name)
    answered, end = path.with_suffix(".answer"), time.monotonic() + timeout
    while not answered.exists():
        if time.monotonic() >= end:
            path.unlink(missing_ok=True)
            raise RequestError(f"the run in {folder} has not answered for {timeout:g} s")
        time.sleep(_STEP)
    told = json.loads(answered.read_text(encoding="utf-8"))
    answered.unlink(missing_ok=True)
    if not told["well"]:
        raise RequestError(told["text"])
    return str(told["text"])


def _read(path: Path) -> tuple[str, str]:
    with open(path, "rb") as file:
        text = file.read(_LONGEST + 1)
    asked = json.loads(text) if len(text) <= _LONGEST else None
    if not isinstance(asked, dict) or set(asked) != {"do", "name"}:
        raise ValueError("it is no object of do and name")
    do, name = asked["do"], asked["name"]
    if do not in KINDS or not isinstance(name, str):
        raise ValueError(f"do is one of {', '.join(KINDS)}, and name a text")
    return do, name


def _answer(path: Path, answered: Path, text: str, well: bool) -> None:
    """Write an answer, and take the request away: in this order, so that none is forgotten."""
    unfinished = answered.with_suffix(".tmp")
    with suppress(OSError):
        unfinished.write_text(json.dumps({"text": text, "well": well}), encoding="utf-8")
        unfinished.replace(answered)
    path.unlink(missing_ok=True)


def _forget(path: Path) -> None:
    """Remove what nobody has taken away for long."""
    with suppress(OSError):
        if time.time() - path.stat().st_mtime > _OLD:
            path.unlink()
