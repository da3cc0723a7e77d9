"""``stream-llsvm run``: learn a stream, from a pipeline file or by flags."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Option

HELP = "Learn a stream and write predictions, as a pipeline file says, or flags, or both."
EXAMPLE = "stream-llsvm run --from data.csv --label y --to predictions.jsonl --checkpoints kept"

Text = str | None


def command(
    pipeline: Annotated[Path | None, typer.Argument(help="A pipeline file (TOML).")] = None,
    from_: Annotated[
        list[str] | None, Option("--from", help="A file (several: repeat), or kafka://host/topic.")
    ] = None,
    label: Annotated[Text, Option(help="The column that is the label.")] = None,
    key: Annotated[Text, Option(help="The column to join late labels by.")] = None,
    ignore: Annotated[list[str] | None, Option(help="A column that is no feature.")] = None,
    format_: Annotated[
        Text, Option("--format", help="csv, jsonl, svmlight or parquet, if its name does not tell.")
    ] = None,
    message: Annotated[Text, Option(help="Kafka: json (usual), msgpack, or csv with --names.")] = (
        None
    ),
    names: Annotated[
        list[str] | None,
        Option(help="A field, if none are named in the records: repeat, in order."),
    ] = None,
    follow: Annotated[
        bool, Option("--follow", help="Wait for more at the end, like tail.")
    ] = False,
    labels: Annotated[
        Text, Option(help="Labels that come later: a file or topic with key and label.")
    ] = None,
    on_lost_data: Annotated[
        Text, Option(help="If Kafka deleted what is wanted: stop (usual) or earliest, to go on.")
    ] = None,
    to: Annotated[Text, Option(help="Predictions: a .jsonl file or kafka://host/topic.")] = None,
    make_topics: Annotated[
        bool, Option("--make-topics", help="Make the topics that are written to, if need be.")
    ] = False,
    dead_letters: Annotated[Text, Option(help="Where records go that cannot be read.")] = None,
    model: Annotated[Text, Option(help="committee, sapl, ... or a class by its name.")] = None,
    option: Annotated[list[str] | None, Option(help="name=value, for the model.")] = None,
    save: Annotated[Text, Option(help="Write the model to this file at the end.")] = None,
    checkpoints: Annotated[Text, Option(help="A folder: the run goes on from there.")] = None,
    every: Annotated[float | None, Option(help="Seconds between checkpoints (60).")] = None,
    keep: Annotated[int | None, Option(help="How many checkpoints are kept (3).")] = None,
    max_batch: Annotated[int | None, Option(help="Records taken at once (1000).")] = None,
    max_rejected_ratio: Annotated[
        float | None, Option(help="Stop when more than this share cannot be used (0.5).")
    ] = None,
    window: Annotated[int | None, Option(help="Records the last scores look at (1000).")] = None,
    detector: Annotated[Text, Option(help="adwin (usual) or none.")] = None,
    dashboard: Annotated[
        Text, Option(help="Show the run on a page at [HOST:]PORT, such as 8765.")
    ] = None,
    new_token: Annotated[
        bool,
        Option("--new-token", help="Make a token for the page, and print it in its address."),
    ] = False,
    max_records: Annotated[
        int | None, Option(min=1, help="Stop after about so many: at the end of a batch.")
    ] = None,
    json: Annotated[bool, Option("--json", help="Print one JSON object at the end.")] = False,
) -> int:
    """Run a pipeline."""
    from stream_llsvm.cli import models
    from stream_llsvm.cli.addresses import host_and_port
    from stream_llsvm.cli.pipeline import Pipeline
    from stream_llsvm.cli.running import run_pipeline

    asked = Pipeline(pipeline)
    asked.flag("--from", "source", "from", from_)
    asked.flag("--label", "source", "label", label)
    asked.flag("--key", "source", "key", key)
    asked.flag("--ignore", "source", "ignore", ignore)
    asked.flag("--format", "source", "format", format_)
    asked.flag("--message", "source", "message", message)
    asked.flag("--names", "source", "names", names)
    asked.flag("--on-lost-data", "source", "on_lost_data", on_lost_data)
    asked.flag("--follow", "source", "follow", follow)
    if labels is not None:
        asked.flag("--labels", "labels", "from", [labels])
        asked.flag("--label", "labels", "label", label)
        asked.flag("--key", "labels", "key", key)
    asked.flag("--to", "sink", "to", to)
    asked.flag("--dead-letters", "dead_letters", "to", dead_letters)
    for section in ("sink", "dead_letters"):
        if str(asked.settings.get(section, {}).get("to")).lower().startswith("kafka://"):
            asked.flag("--make-topics", section, "make_topic", make_topics)
    asked.flag("--model", "model", "class", model)
    for name, value in models.parsed(option or []).items():
        asked.flag(f"--option {name}", "model", name, value)
    asked.flag("--save", "model", "save", save)
    asked.flag("--checkpoints", "checkpoints", "folder", checkpoints)
    asked.flag("--every", "checkpoints", "every", every)
    asked.flag("--keep", "checkpoints", "keep", keep)
    asked.flag("--max-batch", "engine", "max_batch", max_batch)
    asked.flag("--max-rejected-ratio", "engine", "max_rejected_ratio", max_rejected_ratio)
    asked.flag("--window", "engine", "window", window)
    asked.flag("--detector", "engine", "detector", detector)
    if dashboard is not None:
        host, port = host_and_port(dashboard)
        asked.flag("--dashboard", "dashboard", "host", host)
        asked.flag("--dashboard", "dashboard", "port", port)
    asked.flag("--new-token", "dashboard", "new_token", new_token)
    return run_pipeline(asked.checked(), as_json=json, max_records=max_records)
