"""``stream-llsvm run``: learn a stream, from a pipeline file or by flags."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer
from typer import Option

from stream_llsvm.cli.commands.record_options import (
    Decimal,
    Delimiter,
    Encoding,
    Features,
    Ignore,
    Missing,
    Names,
    OnBadField,
)

HELP = "Learn a stream and write predictions, as a pipeline file says, or flags, or both."
EXAMPLE = "stream-llsvm run --from data.csv --label y --to predictions.jsonl --checkpoints kept"

Text = str | None

#: Each flag of the pipeline's, the section it belongs to, and its key there.
FLAGS = (
    ("--from", "source", "from"),
    ("--label", "source", "label"),
    ("--key", "source", "key"),
    ("--format", "source", "format"),
    ("--message", "source", "message"),
    ("--delimiter", "source", "delimiter"),
    ("--encoding", "source", "encoding"),
    ("--decimal", "source", "decimal"),
    ("--on-bad-field", "source", "on_bad_field"),
    ("--follow", "source", "follow"),
    ("--on-lost-data", "source", "on_lost_data"),
    ("--group", "source", "group"),
    ("--to", "sink", "to"),
    ("--dead-letters", "dead_letters", "to"),
    ("--model", "model", "class"),
    ("--save", "model", "save"),
    ("--checkpoints", "checkpoints", "folder"),
    ("--every", "checkpoints", "every"),
    ("--keep", "checkpoints", "keep"),
    ("--max-batch", "engine", "max_batch"),
    ("--max-rejected-ratio", "engine", "max_rejected_ratio"),
    ("--window", "engine", "window"),
    ("--detector", "engine", "detector"),
    ("--probabilities", "engine", "probabilities"),
    ("--new-token", "dashboard", "new_token"),
)


def command(
    pipeline: Annotated[Path | None, typer.Argument(help="A pipeline file (TOML).")] = None,
    from_: Annotated[
        list[str] | None, Option("--from", help="A file (several: repeat), or kafka://host/topic.")
    ] = None,
    label: Annotated[Text, Option(help="The column that is the label.")] = None,
    key: Annotated[Text, Option(help="The column to join late labels by.")] = None,
    ignore: Ignore = None,
    features: Features = None,
    format_: Annotated[
        Text, Option("--format", help="csv, jsonl, svmlight or parquet, if its name does not tell.")
    ] = None,
    message: Annotated[Text, Option(help="Kafka: json (usual), msgpack, or csv with --names.")] = (
        None
    ),
    names: Names = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    missing: Missing = None,
    decimal: Decimal = None,
    on_bad_field: OnBadField = None,
    follow: Annotated[
        bool, Option("--follow", help="Wait for more at the end, like tail.")
    ] = False,
    labels: Annotated[
        Text, Option(help="Labels that come later: a file or topic with key and label.")
    ] = None,
    on_lost_data: Annotated[
        Text, Option(help="If Kafka deleted what is wanted: stop (usual) or earliest, to go on.")
    ] = None,
    partitions: Annotated[
        list[str] | None, Option(help="Kafka: read only these of each topic: 0,1.")
    ] = None,
    group: Annotated[
        Text, Option(help="Kafka: show in this consumer group how far checkpoints have come.")
    ] = None,
    to: Annotated[
        Text, Option(help="Predictions: a .jsonl or .csv file, - or kafka://host/topic.")
    ] = None,
    probabilities: Annotated[
        Text, Option(help="Write that of the likeliest label (top, usual), or of all.")
    ] = None,
    on_lost_output: Annotated[
        Text, Option(help="If a file that is written to was moved away: stop (usual) or new.")
    ] = None,
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
    log_format: Annotated[
        Literal["text", "json"] | None,
        Option(help="Of what is said meanwhile, on stderr: text, or a JSON object a line."),
    ] = None,
) -> int:
    """Run a pipeline."""
    given = {name.rstrip("_"): value for name, value in locals().items()}
    from stream_llsvm.cli import models
    from stream_llsvm.cli.addresses import host_and_port
    from stream_llsvm.cli.columns import names_in
    from stream_llsvm.cli.pipeline import Pipeline
    from stream_llsvm.cli.running import run_pipeline

    asked = Pipeline(pipeline)
    for flag, section, of in FLAGS:
        asked.flag(flag, section, of, given[flag.removeprefix("--").replace("-", "_")])
    if labels is not None:
        asked.flag("--labels", "labels", "from", [labels])
        asked.flag("--label", "labels", "label", label)
        asked.flag("--key", "labels", "key", key)
    for several in ("names", "ignore", "features", "missing"):
        asked.flag(f"--{several}", "source", several, names_in(given[several] or []))
    numbers = [int(n) if n.isdecimal() else n for n in names_in(partitions or [])]
    asked.flag("--partitions", "source", "partitions", numbers)
    for section in ("sink", "dead_letters"):
        if str(asked.settings.get(section, {}).get("to")).lower().startswith("kafka://"):
            asked.flag("--make-topics", section, "make_topic", make_topics)
        elif section in asked.settings:
            asked.flag("--on-lost-output", section, "on_lost_output", on_lost_output)
    for name, value in models.parsed(option or []).items():
        asked.flag(f"--option {name}", "model", name, value)
    if dashboard is not None:
        host, port = host_and_port(dashboard)
        asked.flag("--dashboard", "dashboard", "host", host)
        asked.flag("--dashboard", "dashboard", "port", port)
    return run_pipeline(
        asked.checked(), as_json=json, max_records=max_records, log_format=log_format
    )
