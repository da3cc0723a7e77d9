"""A month of a model that looks for fraud, in a minute: ``python examples/fraud/story.py``.

A server learns payments over HTTP, as in ``serve.toml`` beside this file. The truth about one in
fifty comes a day later. A challenger wins and is promoted, a field breaks, a webhook is told, and
the model goes back to a checkpoint from before.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar
from urllib.request import urlopen

from stream_llsvm.client import Client

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from fraud.payments import Payment, in_cents, payments  # noqa: E402

A_DAY = 2_000  # payments
ONE_IN = 50  # the truth comes to light of so many
LEAST_DAYS = 20  # before anybody is promoted
MOST_DAYS = 90  # for a verdict, a moved field, and its end: then something is wrong
AFTER = 3  # days that the story goes on for
PACE = 1.0  # seconds for a day, so that one can watch
PATIENCE = 300.0  # seconds: on a new machine kernels are compiled first
NAMED = "before-the-release"
T = TypeVar("T")


class StoryError(Exception):
    """The story does not go as it is told; the text says where."""


class Hook:
    """Who is woken up: a webhook on this machine that keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[dict[str, Any]] = []
        hook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                hook.told.append(json.loads(body))
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        """End."""
        self._server.shutdown()
        self._server.server_close()

    def event(self, kind: str) -> str | None:
        """Return the text of an event of this kind, if one was posted."""
        return next((str(one["text"]) for one in self.told if one["kind"] == kind), None)


class Server:
    """``stream-llsvm serve`` as a process of its own."""

    def __init__(self, folder: Path, hook: Hook) -> None:
        self.said: list[str] = []
        self._up = threading.Event()
        self.address = ""
        self._process = subprocess.Popen(
            [*COMMAND, "serve", str(HERE / "serve.toml"), "--folder", str(folder), "--port", "0"],
            stderr=subprocess.PIPE, text=True, start_new_session=True,  # Ctrl-C is for the story
            env={**os.environ, "FRAUD_WEBHOOK": hook.url},
        )  # fmt: skip
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def wait(self) -> None:
        """Return when it can be asked."""
        self._up.wait(PATIENCE)
        if not self.address:
            raise StoryError("the server does not begin: " + "".join(self.said))

    def _listen(self) -> None:
        assert self._process.stderr is not None
        with self._process.stderr as lines:
            for line in lines:
                self.said.append(line)
                if found := re.search(r"serving .* at (\S+)", line):
                    self.address = found[1]
                    self._up.set()
        self._up.set()

    def stop(self) -> None:
        """Let it learn what was acknowledged, and end."""
        self._process.send_signal(signal.SIGTERM)
        try:
            code = self._process.wait(PATIENCE)
        except BaseException:  # a second Ctrl-C: what was acknowledged is in the log
            self._process.kill()
            raise
        self._listener.join()
        if code != 0:
            raise StoryError("the server failed: " + "".join(self.said))


COMMAND = (sys.executable, "-m", "stream_llsvm.cli")


@contextmanager
def serving(folder: Path, hook: Hook) -> Iterator[Server]:
    """Serve until the block ends."""
    server = Server(folder, hook)
    try:
        server.wait()
        yield server
    finally:
        server.stop()


class Shop:
    """Who sends payments, and a day later what has come to light of those of the day before.

    Parameters
    ----------
    pace
        Seconds that a day takes at least.

    """

    def __init__(self, pace: float) -> None:
        self.days = self.sent = self.labels = 0
        self._pace = pace
        self._payments = payments(seed=0, in_a_day=A_DAY)
        self._yesterday: list[Payment] = []
        self._client: Client | None = None
        self._address = ""

    def asks(self, server: Server) -> None:
        """Go on with this server."""
        self._address = server.address
        self._client = Client(server.address)

    def day(self, change: Callable[[dict[str, Any]], dict[str, Any]] | None = None) -> str:
        """Send the payments of a day, and the labels of the last; return how it was answered."""
        assert self._client is not None
        begin = time.monotonic()
        today = list(islice(self._payments, A_DAY))
        records = [one.record if change is None else change(one.record) for one in today]
        answers = [told["prediction"] for told in self._client.send(records)]
        known = [(one.record["id"], one.fraud) for one in self._yesterday[::ONE_IN]]
        self.labels += self._client.label(known)
        self.days, self.sent, self._yesterday = self.days + 1, self.sent + len(answers), today
        time.sleep(max(0.0, begin + self._pace - time.monotonic()))
        right = sum(one.fraud == said for one, said in zip(today, answers, strict=True))
        frauds = [said for one, said in zip(today, answers, strict=True) if one.fraud == "yes"]
        return (
            f"{right / A_DAY:.1%} of its {A_DAY:,} answers were right, and "
            f"{frauds.count('yes')} of {len(frauds)} frauds were caught"
        )

    def forget(self) -> None:
        """Look no further into the payments of yesterday: their labels are not sent."""
        self._yesterday = []

    def snapshot(self) -> dict[str, Any]:
        """Return what the page shows, once it shows all that was sent."""

        def look() -> dict[str, Any] | None:
            with urlopen(f"{self._address}api/snapshot", timeout=PATIENCE) as answer:
                found: dict[str, Any] = json.load(answer)
            status, labels = found.get("status"), found.get("labels")
            if not status or not labels or status["records"] < self.sent:
                return None
            return found if labels["matched"] + labels["orphaned"] >= self.labels else None

        return until(look, "the page shows what was sent")


