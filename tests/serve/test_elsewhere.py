"""What curl sends needs no header; what a browser sends for a page of elsewhere is refused."""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.dashboard.browser import chromium
from tests.serve.support import Served, records

FLAGS = ("--label", "y", "--model", "llsvm")
BODY = json.dumps(records(0, 5))
#: All that a page may send without the browser asking first, and then what it must ask for.
PAGE = """<!doctype html><title>elsewhere</title>
<form method="post" enctype="text/plain" target="hole"><input name='BODY' value=''></form>
<iframe name="hole"></iframe>
<script>
const body = BODY_HERE;
async function attack(server) {
  const sent = [], post = (path, type, mode) =>
    fetch(server + path, {method: "POST", mode, body, headers: {"Content-Type": type}});
  for (const type of ["text/plain", "application/x-www-form-urlencoded"])
    for (const path of ["v1/records", "v1/checkpoint", "v1/models/default/records"])
      sent.push(post(path, type, "no-cors"));
  sent.push(post("v1/records", "application/json", "cors")
    .then(() => "let in", () => "asked first"));
  const form = document.forms[0], field = form.elements[0];
  field.name = body.slice(0, -1) + ',"id":"';
  field.value = '"}';
  form.action = server + "v1/records";
  const seen = new Promise(done => document.querySelector("iframe").onload = done);
  form.submit();
  await seen;
  return (await Promise.all(sent)).map(one => one.type || one);
}
</script>
"""


@contextmanager
def elsewhere() -> Iterator[str]:
    """Serve a page at another address than the server's."""

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(PAGE.replace("BODY_HERE", json.dumps(BODY)).encode())

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_no_page_of_elsewhere_teaches_a_model(tmp_path: Path) -> None:
    flags = (*FLAGS, "--every", "3600")
    with chromium() as browser, elsewhere() as address, Served(tmp_path, *flags) as served:
        page = browser.new_page()
        page.goto(address)
        told = page.evaluate("server => attack(server)", served.address)
        assert told == ["opaque"] * 6 + ["asked first"], "they were sent, and not let in"
        model = served.get("/v1/models/default")
        assert (model["counts"]["records"], model["log"]["end"]) == (0, 0)
        assert "checkpoint" not in model or model["checkpoint"]["records"] == 0
        served.post("/v1/records", records(0, 5))
        assert served.get("/v1/models/default")["log"]["end"] == 5


def curl(address: str, body: str) -> Any:
    """Ask as ``curl ADDRESS -d BODY`` does, by it where it is there; return what is answered."""
    program = shutil.which("curl")
    if program is None:
        form = {"content-type": "application/x-www-form-urlencoded"}
        return httpx.post(address, content=body, headers=form, trust_env=False).json()
    asked = [program, "--silent", "--noproxy", "*", address, "-d", body]
    return json.loads(subprocess.run(asked, capture_output=True, check=True).stdout)


@pytest.mark.parametrize("path", ["v1/records", "v1/models/default/records"])
def test_curl_needs_no_header(tmp_path: Path, path: str) -> None:
    with Served(tmp_path, *FLAGS) as served:
        told = curl(served.address + path, BODY)
        assert (told["learned"], len(told["predictions"])) == (5, 5)
        assert "label" in curl(served.address + "v1/explain", '{"record": {"a": 1.0, "b": 0.5}}')
