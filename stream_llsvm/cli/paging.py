"""Show a run on a page, if it was asked for."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

from stream_llsvm.cli.log import say
from stream_llsvm.cli.mistakes import MistakeError, one_line
from stream_llsvm.engine.engine import Engine

TOKEN = "STREAM_LLSVM_TOKEN"
_PORT = 8765


def show_page(given: Mapping[str, Any], engine: Engine, stack: ExitStack) -> None:
    """Serve the page of a run until the stack ends, and say where it is."""
    try:
        from stream_llsvm.dashboard.guard import new_token
        from stream_llsvm.dashboard.serving import Dashboard, DashboardError, NoTokenError
    except ModuleNotFoundError as missing:
        raise MistakeError(f"the live page: {one_line(missing)}") from None
    made = new_token() if given.get("new_token") else None
    token = made or given.get("token") or os.environ.get(TOKEN) or None
    host, port = given.get("host", "127.0.0.1"), given.get("port", _PORT)
    try:
        page = Dashboard(engine, host=host, port=port, token=token)
    except NoTokenError as error:
        raise MistakeError(f"{error}: set {TOKEN}, or give --new-token") from None
    except DashboardError as error:
        raise MistakeError(str(error)) from None
    stack.enter_context(page)
    address = page.address + (f"?token={made}" if made else "")
    say(f"the live page is at {address}", event="page", address=page.address)
