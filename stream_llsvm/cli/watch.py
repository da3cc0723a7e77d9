"""Who watches a run beside it: the live page, and a webhook."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stream_llsvm.cli.errors import MistakeError, one_line

if TYPE_CHECKING:
    from stream_llsvm.cli.pipeline import Settings
    from stream_llsvm.engine.engine import Engine

#: Where a page's token is looked for.
TOKEN = "STREAM_LLSVM_TOKEN"
_PORT = 8765


def watch(settings: Settings, engine: Engine, stack: ExitStack) -> None:
    """Watch a run until the stack ends, as its settings say."""
    post_events(settings, engine, stack, engine.source.name)
    if "dashboard" in settings:
        show_page(settings["dashboard"], engine, stack, past=points_of(settings))


def post_events(settings: Settings, engine: Engine, stack: ExitStack, run: str) -> None:
    """Post a run's events until the stack ends, if its settings have a webhook."""
    url = settings.get("events", {}).get("webhook")
    if url is None:
        return
    from stream_llsvm.engine.events import Webhook

    try:
        engine.watchers.append(stack.enter_context(Webhook(url, run)))
    except ValueError as error:
        raise MistakeError(f"[events] {error}") from None


def points_of(settings: Settings) -> Path | None:
    """Return where the page's points are kept: beside the checkpoints, if there are any."""
    from stream_llsvm.dashboard.past import NAME  # late: it brings numpy

    folder = settings.get("checkpoints", {}).get("folder")
    return None if folder is None else Path(folder) / NAME


def show_page(
    given: Mapping[str, Any],
    engine: Engine,
    stack: ExitStack,
    **more: Any,
) -> None:
    """Serve the page of a run until the stack ends, and say where it is."""
    from stream_llsvm.cli.log import say

    host, port, token, made = _page_of(given)
    from stream_llsvm.dashboard.server import Dashboard, DashboardError

    more["ready_lag"] = given.get("ready_lag")
    try:
        page = Dashboard(engine, host=host, port=port, token=token, **more)
    except DashboardError as error:
        raise MistakeError(str(error)) from None
    stack.enter_context(page)
    address = page.address + (f"?token={made}" if made else "")
    say(f"the live page is at {address}", event="page", address=page.address)


def check_page(given: Mapping[str, Any]) -> None:
    """Raise MistakeError if the page that is asked for could not be served just now."""
    host, port, _, _ = _page_of(given)
    from stream_llsvm.dashboard.server import DashboardError, listening

    try:
        listening(host, port).close()
    except DashboardError as error:
        raise MistakeError(str(error)) from None


def _page_of(given: Mapping[str, Any]) -> tuple[str, int, str | None, str | None]:
    """Return a page's host, port and token, and the token again if it was made just now."""
    try:
        from stream_llsvm.dashboard.guard import new_token
        from stream_llsvm.dashboard.server import DashboardError, NoTokenError, check_access
    except ModuleNotFoundError as missing:
        raise MistakeError(f"the live page: {one_line(missing)}") from None
    made = new_token() if given.get("new_token") else None
    token = made or given.get("token") or os.environ.get(TOKEN) or None
    host = given.get("host", "127.0.0.1")
    try:
        check_access(host, token)
    except NoTokenError as error:
        raise MistakeError(f"{error}: set {TOKEN}, or give --new-token") from None
    except DashboardError as error:
        raise MistakeError(str(error)) from None
    return host, given.get("port", _PORT), token, made
