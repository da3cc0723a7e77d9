"""``top``: the essentials of a page, in the terminal."""

from __future__ import annotations

import socket
from urllib.request import ProxyHandler, build_opener

import pytest

from stream_llsvm.cli.top import drawn
from tests.cli.support import refused

pytest.importorskip("uvicorn", reason="comes with the extra 'dashboard'")

MODEL = ["--model", "llsvm", "--option", "n_anchors=12", "--option", "n_neighbors=4"]
OPENER = build_opener(ProxyHandler({}))


@pytest.mark.parametrize(
    "address", ["", "ftp://a", "http://", "a b", "http://h:x", "http://h:99999", "0"]
)
def test_top_wants_an_address(address: str) -> None:
    assert refused("top", address).count("\n") == 1


def test_top_says_that_nobody_answers() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    assert "is there a run with --dashboard?" in refused("top", f"localhost:{port}")


def test_top_shows_no_control_characters() -> None:
    from rich.console import Console

    status = {"source": "\x1b[2J\x07", "model": "m", "state": "running", "text": "\x1b]0;x\x07"}
    console = Console(record=True, force_terminal=False)
    with console.capture() as captured:
        console.print(drawn({"status": status, "events": [
            {"record": 1, "kind": "drift", "text": "\x9b2J[red]a[/red]"},
        ]}))  # fmt: skip
    text = captured.get()
    assert "\x1b" not in text and "\x9b" not in text and "\x07" not in text
    assert "[red]a[/red]" in text
    assert drawn(None).plain  # type: ignore[union-attr]


def test_top_tells_which_fields_have_moved() -> None:
    from rich.console import Console

    fields = [
        {"name": f"f{i}", "moved": 100 if i != 1 else -1, "what": f"missing in {i}%"}
        for i in range(6)
    ]
    fields[0]["name"] = "\x1b[2Jcity"
    frame = {"status": {"state": "running"}, "input": {"fields": fields, "moved": 5}}
    console = Console(force_terminal=False, width=80)
    with console.capture() as captured:
        console.print(drawn(frame))
    lines = captured.get().splitlines()
    assert [line for line in lines if "moved:" in line] == [
        "field ?[2Jcity has moved: missing in 0%",
        "field f2 has moved: missing in 2%",
        "field f3 has moved: missing in 3%",
    ]
    assert lines[-1] == "and 2 more fields have"
    with console.capture() as captured:
        console.print(drawn({**frame, "input": None}))
    assert "moved" not in captured.get()
