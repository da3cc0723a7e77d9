"""Who owns a folder of checkpoints: of several processes, on one machine or several, one at a time.

The owner of term 7 has the folder ``term-0000000007`` inside. Its file ``beat`` changes now and
then, and checkpoints are written there before they are renamed to where they count. Whoever takes
over makes the folder of term 8, which only one process can, and removes that of term 7. Nothing can
be renamed out of a folder that is gone: an owner that was held up, wherever in its code and for
however long, writes no checkpoint any more.

No two clocks are compared. A watcher waits until the beat has not changed for some seconds by its
own clock; that only decides when to take over, and not who may write.
"""

from __future__ import annotations

import errno
import json
import os
import re
import secrets
import shutil
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

_NAME = re.compile(r"term-(\d{10})")
_BEAT = "beat"
_WIDTH = 512  # bytes of a beat: always the same, so that it is written over in one go
_GONE = (errno.ENOENT, errno.ESTALE)  # ESTALE: a folder of a network that another machine removed
_TRIES = 200
SECONDS = 5.0


class LeaseError(Exception):
    """The folder cannot be shared; the text says why."""


class TermOverError(LeaseError):
    """Another process owns the folder by now; the text says who."""


class Term(NamedTuple):
    """What can be seen of the newest term: its number, its owner, whether that one has left.

    ``beat`` is the whole text, which changes as long as the owner lives; ``seconds`` is how long it
    may stay the same.
    """

    number: int
    owner: str
    left: bool
    seconds: float
    beat: bytes


class Lease:
    """The right to write to a folder, for a term.

    Parameters
    ----------
    folder
        Where checkpoints are.
    seconds
        How long this owner may be silent before another one takes over. It says so itself, so all
        may differ.

    Attributes
    ----------
    term
        The number of the own term; 0 before it begins.
    before
        The term before it.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> first, second = Lease(folder), Lease(folder)
    >>> first.take()
    True
    >>> first.term, newest_term(folder).left
    (1, False)
    >>> first.release()
    >>> second.take()
    True
    >>> second.term
    2
    >>> second.release()

    """

    def __init__(self, folder: str | os.PathLike[str], seconds: float = SECONDS) -> None:
        self._folder, self.seconds = Path(folder), seconds
        self._owner = f"process {os.getpid()} on {socket.gethostname()}"
        self._id = secrets.token_hex(8)  # two machines may have one name
        self._guard, self._ended = threading.Lock(), threading.Event()
        self._beats, self._beaten, self._over = 0, 0.0, False
        self.term = 0
        self.before: Term | None = None

    @property
    def place(self) -> Path:
        """The folder in which files come into being that only an owner may rename from there."""
        return _place(self._folder, self.term)

    def take(
        self,
        stop: threading.Event | None = None,
        waiting: Callable[[Term], object] = lambda term: None,
    ) -> bool:
        """Wait until nobody owns the folder, and own it; False if it was told to stop before.

        ``waiting`` is called now and then meanwhile.
        """
        stop = stop or threading.Event()
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            return self._wait(stop, waiting)
        except OSError as error:
            raise LeaseError(f"cannot use {self._folder} for checkpoints: {error}") from None

    def _wait(self, stop: threading.Event, waiting: Callable[[Term], object]) -> bool:
        seen, since = None, 0.0
        while not stop.is_set():
            now = time.monotonic()  # before the look: a watcher may be held up behind it, too
            newest = newest_term(self._folder)
            if newest != seen:
                seen, since = newest, now
            silent = now - since > newest.seconds
            if (newest.number == 0 or newest.left or silent) and self._begin(newest):
                return True
            waiting(newest)
            stop.wait(min(newest.seconds / 10, 0.5))
        return False

    def _begin(self, before: Term) -> bool:
        """Begin the next term; False if another process was faster."""
        mine = before.number + 1
        place = _place(self._folder, mine)
        try:
            place.mkdir()
        except FileExistsError:
            return False
        for number in _terms(self._folder):
            if number < mine:
                _remove(_place(self._folder, number))
        try:
            (place / _BEAT).write_bytes(self._text(left=False))
        except FileNotFoundError:  # it took so long that another one has begun the next
            return False
        self.term, self.before, self._beaten = mine, before, time.monotonic()
        threading.Thread(target=self._keep, name="lease", daemon=True).start()
        return True

    def _text(self, *, left: bool) -> bytes:
        self._beats += 1
        said = {
            "owner": self._owner,
            "id": self._id,
            "beats": self._beats,
            "seconds": self.seconds,
            "left": left,
        }
        return json.dumps(said).encode().ljust(_WIDTH)

    def _keep(self) -> None:
        while not (self._ended.wait(self.seconds / 5) or self._over):
            self._beat()

    def _beat(self, *, left: bool = False) -> None:
        """Show that the owner lives, and notice if it is none any more."""
        with self._guard:
            if self._over or (self._ended.is_set() and not left):
                return
            try:
                beat = os.open(self.place / _BEAT, os.O_WRONLY)  # which must be there
                try:
                    os.write(beat, self._text(left=left))
                finally:
                    os.close(beat)
            except OSError as error:
                # A disk in trouble is no reason to stop: whoever takes over removes the folder.
                self._over = error.errno in _GONE
                return
            self._beaten = time.monotonic()

    def check(self) -> None:
        """Raise TermOverError if another process owns the folder; costs nothing most of the time.

        An owner that was not held up since its last beat cannot have been replaced.
        """
        if time.monotonic() - self._beaten > self.seconds / 2:
            self._beat()
        if self._over:
            raise TermOverError(self._told())

    def confirm(self) -> None:
        """Raise TermOverError if another process owns the folder, after a look."""
        self._beat()
        self.check()

    def _told(self) -> str:
        newest = newest_term(self._folder)
        return (
            f"{newest.owner} has taken {self._folder} over, in term {newest.number}: this run, in "
            f"term {self.term}, had been silent for {self.seconds:g} s (paused, or the folder out "
            "of reach). It writes nothing any more; start it again to stand by"
        )

    def release(self) -> None:
        """Let the next one begin at once."""
        if self.term and not self._ended.is_set():
            self._ended.set()
            self._beat(left=True)


def newest_term(folder: Path) -> Term:
    """Return the newest term of a folder; number 0 if there never was one."""
    number = max(_terms(folder), default=0)
    if number == 0:
        return Term(0, "nobody", True, SECONDS, b"")
    try:
        beat = (_place(folder, number) / _BEAT).read_bytes()
        said = json.loads(beat)
        return Term(number, str(said["owner"]), said["left"] is True, float(said["seconds"]), beat)
    except (OSError, ValueError, KeyError, TypeError):  # it is just being written, or damaged
        return Term(number, "another process", False, SECONDS, b"")


def _place(folder: Path, number: int) -> Path:
    return folder / f"term-{number:010}"


def _terms(folder: Path) -> list[int]:
    matches = (_NAME.fullmatch(path.name) for path in folder.iterdir())
    return [int(match[1]) for match in matches if match]


def _remove(place: Path) -> None:
    """Remove the folder of a term, also if its owner is writing to it just then."""
    for _ in range(_TRIES):
        shutil.rmtree(place, ignore_errors=True)
        if not place.exists():
            return
        time.sleep(0.01)
    raise LeaseError(f"{place} cannot be removed: is the folder another user's?")
