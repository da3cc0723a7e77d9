"""``stream-llsvm alerts``: the rules, for people and for Prometheus, and a message to try."""

from __future__ import annotations

import time
from pathlib import Path
from socket import gethostname
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Option

from stream_llsvm.cli.errors import MistakeError, RunFailedError, put

if TYPE_CHECKING:
    from stream_llsvm.alerts.channels import Channel

EXAMPLE = "stream-llsvm alerts pipeline.toml"


def command(
    pipeline: Annotated[
        Path | None,
        typer.Argument(
            metavar="PIPELINE", help="A pipeline file: tell all whom its [alerts] names, as a test."
        ),
    ] = None,
    prometheus: Annotated[
        bool, Option("--prometheus", help="Print the rules as Prometheus reads them.")
    ] = False,
    kubernetes: Annotated[
        bool, Option("--kubernetes", help="Print them as an object of Prometheus' operator.")
    ] = False,
) -> int:
    """Print the rules, or try who is told."""
    if prometheus and kubernetes:
        raise MistakeError("--prometheus and --kubernetes: one of them")
    if pipeline is not None:
        if prometheus or kubernetes:
            flag = "--prometheus" if prometheus else "--kubernetes"
            raise MistakeError(f"{flag}: the rules are the same for every pipeline file")
        return _tried(pipeline)
    if prometheus or kubernetes:
        from stream_llsvm.alerts.prometheus import rule_file, rule_object

        put(rule_file() if prometheus else rule_object(), end="")
        return 0
    _listed()
    return 0


def _listed() -> None:
    """Print what each rule is, with its threshold."""
    from stream_llsvm.alerts.rules import RULES

    for rule in RULES:
        put(f"{rule.name}: {rule.severity}, {rule.threshold:g} ({rule.meaning})")
        put(f"  {rule.summary}")


def _tried(path: Path) -> int:
    """Send a message to each channel of a pipeline; exit code 1 if one did not take it."""
    from stream_llsvm.alerts.alert import Alert
    from stream_llsvm.alerts.channels import ChannelError
    from stream_llsvm.alerts.conditions import Number
    from stream_llsvm.alerts.message import Message
    from stream_llsvm.alerts.rules import Rule
    from stream_llsvm.cli.pipeline import Pipeline

    given = Pipeline(path).checked().get("alerts", {})
    channels: list[Channel] = [
        one for key in ("webhook", "email", "command") for one in given.get(key, [])
    ]
    if not channels:
        raise MistakeError(f"{path}: [alerts] names no webhook, email or command")
    test = Rule(
        "test", "warning", "This is a test: nothing is wrong.", lambda _: Number(0.0), 0, "none"
    )
    now = time.time()
    message = Message(str(path), gethostname(), now, [Alert(test, now, 0.0)])
    failed = 0
    for channel in channels:
        try:
            channel.send(message)
        except ChannelError as error:
            failed += 1
            put(f"not told: {error}")
        else:
            put(f"told: {channel.name}")
    if failed:
        raise RunFailedError(f"{failed} of {len(channels)} were not told")
    return 0
