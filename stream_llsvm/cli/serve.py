"""``stream-llsvm serve``: models behind HTTP, each with a log, an engine and a folder."""

from __future__ import annotations

import contextlib
import copy
import os
import re
import sys
import threading
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from stream_llsvm.cli.errors import MistakeError, one_line, unknown
from stream_llsvm.cli.options import (
    SECTIONS,
    SERVE,
    checked,
    flags_of_pipeline,
    places,
    secret,
    values_of,
    with_flags,
)
from stream_llsvm.cli.signals import Stopping
from stream_llsvm.cli.watch import TOKEN, points_of, post_events
from stream_llsvm.connectors.keys import Key, one_of
from stream_llsvm.options import choice

if TYPE_CHECKING:
    from contextlib import ExitStack

    from stream_llsvm.cli.pipeline import Pipeline, Settings
    from stream_llsvm.serve.served import ServedModel

EXAMPLE = "stream-llsvm serve --folder served --label y --id id"

USUAL = "default"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_NOT_HERE = ("dashboard",)
_ONE_ONLY = ("sink", "dead_letters", "publish")
_LATE = {"most": SECTIONS["labels"]["most"], "longest": SECTIONS["labels"]["longest"]}
_SWITCH_INTERVAL = 0.001  # seconds that a thread may keep others from Python


def _is_served(flag: str, key: Key) -> bool:
    """Whether a flag of a pipeline means something where records come over HTTP."""
    section, name = places(flag)[0]
    if section == "source":
        return not key.only and name not in ("from", "label", "key", "unwrap")
    if section == "checkpoints":
        return name in ("every", "keep")
    return section in ("engine", "sink", "dead_letters") or flag == "--max-keys"


_PIPELINE = {flag: key for flag, key in flags_of_pipeline().items() if _is_served(flag, key)}
_OWN = {key.flag: key for key in SERVE.values()}
_LOG = {"--log-format": Key(one_of("text", "json"), help="Of what is said, on stderr.")}


@with_flags(_PIPELINE | _OWN | _LOG)
def command(
    folder: Annotated[
        Path, Option(metavar="FOLDER", help="Logs and checkpoints: it goes on from there.")
    ],
    pipeline: Annotated[
        Path | None, typer.Argument(metavar="PIPELINE", help="A pipeline file (TOML).")
    ] = None,
    model: Annotated[
        list[str] | None,
        Option(metavar="[NAME=]MODEL", help="A model, or several: a=committee, b=sapl."),
    ] = None,
    option: Annotated[
        list[str] | None, Option(metavar="NAME=VALUE", help="Of every model: threads=2.")
    ] = None,
    label: Annotated[
        str | None, Option(metavar="COLUMN", help="What the label is called (label).")
    ] = None,
    id: Annotated[str | None, Option(metavar="COLUMN", help="What the id is called (id).")] = None,
    **given: Any,
) -> int:
    """Serve models."""
    from stream_llsvm.cli.models import parsed
    from stream_llsvm.cli.pipeline import Pipeline

    asked = Pipeline(pipeline)
    asked.flags(values_of(_PIPELINE, given))
    asked.flag("--label", "source", "label", label)
    asked.flag("--id", "source", "key", id)
    for name, value in parsed(option or []).items():
        asked.flag(f"--option {name}", "model", name, value)
    serve = _own(asked)
    serve |= {
        name: value
        for name, key in SERVE.items()
        if (value := checked(_OWN, given).get(key.flag)) is not None
    }
    every = _models(asked, model or [])
    settings = {name: _settings(asked, name, one, folder) for name, one in every.items()}
    log_format = checked(_LOG, given).get("--log-format") or "text"
    return _serve(settings, serve, folder, log_format)


