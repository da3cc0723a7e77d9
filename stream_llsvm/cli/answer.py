"""``stream-llsvm answer``: answer records with the newest model that a run publishes."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from stream_llsvm.cli.errors import MistakeError, RunFailedError, one_line
from stream_llsvm.cli.options import (
    JSON,
    MAX_RECORDS,
    SECTIONS,
    checked,
    columns,
    columns_in,
    with_flags,
)
from stream_llsvm.cli.signals import INTERRUPTED, Stopping

if TYPE_CHECKING:
    from stream_llsvm.connectors.base import Shared, Sink, Source
    from stream_llsvm.engine.snapshots import Snapshot

EXAMPLE = "stream-llsvm answer --from-model published --from data.csv --to answers.jsonl"
_WAIT = 0.2  # seconds for records, and between two looks for a first model
_TOKEN = "--new-token"
_COLUMNS = columns(
    {name for name, key in SECTIONS["source"].items() if key.flag}
    - {"label", "weight", "ignore", "features", "group"},  # the model knows its features
    key="A column to write beside each answer.",
) | {
    "--group": SECTIONS["source"]["group"]._replace(
        help="Kafka: share the topic with all who name this group, which keeps positions."
    )
}
_MORE = {
    "--probabilities": SECTIONS["engine"]["probabilities"],
    "--max-batch": SECTIONS["engine"]["max_batch"],
    _TOKEN: SECTIONS["dashboard"]["new_token"]._replace(
        help="With --http: make a token that who asks must send, and print it."
    ),
}


@with_flags(_COLUMNS | _MORE)
def command(
    from_model: Annotated[
        str,
        Option(metavar="PLACE", help="A folder that a run publishes to, a model, or http://..."),
    ],
    to: Annotated[str, Option(metavar="PLACE", help="A .jsonl file, a topic, or - (usual).")] = "-",
    look_every: Annotated[
        float, Option(metavar="SECONDS", min=0.0, help="Between looks for a newer model (1).")
    ] = 1.0,
    max_records: MAX_RECORDS = None,
    http: Annotated[
        str | None,
        Option(metavar="[HOST:]PORT", help="Answer questions there instead: POST /predict."),
    ] = None,
    json: JSON = False,
    **given: Any,
) -> int:
    """Answer records."""
    more, source = checked(_MORE, given), columns_in(given)
    if http is not None:
        if source or to != "-" or max_records is not None or json:
            raise MistakeError(
                "--http answers whoever asks: leave out --to, --max-records, --json and what says "
                "where records come from"
            )
        return serve(Models(from_model, look_every, more), http, new_token=bool(more.get(_TOKEN)))
    if not source.get("from"):
        raise MistakeError("--from is missing: say where records come from")
    if to.lower().endswith(".csv"):
        raise MistakeError(f"--to {to}: answers are JSON Lines: name a .jsonl file")
    return answer(Models(from_model, look_every, more), source, to, max_records, as_json=json)


class Models:
    """The newest model, looked for now and then.

    Parameters
    ----------
    place
        Where it is published.
    every
        Seconds between two looks.
    how
        ``--probabilities`` and ``--max-batch``, if they were given.

    """

    def __init__(self, place: str, every: float, how: Mapping[str, Any]) -> None:
        from stream_llsvm.engine.snapshots import PublishedFiles

        self.place, self._every = place, every
        self.all_labels = how.get("--probabilities") == "all"
        self.max_batch: int = how.get("--max-batch", 1_000)
        if place.startswith("http://"):
            from stream_llsvm.cli.model_address import ModelAddress

            self._published: Any = ModelAddress(place)
        else:
            if not Path(place).exists():
                raise MistakeError(f"--from-model: {place}: there is no such file or folder")
            self._published = PublishedFiles(Path(place))
        self._due = 0.0
        self.number = 0  # of models that were read
        self.newest: Snapshot | None = None

    def look(self) -> bool:
        """Look for a newer one if it is time, and return whether there is; trouble is only told."""
        from stream_llsvm.cli.log import warn
        from stream_llsvm.model.file import ModelFileError

        if time.monotonic() < self._due:
            return False
        self._due = time.monotonic() + self._every
        try:
            found: Snapshot | None = self._published.newer()
        except (OSError, ModelFileError) as error:
            warn(f"no newer model: {one_line(error)}", event="no newer model")
            return False
        if found is None:
            return False
        self.newest, self.number = found, self.number + 1
        return True


def answer(
    models: Models, given: dict[str, Any], to: str, max_records: int | None, *, as_json: bool
) -> int:
    """Answer records until they end, so many were answered, or a signal comes."""
    from stream_llsvm.cli.log import logged
    from stream_llsvm.cli.terminal import print_json
    from stream_llsvm.connectors.base import SinkError, SourceError

    stop = threading.Event()
    with logged(), Stopping(stop.set) as stopping:
        while not models.look():
            if stop.wait(_WAIT):
                return INTERRUPTED if stopping.by == "SIGINT" else 0
        source, sink = _opened(models, given, to)
        try:
            counts = _answered(models, source, sink, max_records, stop)
        except (SourceError, SinkError) as error:
            raise RunFailedError(one_line(error)) from error
        finally:
            source.close()
            sink.close()
    if as_json:
        import sys

        print_json(counts | {"models": models.number}, sys.stderr if to == "-" else sys.stdout)
    return INTERRUPTED if stopping.by == "SIGINT" else 0


def serve(models: Models, address: str, *, new_token: bool) -> int:
    """Answer questions over HTTP until a signal comes."""
    import os

    from stream_llsvm.cli.log import logged, say
    from stream_llsvm.cli.run import host_and_port
    from stream_llsvm.cli.watch import TOKEN

    try:
        from stream_llsvm.dashboard import guard
        from stream_llsvm.dashboard.reader import Reader
        from stream_llsvm.dashboard.server import DashboardError, NoTokenError
    except ModuleNotFoundError as missing:
        raise MistakeError(f"--http: {one_line(missing)}") from None
    host, port = host_and_port(address)
    made = guard.new_token() if new_token else None
    try:
        reader = Reader(host or "127.0.0.1", port, made or os.environ.get(TOKEN) or None)
    except NoTokenError as error:
        raise MistakeError(f"{error}: set {TOKEN}, or give {_TOKEN}") from None
    except DashboardError as error:
        raise MistakeError(str(error)) from None
    stop = threading.Event()
    with logged(), Stopping(stop.set) as stopping, reader:
        if models.look():
            reader.snapshot = models.newest
        say(f"questions are answered at {reader.address}", event="reader", address=reader.address)
        if made is not None:
            say(f"they must carry Authorization: Bearer {made}", event="token")
        while not stop.is_set():
            if models.look():
                reader.snapshot = models.newest
            stop.wait(_WAIT)
    return INTERRUPTED if stopping.by == "SIGINT" else 0


def _opened(models: Models, given: dict[str, Any], to: str) -> tuple[Source | Shared, Sink]:
    """Return the source and the sink, connected; of own models only known features are read."""
    from stream_llsvm.cli.build import connector_for, made, make_sink, open_source
    from stream_llsvm.learners.pipeline import is_own

    assert models.newest is not None
    model, options = models.newest.model, dict(given)
    if is_own(model):
        options["features"] = [str(name) for name in model.features]
        if isinstance(key := getattr(model, "key", None), str):
            options.setdefault("key", key)
    else:
        options["numeric"] = False
    group = options.pop("group", None)
    if group is None:
        return open_source(options), make_sink({"to": to})
    connector = connector_for(options["from"][0])
    source = made(lambda: connector.shared_source(options["from"], options, group))
    return source, make_sink({"to": to})


def _answered(
    models: Models,
    source: Source | Shared,
    sink: Sink,
    max_records: int | None,
    stop: threading.Event,
) -> dict[str, int]:
    """Answer records with whatever model is the newest; return how many, and how many could not."""
    from stream_llsvm.engine.learner import Learner
    from stream_llsvm.engine.rejects import Rejects
    from stream_llsvm.engine.results import results_of

    newest, rejects, done = models.newest, Rejects(None, 1.0), 0
    assert newest is not None
    learner = Learner(newest.model, every=models.all_labels)
    commit = getattr(source, "commit", None)
    while not (stop.is_set() or source.ended or done == max_records):
        most = (
            models.max_batch if max_records is None else min(models.max_batch, max_records - done)
        )
        read = source.poll(most, _WAIT)
        if read is None:
            continue
        if models.look() and models.newest is not None:
            newest = models.newest
            learner = Learner(newest.model, every=models.all_labels)
        batch = learner.readable(read)
        rejects.take(batch.rejected, batch.bad_fields)
        answers = learner.take(batch, [None] * len(batch))
        rejects.refused(batch.places, answers.refused)
        now = time.time()
        age = round(max(0.0, now - newest.time), 3)
        results = results_of(batch, answers, now, repeat(newest.learned), age)
        sink.write(results)
        sink.flush()
        if commit is not None:
            commit()
        done += len(results)
    return {"answered": done, "rejected": rejects.counts.total()}
