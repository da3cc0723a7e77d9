"""Predict a file's records with a saved model."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from stream_llsvm.cli.columns import column_names, first_records, is_svmlight
from stream_llsvm.cli.endpoints import make_sink, make_source
from stream_llsvm.cli.mistakes import MistakeError, RunFailedError, listed, nearest, one_line
from stream_llsvm.cli.places import check_apart
from stream_llsvm.cli.saved import read_saved
from stream_llsvm.cli.telling import bad_fields_of, first_bad_of, first_of
from stream_llsvm.connectors.base import Batch, Result, Sink, SourceError
from stream_llsvm.connectors.file_sink import as_json
from stream_llsvm.engine.learner import Learner
from stream_llsvm.engine.rejects import Rejects

_MOST = 1_000


class StandardOutput:
    """A sink that prints, in the form of a `FileSink`."""

    def write(self, results: Sequence[Result]) -> None:
        """Print results."""
        for one in results:
            fields = {**one.place._asdict(), **one._asdict()}
            del fields["place"]
            sys.stdout.write(as_json(fields).decode() + "\n")

    def flush(self) -> None:
        """Flush."""
        sys.stdout.flush()

    def close(self) -> None:
        """Flush."""
        self.flush()


def predict(model: str, data: str, given: Mapping[str, Any], to: str | None) -> int:
    """Write a prediction for each record; tell the accuracy if there are labels."""
    saved = read_saved(model)
    if not saved.model.features:
        raise MistakeError(f"{saved.path}: the model has not learned anything yet")
    if to is not None:
        check_apart("--to", to, [data, str(saved.path)])
    options = dict(given) | _left_out(saved.model.features, data, given)
    source = make_source(options | {"from": [data]})
    sink: Sink = StandardOutput() if to is None else make_sink({"to": to})
    learner = Learner(saved.model)
    rejects = Rejects(None, 1.0)
    done = hits = labelled = 0
    try:
        while not source.ended:
            batch = source.poll(_MOST, 1.0)
            if batch is None:
                continue
            rejects.take(batch.rejected, batch.bad_fields)
            results = _answers(learner, batch, rejects)
            sink.write(results)
            done += len(results)
            labelled += sum(one.label is not None for one in results)
            hits += sum(one.label is not None and one.label == one.prediction for one in results)
        sink.flush()
    except SourceError as error:
        raise RunFailedError(one_line(error)) from error
    finally:
        source.close()
    sink.close()
    if rejects.first:
        print(f"stream-llsvm: {first_of(rejects)}", file=sys.stderr)
    if bad := bad_fields_of(rejects.bad_fields):
        print(f"stream-llsvm: {bad}; {first_bad_of(rejects)}", file=sys.stderr)
    share = f", {hits / labelled:.2%} of {labelled:,} labels right" if labelled else ""
    print(f"{done:,} predicted, {rejects.counts.total():,} rejected{share}", file=sys.stderr)
    return 0


def _answers(learner: Learner, batch: Batch, rejects: Rejects) -> list[Result]:
    nothing: list[Any] = [None] * len(batch)
    if batch.names is not None and batch.values is not None:
        answers = learner.block(batch.names, batch.values, nothing)
    else:
        answers = learner.records(batch.records or [], nothing)
    rejects.refused(batch.places, answers.refused)
    keys = batch.keys or nothing
    rows = zip(batch.places, keys, batch.labels, answers.labels, answers.sure, strict=True)
    return [
        Result(place, key, label, told, None if told is None else {told: float(sure)})
        for i, (place, key, label, told, sure) in enumerate(rows)
        if i not in answers.refused
    ]


def _left_out(features: Sequence[Any], data: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return which columns are to be left out: those that the model does not know."""
    if data == "-" or is_svmlight(data, given):
        return {}
    names = column_names(first_records(data, given))
    known = set(features)
    absent = [name for name in features if name not in names]
    if names and len(absent) == len(features):
        like = nearest(str(absent[0]), names)
        hint = f" (did you mean {like!r}?)" if like else ""
        raise MistakeError(
            f"{data} has none of the model's features: they are {listed(features)}{hint}; the "
            f"file has {listed(names)}"
        )
    if names and absent:
        print(f"stream-llsvm: {data} does not have {listed(absent)}", file=sys.stderr)
    apart = {given.get("label"), given.get("key")}
    return {"ignore": [name for name in names if name not in known and name not in apart]}