def until(look: Callable[[], T | None], what: str, patience: float = PATIENCE) -> T:
    """Return what comes of a look, once something does."""
    end = time.monotonic() + patience
    while (found := look()) is None:
        if time.monotonic() > end:
            raise StoryError(f"waited in vain: {what}")
        time.sleep(0.1)
    return found


def asked(*words: str) -> str:
    """Run the command; return what it prints."""
    done = subprocess.run([*COMMAND, *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise StoryError(f"stream-llsvm {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout.strip().replace("\n", "\n   ")


def story(folder: Path, hook: Hook, shop: Shop, act: Callable[[str], None]) -> None:
    """Tell it, act by act."""
    kept = str(folder / "default" / "checkpoints")
    with serving(folder, hook) as server:
        shop.asks(server)
        act(f"A server is up at {server.address}#operate. A linear model answers, and a committee "
            "learns beside it.")  # fmt: skip
        answered, rival = until_verdict(shop)
        less, least = -100 * rival["difference"], -100 * rival["high"]
        act(f"{shop.days} days have passed. {shop.sent:,} payments were answered, and "
            f"{shop.labels} labels came a day late. On the last day {answered}. The committee is "
            f"{rival['verdict']}: over {rival['compared']:,} labels it erred less often, by "
            f"{less:.1f} points, at least {least:.1f}.")  # fmt: skip
        told = asked("promote", "--checkpoints", kept, rival["name"])
        for _ in range(AFTER):
            answered = shop.day()
        shop.snapshot()
        act(f"It is promoted: {told}. On day {shop.days} {answered}.")
        told = asked("checkpoint", "--checkpoints", kept, "--name", NAMED)
        act(f"A release of the shop is due, so the model is kept first: {told}.")
        answered, event = until_moved(shop, hook)
        moved = [one for one in shop.snapshot()["input"]["fields"] if one["moved"] >= 0]
        fields = "; ".join(f"{one['name']}: {one['what']}" for one in moved)
        act(f"The release sends amounts in cents. On day {shop.days} {answered}. The webhook is "
            f"told: {event}. The page says it, too: {fields}.")  # fmt: skip
    shop.forget()
    told = asked("rollback", "--checkpoints", kept, "--to", NAMED, "--skip")
    with serving(folder, hook) as server:
        shop.asks(server)
        first, days = shop.day(), until_calm(shop)
        labels = shop.snapshot()["labels"]
        act(f"The shop is mended, and what the model learned of cents is taken back.\n   {told}\n"
            f"   On the next day, at {server.address}#operate, {first}. On day {days} the field is "
            "what it was before.")  # fmt: skip
        print(f"In all {shop.sent:,} payments were acknowledged: {labels['matched']:,} were "
              f"learned, {labels['waiting']:,} wait for their labels, and {labels['expired']:,} "
              "waited in vain.", flush=True)  # fmt: skip


def until_verdict(shop: Shop) -> tuple[str, dict[str, Any]]:
    """Let days pass until one model is better; return the last one, and the comparison."""
    for _ in range(MOST_DAYS):
        answered = shop.day()
        (rival,) = shop.snapshot()["challengers"]["rivals"]
        if rival["verdict"] == "better" and shop.days >= LEAST_DAYS:
            return answered, rival
    raise StoryError("the challenger is not better")


def until_moved(shop: Shop, hook: Hook) -> tuple[str, str]:
    """Let days pass with the broken field until somebody is told; return the last, and what."""
    for _ in range(MOST_DAYS):
        answered = shop.day(in_cents)
        if shop.snapshot()["input"]["moved"]:
            event = until(lambda: hook.event("input drift"), "the webhook is told")
            return answered, event
    raise StoryError("no field has moved")


def until_calm(shop: Shop) -> int:
    """Let days pass until no field is seen as moved; return which day it is then."""
    for _ in range(MOST_DAYS):
        if not shop.snapshot()["input"]["moved"]:
            return shop.days
        shop.day()
    raise StoryError("the field is still another than it was")


def told_by(steps: bool) -> Callable[[str], None]:
    """Return who prints the acts, and waits for Enter after each if that is wanted."""
    numbers = iter(range(1, 100))

    def act(text: str) -> None:
        print(f"{next(numbers)}. {text}", flush=True)
        if steps:
            print("   (Enter goes on)", flush=True)
            sys.stdin.readline()

    return act


def main() -> int:
    """Tell the story; return the exit code."""
    parser = argparse.ArgumentParser(description="A month of a model that looks for fraud.")
    parser.add_argument("--folder", type=Path, help="keep logs and checkpoints in a new folder")
    parser.add_argument("--fast", action="store_true", help="as fast as it goes")
    parser.add_argument("--step", action="store_true", help="wait for Enter after each act")
    how = parser.parse_args()
    if how.folder is not None and how.folder.exists() and any(how.folder.iterdir()):
        parser.error(f"--folder: {how.folder} is not empty")
    # A shell that starts it in the background has told it to ignore Ctrl-C.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    hook = Hook()
    try:
        with tempfile.TemporaryDirectory() as scratch:
            shop = Shop(0.0 if how.fast or how.step else PACE)
            story(how.folder or Path(scratch), hook, shop, told_by(how.step))
    except StoryError as error:
        print(f"story: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nstopped", file=sys.stderr)
        return 130
    finally:
        hook.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
