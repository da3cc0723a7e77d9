"""``answer --http``: a reader that answers questions with the newest published model."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import ProxyHandler, Request, build_opener

import pytest

from stream_llsvm import load_model
from stream_llsvm.engine.snapshots import published
from tests.cli.pair import Run
from tests.cli.support import csv_file, refused, rows, told, wait_for
from tests.cli.test_signals import arguments

pytest.importorskip("uvicorn", reason="comes with the extra 'dashboard'")

OPENER = build_opener(ProxyHandler({}))
RECORDS = [{"a": 0.3, "b": -0.2}, {"a": -1.0, "b": 0.7}]


class Reader:
    """A process that answers over HTTP."""

    def __init__(self, run: Run) -> None:
        self.run = run
        wait_for(lambda: "answered at" in run.said)
        found = re.search(r"answered at (http://\S+)/", run.said)
        assert found is not None
        self.address = found[1]

    def ask(self, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        """Return the status of an answer, and what it says."""
        data = None if body is None else json.dumps(body).encode()
        kind = {"Content-Type": "application/json"} if data else {}
        try:
            with OPENER.open(Request(self.address + path, data, kind | headers), timeout=60) as it:
                return it.status, json.loads(it.read())
        except HTTPError as error:
            with error:
                return error.code, json.loads(error.read())


@contextmanager
def reader(folder: Path, log: Path, *more: Any) -> Iterator[Reader]:
    given = ["answer", "--from-model", folder, "--http", "0", "--look-every", 0, *more]
    run = Run(given, log)
    try:
        yield Reader(run)
        run.process.terminate()
        assert run.ended() == 0, run.said
    finally:
        run.process.kill()
        run.process.wait()


def test_questions_are_answered_by_the_newest_model(tmp_path: Path) -> None:
    data, folder = csv_file(tmp_path / "data.csv", 400), tmp_path / "published"
    folder.mkdir()
    learn = arguments(data, "--publish", folder, "--checkpoints", tmp_path / "kept")
    with reader(folder, tmp_path / "log") as asked:
        assert asked.ask("/healthz") == (503, {"ok": False, "state": "waiting for a model"})
        status, said = asked.ask("/predict", {"records": RECORDS})
        assert (status, said["error"]) == (409, "no model has been published yet")
        for many in (400, 450):
            told(*learn)
            wait_for(lambda: asked.ask("/healthz")[1].get("records_learned") == many)  # noqa: B023
            with data.open("a") as file:
                file.write(rows(50, seed=2))
            model = load_model(published(folder)[0][1])
            for path in ("/predict", "/api/predict", "/v1/records"):
                status, said = asked.ask(path, {"records": RECORDS})
                assert status == 200
                assert said["records_learned"] == many
                assert 0 <= said["model_age"] < 300
                assert [one["proba"] for one in said["predictions"]] == [
                    {str(k): v for k, v in model.predict_proba_one(one).items()} for one in RECORDS
                ]
            status, why = asked.ask("/explain", {"record": RECORDS[0]})
            assert status == 200
            assert why["records_learned"] == many
            assert {name for name, _ in why["contributions"]} == {"a", "b"}


def test_what_is_no_question_is_refused_in_words(tmp_path: Path) -> None:
    data, folder = csv_file(tmp_path / "data.csv", 200), tmp_path / "published"
    told(*arguments(data, "--publish", folder))
    with reader(folder, tmp_path / "log", "--new-token") as asked:
        token = re.search(r"Bearer (\S+)", asked.run.said)
        assert token is not None
        may = {"Authorization": f"Bearer {token[1]}"}
        assert asked.ask("/predict", {"records": RECORDS})[0] == 401
        assert asked.ask("/predict", {"records": RECORDS}, **may)[0] == 200
        assert asked.ask("/predict", {"records": []}, **may)[0] == 400
        assert asked.ask("/predict", {"rows": []}, **may)[0] == 400
        assert asked.ask("/predict", **may)[0] == 405
        assert asked.ask("/nowhere", **may)[0] == 404
        status, said = asked.ask("/v1/labels", {"labels": [{"id": 1, "label": 0}]}, **may)
        assert status == 405
        assert "send labels to who learns" in said["error"]


def test_where_it_cannot_listen_is_said(tmp_path: Path) -> None:
    data, folder = csv_file(tmp_path / "data.csv", 200), tmp_path / "published"
    told(*arguments(data, "--publish", folder))
    at = ("answer", "--from-model", folder, "--http")
    assert "so the page needs a token there" in refused(*at, "0.0.0.0:0")
    assert "write a port" in refused(*at, "here")
    assert "leave out --to" in refused(*at, "0", "--from", data)