def _own(asked: Pipeline) -> dict[str, Any]:
    """Return what ``[serve]`` says, checked."""
    found: Any = asked.settings.pop("serve", {})
    where = f"{asked.path}: [serve]"
    if not isinstance(found, dict):
        raise MistakeError(f"{where}: it is a section")
    for name, value in found.items():
        if name not in SERVE:
            raise MistakeError(f"{where}: {unknown('key', name, SERVE)}")
        try:
            found[name] = SERVE[name].kind.check(name, value)
        except ValueError as error:
            raise MistakeError(f"{where} {name}: {error}") from None
    return dict(found)


def _models(asked: Pipeline, flags: list[str]) -> dict[str, dict[str, Any]]:
    """Return what is said of each model, by its name."""
    found: Any = asked.settings.pop("models", {})
    if not isinstance(found, dict) or not all(isinstance(one, dict) for one in found.values()):
        raise MistakeError(f"{asked.path}: [models.NAME] is a section for each model")
    models = {name: dict(one) for name, one in found.items()}
    for flag in flags:
        name, named, kind = flag.rpartition("=")
        name = name if named else USUAL
        if name in models:
            raise MistakeError(f"--model {flag}: there is a model {name!r} already")
        models[name] = {"class": kind}
    for name in models:
        if not _NAME.fullmatch(name):
            raise MistakeError(
                f"a model's name has up to 64 letters, digits, dots and dashes; got {name!r}"
            )
    models = models or {USUAL: {}}
    both = [section for section in _ONE_ONLY if section in asked.settings]
    if len(models) > 1 and both:
        raise MistakeError(f"[{both[0]}] is one place, and there are {len(models)} models")
    return models


def _settings(asked: Pipeline, name: str, model: dict[str, Any], folder: Path) -> Settings:
    """Return the settings of one model, checked: its records come from its log."""
    one = copy.copy(asked)
    one.settings, one.wrong = copy.deepcopy(asked.settings), []
    settings = one.settings
    for section in settings:
        if section in _NOT_HERE:
            raise MistakeError(f"{one.where(section)}: it is for `run`, and not for `serve`")
    late = settings.pop("labels", {})
    for key, value in late.items():
        if key not in _LATE:
            raise MistakeError(f"[labels] {unknown('key', key, _LATE)}: labels come over HTTP")
        _LATE[key].kind.check(key, value)
    settings["model"] = {**settings.get("model", {}), **model}
    source = settings.setdefault("source", {})
    for key in ("from", "follow", "unwrap"):
        if key in source:
            raise MistakeError(f"{one.where('source', key)}: records come over HTTP")
    source.setdefault("label", "label")
    source.setdefault("key", "id")
    if source["label"] == source["key"]:
        raise MistakeError(f"the label and the id are both {source['key']!r}: name another")
    source["from"] = [f"server-log:{folder / name / 'log'}"]
    settings.setdefault("checkpoints", {})["folder"] = str(folder / name / "checkpoints")
    settings.setdefault("engine", {}).setdefault("max_rejected_ratio", 1.0)
    found = one.checked()
    found["labels"] = late
    return found


def _serve(
    settings: Mapping[str, Settings], serve: Mapping[str, Any], folder: Path, log_format: str
) -> int:
    """Serve until a signal comes; return the exit code."""
    from stream_llsvm.cli.log import fail, logged, say

    try:
        from stream_llsvm.serve.server import Server, ServerError
    except ModuleNotFoundError as missing:
        raise MistakeError(one_line(missing)) from None
    sys.setswitchinterval(_SWITCH_INTERVAL)
    stop = threading.Event()
    with contextlib.ExitStack() as stack:
        stack.enter_context(logged(log_format))
        stopping = stack.enter_context(Stopping(stop.set))
        tokens = _tokens(serve.get("tokens"))
        models = [
            _model(name, one, serve, folder, stack, stop.set) for name, one in settings.items()
        ]
        where = {name: serve[name] for name in ("host", "port") if name in serve}
        if "body_bytes" in serve:
            where["most_bytes"] = serve["body_bytes"]
        try:
            server = Server(
                models,
                tokens=tokens,
                certificate=Path(serve["tls_cert"]) if "tls_cert" in serve else None,
                key=Path(serve["tls_key"]) if "tls_key" in serve else None,
                **where,
            )
        except ServerError as error:
            raise MistakeError(str(error)) from None
        server.start()
        names = ", ".join(model.name for model in models)
        say(f"serving {names} at {server.address}", event="serving", address=server.address)
        stopping.again()
        stop.wait()
        say("stopping: what was acknowledged is learned first", event="stopping")
        server.stop()
        failed = [model for model in models if model.failed]
        for model in models:
            made = model.engine.made
            say(
                f"model {model.name}: {model.engine.progress.counts['learned']:,} records learned, "
                f"checkpoint {0 if made is None else made.number}",
                event="stopped",
                model=model.name,
            )
        for model in failed:
            fail(f"model {model.name} had stopped: {model.failed}", event="failed")
    return 1 if failed else 0


