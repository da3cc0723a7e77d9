"""Write a run as one file: the live page with all it would have shown, and no network."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import orjson

from stream_llsvm.cli.errors import RunFailedError, one_line
from stream_llsvm.connectors.base import Source
from stream_llsvm.dashboard.app import File, static_files
from stream_llsvm.dashboard.builder import History, RecentLatency
from stream_llsvm.dashboard.look import recent_of
from stream_llsvm.dashboard.messages import event, frame, point
from stream_llsvm.dashboard.model_copy import Answered, ModelCopies, NothingLearnedError, restored
from stream_llsvm.dashboard.model_view import ModelView
from stream_llsvm.dashboard.monitor import Monitor
from stream_llsvm.engine.engine import Engine
from stream_llsvm.model.feature_warnings import without_warnings
from stream_llsvm.model.file import replace

_POINTS = 600
_MOST = 500  # records in a batch
_LOOKS = 8  # at the answers, in the course of a run
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' data:; style-src 'unsafe-inline'; img-src data:"
)


class Recording(Monitor):
    """Looks at a run after every batch, and keeps what there was to see."""

    def __init__(self, records: int) -> None:
        super().__init__()
        self._history, self._lately, self._view = History(), RecentLatency(), ModelView()
        self._every, self._due = max(1, records // _LOOKS), 0
        self._answered: Answered | None = None
        self.watchers = 1

    def on_turn(self, engine: Engine) -> None:
        """Look, whatever the time."""
        self._next_look = 0.0
        if engine.progress.counts["records"] >= self._due:
            self._due += self._every
            self._next_copy = 0.0
        super().on_turn(engine)
        self._keep()

    def on_end(self, engine: Engine, error: BaseException | None) -> None:
        """Look for the last time, at everything."""
        super().on_end(engine, error)
        self._keep()

    def _keep(self) -> None:
        if self.look is not None:
            self._last = point(self.look, *self._lately.add(self.look))
            self._history.add(self._last)
            answered = None if self.look.details is None else self.look.details.answered
            if answered is not None:
                if self._answered is not None and self._answered.copied is not answered.copied:
                    self._explain()
                self._answered = answered

    def _explain(self) -> None:
        """Explain some of the answers that were kept last, by the copy that gave them."""
        if self._answered is not None:
            with without_warnings():
                model = restored(self._answered.copied.model)
                self._view.replay(model, self._answered.taken)
            self._answered = None

    def recorded(self) -> dict[str, Any]:
        """Return what the page shows: all points, what happened, and the last frame."""
        look = self.look
        assert look is not None
        assert look.details is not None
        model = None
        self._explain()
        try:
            with ModelCopies(self).newest() as (copy, _):
                model = self._view.look(copy, recent_of(look.details.recent, look.features))
        except NothingLearnedError:
            pass
        return {
            "points": self._history.columns(),
            "events": [event(one) for one in look.events],
            "frame": frame(look, self._last, model),
        }


def record(source: Source, model: Any, records: int, max_records: int | None) -> dict[str, Any]:
    """Run a model over a source of so many records; return what the page shows of that."""
    recording = Recording(records)
    size = max(1, min(_MOST, records // _POINTS))
    engine = Engine(source, model, max_batch=size, max_rejected_ratio=1.0, watchers=[recording])
    try:
        engine.run(max_records)
    except Exception as error:
        raise RunFailedError(f"the report's run failed: {one_line(error)}") from error
    return recording.recorded()


def write_report(path: str, recorded: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> None:
    """Write what was recorded, and the scores of all learners, as one HTML file."""
    shown = one_file(static_files(), {**recorded, "compared": rows})
    try:
        replace(path, shown.encode())
    except OSError as error:
        why = error.strerror or one_line(error)
        raise RunFailedError(f"--report: {path} could not be written: {why}") from error


def one_file(files: Mapping[str, File], recorded: Mapping[str, Any]) -> str:
    r"""Return the page with everything in it.

    Examples
    --------
    >>> page = one_file(static_files(), {"frame": {"text": "</script>"}})
    >>> "static/" in page, "</script>\"}}" in page
    (False, False)

    """

    def inside(name: str) -> str:
        return files[name].content.decode()

    def within(text: str) -> str:
        """Put pictures into a style sheet or an attribute."""
        return re.sub(r"/?static/([\w.]+)", lambda found: _data(files[found[1]]), text)

    modules = {f"page/{name}": _data(files[name]) for name in files if name.endswith(".js")}
    # Text in a script may hold anything but what would end the script.
    kept = orjson.dumps(recorded).decode().replace("<", "\\u003c")
    changes: list[tuple[str, Callable[[re.Match[str]], str]]] = [
        (
            r'<meta charset="utf-8">',
            lambda found: (
                f'{found[0]}\n<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
            ),
        ),
        (
            r'<link rel="stylesheet" href="static/([\w.]+)">',
            lambda found: f"<style>{within(inside(found[1]))}</style>",
        ),
        (
            r'<script type="module" src="static/([\w.]+)"></script>',
            lambda found: f'<script type="module">import "page/{found[1]}";</script>',
        ),
        (
            r'<script src="static/([\w.]+)"[^>]*></script>',
            lambda found: f"<script>{inside(found[1])}</script>",
        ),
        (
            r'(<script type="importmap">).*?(</script>)',
            lambda found: f"{found[1]}{orjson.dumps({'imports': modules}).decode()}{found[2]}",
        ),
        (
            r"</body>",
            lambda _: f'<script type="application/json" id="recorded">{kept}</script>\n</body>',
        ),
        (r'<link rel="icon"[^>]*>', lambda found: within(found[0])),
    ]
    page = inside("index.html")
    for pattern, made in changes:
        page = re.sub(pattern, made, page, flags=re.DOTALL)
    return page


def _data(file: File) -> str:
    kind = file.type.replace(" ", "")
    return f"data:{kind};base64,{base64.b64encode(file.content).decode()}"
