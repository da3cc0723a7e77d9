"""``stream-llsvm run``: learn a stream, from a pipeline file or by flags."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer import Option

from stream_llsvm.cli.options import JSON, MAX_RECORDS, flags_of_pipeline, values_of, with_flags

HELP = "Learn a stream and write predictions, as a pipeline file says, or flags, or both."
EXAMPLE = "stream-llsvm run --from data.csv --label y --to predictions.jsonl --checkpoints kept"


@with_flags(flags_of_pipeline())
def command(
    pipeline: Annotated[
        Path | None, typer.Argument(metavar="PIPELINE", help="A pipeline file (TOML).")
    ] = None,
    max_records: MAX_RECORDS = None,
    option: Annotated[
        list[str] | None, Option(metavar="NAME=VALUE", help="Of the model: threads=2.")
    ] = None,
    dashboard: Annotated[
        str | None,
        Option(metavar="[HOST:]PORT", help="Show the run on a live page there, such as 8765."),
    ] = None,
    json: JSON = False,
    log_format: Annotated[
        Literal["text", "json"] | None,
        Option(help="Of what is said meanwhile, on stderr: text, or a JSON object a line."),
    ] = None,
    **given: Any,
) -> int:
    """Run a pipeline."""
    from stream_llsvm.cli import models
    from stream_llsvm.cli.addresses import host_and_port
    from stream_llsvm.cli.pipeline import Pipeline
    from stream_llsvm.cli.running import run_pipeline

    asked = Pipeline(pipeline)
    asked.flags(values_of(flags_of_pipeline(), given))
    for name, value in models.parsed(option or []).items():
        asked.flag(f"--option {name}", "model", name, value)
    if dashboard is not None:
        host, port = host_and_port(dashboard)
        asked.flag("--dashboard", "dashboard", "host", host)
        asked.flag("--dashboard", "dashboard", "port", port)
    return run_pipeline(
        asked.checked(), as_json=json, max_records=max_records, log_format=log_format
    )
