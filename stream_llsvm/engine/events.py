"""Events of a run for somebody who is not looking: a function, or a webhook.

An event is what the log and the page show: drift, a failed checkpoint, a broker that is away. The
thread that learns calls the function, or queues the event for the webhook's own thread, and never
waits. A post that fails is repeated after 1, 2, 4, ... up to 300 seconds; of events that wait
meanwhile the newest hundred are kept.
"""

from __future__ import annotations

import contextlib
import json
import logging
import threading
import urllib.error
import urllib.request
from collections import deque
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

from stream_llsvm.engine.watchers import Watcher

if TYPE_CHECKING:
    from stream_llsvm.engine.engine import Engine

log = logging.getLogger("stream_llsvm")

_MOST = 100  # events that wait
_TIMEOUT = 10.0  # seconds of a post, and for what is left at the end
_LONGEST = 300.0  # seconds between two attempts
#: Events that would be most of all, and say nothing.
_NOT_SENT = ("checkpoint",)


class Events(Watcher):
    """Calls a function with each new event: ``id``, ``kind``, ``text``, ``record``, ``time``."""

    def __init__(self, call: Callable[[Mapping[str, Any]], object]) -> None:
        self._call, self._last = call, 0

    def on_turn(self, engine: Engine) -> None:
        """Call it."""
        events = engine.progress.events
        if not events or events[-1]["id"] <= self._last:
            return
        new = [one for one in events if one["id"] > self._last]
        self._last = new[-1]["id"]
        for event in new:
            try:
                self._call(dict(event))
            except Exception:  # a fault of the user's function must not end the run
                log.exception("on_event failed for %r", event["kind"])

    def on_end(self, engine: Engine, error: BaseException | None) -> None:
        """Call it with the last ones, and with what the run died of."""
        self.on_turn(engine)
        if error is not None and not isinstance(error, KeyboardInterrupt):
            text = " ".join(str(error).split()) or type(error).__name__
            engine.progress.note("failed", text)
            self.on_turn(engine)


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: it would lose the body, and may lead anywhere."""

    def redirect_request(self, *_: Any) -> None:
        """Refuse."""


class Webhook(Events):
    """Posts each event but checkpoints as JSON, as long as it is a context."""

    def __init__(self, url: str, run: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("a webhook begins with http:// or https:// and has a host")
        super().__init__(self._queue)
        # What is in the path often is a secret: only the host is ever named.
        self.name, self._url, self._run = f"webhook {parts.hostname}", url, run
        self._opener = urllib.request.build_opener(_NoRedirect)
        self._waiting: deque[Mapping[str, Any]] = deque(maxlen=_MOST)
        self._wake, self._ending = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._work, name="webhook", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.set()
        self._wake.set()
        self._thread.join(_TIMEOUT)

    def _queue(self, event: Mapping[str, Any]) -> None:
        if event["kind"] in _NOT_SENT:
            return
        if len(self._waiting) == _MOST:
            log.warning("%s: %d events wait, the oldest is dropped", self.name, _MOST)
        self._waiting.append(event)
        self._wake.set()

    def _work(self) -> None:
        while True:
            self._wake.wait()
            self._wake.clear()
            pause = 1.0
            while self._waiting:
                event = self._waiting[0]
                why = self._post(event)
                if why is not None:
                    log.warning("%s: %s", self.name, why)
                    if self._ending.wait(pause):
                        break
                    pause = min(_LONGEST, 2 * pause)
                    continue
                pause = 1.0
                with contextlib.suppress(ValueError, IndexError):  # dropped meanwhile
                    self._waiting.remove(event)
            if self._ending.is_set():
                return

    def _post(self, event: Mapping[str, Any]) -> str | None:
        """Post an event; return why not."""
        data = json.dumps({"run": self._run, **event}, ensure_ascii=False)
        headers = {"Content-Type": "application/json", "User-Agent": "stream-llsvm"}
        try:
            request = urllib.request.Request(self._url, data.encode("utf-8", "replace"), headers)
            with self._opener.open(request, timeout=_TIMEOUT):
                return None
        except urllib.error.HTTPError as error:
            error.close()
            return f"it answered {error.code}"
        except (OSError, ValueError) as error:
            return str(getattr(error, "reason", error)).replace(self._url, "***")
        except Exception as error:  # what is no HTTP at all
            return type(error).__name__
