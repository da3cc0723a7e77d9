"""``stream-llsvm top``: how a run with a live page is doing, in the terminal."""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import SplitResult, parse_qs, urlsplit

import typer
from typer import Option

from stream_llsvm.cli.errors import MistakeError, one_line, printable
from stream_llsvm.cli.signals import raising_interrupts
from stream_llsvm.cli.watch import TOKEN

if TYPE_CHECKING:
    from urllib.error import URLError
    from urllib.request import OpenerDirector, Request

    from rich.console import Group
    from rich.text import Text

EXAMPLE = "stream-llsvm top localhost:8765"

_EVERY = 0.5
_PATIENCE = 5.0  # seconds for an answer
_LARGEST = 50_000_000  # bytes of an answer
_EVENTS = 5
_FIELDS = 3  # that have moved


def command(
    address: Annotated[
        str, typer.Argument(metavar="ADDRESS", help="The page's address, or HOST:PORT.")
    ] = "8765",
    once: Annotated[bool, Option("--once", help="Show it once, and end.")] = False,
) -> int:
    """Watch a run. A token is taken from STREAM_LLSVM_TOKEN, or from the address."""
    return watch_page(address, once=once)


class Asked:
    """A page that can be asked for its newest frame.

    Parameters
    ----------
    address
        ``http://host:port/?token=...``, ``host:port`` or a port of this machine.

    """

    def __init__(self, address: str) -> None:
        self._request, self._opener = asked_of(address, "/api/snapshot")
        self.shown = self._request.full_url.removesuffix("/api/snapshot")

    def frame(self) -> dict[str, Any] | None:
        """Return the newest frame, None if there is none yet."""
        import http.client
        from urllib.error import HTTPError, URLError

        try:
            with self._opener.open(self._request, timeout=_PATIENCE) as answer:
                told = json.loads(answer.read(_LARGEST))
        except HTTPError as error:
            with error:
                if error.code == http.client.CONFLICT:
                    return None
                why = f": set {TOKEN}" if error.code == http.client.UNAUTHORIZED else ""
                raise MistakeError(
                    f"{self.shown} answers {error.code} {error.reason}{why}"
                ) from None
        except URLError as error:
            if isinstance(error.reason, ConnectionRefusedError):
                raise MistakeError(
                    f"nothing answers at {self.shown}: is there a run with --dashboard?"
                ) from None
            raise MistakeError(f"{self.shown}: {one_line(_reason(error))}") from None
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise MistakeError(f"{self.shown}: {one_line(error)}") from None
        if not isinstance(told, dict) or not isinstance(told.get("status"), dict):
            raise MistakeError(f"{self.shown} is no live page of a run")
        return told


def asked_of(address: str, path: str) -> tuple[Request, OpenerDirector]:
    """Return what asks a page for something, with its token, and by whom it is sent."""
    from urllib.request import ProxyHandler, Request, build_opener

    parts = _parts(address)
    shown = f"http://{parts.netloc.rpartition('@')[2]}"
    query = parse_qs(parts.query).get("token", [""])[0]
    token = query or os.environ.get(TOKEN, "")
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    # A page is here or in the same net: no proxy knows the way there.
    return Request(shown + path, headers=headers), build_opener(ProxyHandler({}))


def _reason(error: URLError) -> BaseException:
    return error.reason if isinstance(error.reason, BaseException) else error


def _parts(address: str) -> SplitResult:
    whole = address if "://" in address else f"http://{address}"
    if address.isdecimal():
        whole = f"http://localhost:{address}"
    parts = urlsplit(whole)
    try:
        sound = bool(parts.scheme == "http" and parts.hostname and parts.port != 0)
    except ValueError:
        sound = False
    if not sound or not whole.isascii() or not whole.isprintable() or " " in whole:
        raise MistakeError(f"{address}: write the page's address, such as localhost:8765")
    return parts


def watch_page(address: str, *, once: bool) -> int:
    """Show a page's frames until Ctrl-C, or the run has ended; return the exit code."""
    from rich.console import Console
    from rich.live import Live

    asked, console = Asked(address), Console(highlight=False)
    frame = asked.frame()
    if once or not console.is_terminal:
        console.print(drawn(frame))
        return 0
    with (
        raising_interrupts(),
        Live(drawn(frame), console=console, auto_refresh=False) as screen,
    ):
        while frame is None or frame["status"].get("state") not in ("stopped", "failed"):
            time.sleep(_EVERY)
            try:
                frame = asked.frame()
            except MistakeError as gone:
                # The page ends with its run.
                console.print(_text(str(gone)))
                return 0
            screen.update(drawn(frame), refresh=True)
    return 0


def drawn(frame: dict[str, Any] | None) -> Group | Text:
    """Return what there is to see of a frame."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    if frame is None:
        return Text("nothing to show yet")
    status = frame["status"]
    table = Table(show_header=False)
    table.add_column("")
    table.add_column("", justify="right")
    for name, value in _rows(frame):
        table.add_row(name, _text(value))
    head = _text(f"{status.get('source')}  {status.get('model')}", style="bold")
    events = [
        _text(f"at {event.get('record'):,}: {event.get('kind')}: {event.get('text')}")
        for event in (frame.get("events") or [])[-_EVENTS:]
    ]
    return Group(head, table, *(_text(line) for line in moved_in(frame)), *events)


def moved_in(frame: dict[str, Any]) -> list[str]:
    """Return a line for each of the first fields that are others than they were."""
    told = frame.get("input") or {}
    moved = [one for one in told.get("fields") or [] if one.get("moved", -1) >= 0][:_FIELDS]
    more = (told.get("moved") or 0) - len(moved)
    lines = [f"field {one['name']} has moved: {one.get('what')}" for one in moved]
    return [*lines, f"and {more:,} more fields have"] if moved and more > 0 else lines


def _text(told: str, style: str = "") -> Text:
    from rich.text import Text

    return Text(printable(told), style=style)


def _told(score: dict[str, Any], value: float) -> str:
    """Return a score as tables show it."""
    return format(value, ".2%" if score["percent"] else ",.5g" if score["in_units"] else ".3f")


def _rows(frame: dict[str, Any]) -> list[tuple[str, str]]:
    status, point = frame["status"], frame.get("point") or {}
    made = status.get("checkpoint")
    rows = [("state", f"{status.get('state')} {status.get('text') or ''}".strip())]
    rows += [
        (name, f"{status[key]:,}")
        for name, key in (
            ("records", "records"), ("learned", "learned"), ("rejected", "rejected"),
            ("lag", "lag"), ("drifts", "drifts"),
        )
        if status.get(key) is not None
    ]  # fmt: skip
    rows.append(("records/s", f"{status.get('rate') or 0:,.0f}"))
    scores, listed = frame.get("scores") or {}, frame.get("score_list") or []
    views = [(one, "windowed") for one in listed if one["main"] or one["chart"]]
    views += [(one, "cumulative") for one in listed if one["chart"] == "view"]
    rows += [
        (f"{one['title']}, {view}", _told(one, value))
        for one, view in views
        if (value := scores.get(view, {}).get(one["name"])) is not None
    ]
    if point.get("predict_p99") is not None:
        rows.append(("answer within, p99", f"{1_000 * point['predict_p99']:,.1f} ms"))
    if made is not None:
        failed = ", the last one failed" if made.get("failed") else ""
        rows.append(("checkpoint", f"number {made['number']} at {made['record']:,}{failed}"))
    return rows