def _model(
    name: str,
    settings: Settings,
    serve: Mapping[str, Any],
    folder: Path,
    stack: ExitStack,
    on_failed: Callable[[], object],
) -> ServedModel:
    """Return one model, which goes on from its last checkpoint."""
    from stream_llsvm.cli.build import make_engine, make_sink
    from stream_llsvm.cli.log import Alarms, warn
    from stream_llsvm.connectors.log.writer import KEEP_BYTES, LogError, LogWriter
    from stream_llsvm.dashboard.run_page import RunPage
    from stream_llsvm.serve.bodies import Names
    from stream_llsvm.serve.served import ServedModel

    days = serve.get("log_days")
    try:
        writer = LogWriter(
            folder / name / "log",
            keep_bytes=serve.get("log_bytes", KEEP_BYTES),
            keep_seconds=None if days is None else 86_400.0 * days,
            checkpoints=settings["checkpoints"].get("keep", 3) + 2,
        )
    except LogError as error:
        raise MistakeError(str(error)) from None
    stack.callback(writer.close)
    if writer.torn:
        warn(
            f"model {name}: the log's last {writer.torn:,} bytes were cut away "
            f"({writer.torn_why}); they are kept beside it in a file .torn",
            event="torn",
            model=name,
        )
    given = settings.get("sink")
    sink = None if given is None else make_sink(given)
    if sink is not None:
        stack.callback(sink.close)
    engine = make_engine(settings, sink, stack)
    if writer.failed:
        raise MistakeError(f"model {name}: {writer.failed}")
    if writer.passed_over:
        warn(
            f"model {name}: {writer.passed_over} in the log; the checkpoint has learned them, and "
            "a new file of the log begins behind them",
            event="passed over",
            model=name,
        )
    Alarms(engine, settings["source"]["label"])
    post_events(settings, engine, stack, name)
    page = RunPage(engine, points_of(settings), serve.get("ready_lag"), name)
    names = Names(settings["source"]["label"], settings["source"]["key"])
    more = {key: serve[key] for key in ("ids", "waiting") if key in serve}
    return ServedModel(name, writer, engine, page, names, on_failed=on_failed, **more)


def _tokens(path: str | None) -> dict[str, str]:
    """Return the tokens and what each may do: one from the environment, others from a file."""
    from stream_llsvm.dashboard.rights import ADMIN, RIGHTS

    found: dict[str, str] = {}
    if token := os.environ.get(TOKEN):
        found[token] = ADMIN
    if path is None:
        return found
    try:
        given = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise MistakeError(f"--tokens: {path} cannot be read: {one_line(error)}") from None
    for name, one in given.items():
        if not isinstance(one, dict) or set(one) != {"token", "right"}:
            raise MistakeError(
                f'--tokens: {path}: write a section [{name}] with token = "..." and right = "..."'
            )
        try:
            token = secret("token", one["token"])
            found[token] = choice("right", one["right"], tuple(RIGHTS))
        except ValueError as error:
            raise MistakeError(f"--tokens: {path}: [{name}] {error}") from None
    return found
