"""What Prometheus reads of a server: every model, told apart by its name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.cli.support import wait_for
from tests.serve.support import Served, record, records

TOKEN = "correct horse battery"


def learned(text: str) -> dict[str, float]:
    """Return how many records each model has learned, after checking that a name comes once."""
    families = list(text_string_to_metric_families(text))
    names = re.findall(r"^# TYPE (\S+)", text, re.MULTILINE)
    assert len(names) == len(set(names)) == len(families)
    told = {one.name: one for one in families}
    for family in families:
        assert all("model" in sample.labels for sample in family.samples), family.name
    assert {one.name for one in told["stream_llsvm_predict_seconds"].samples} == {
        f"stream_llsvm_predict_seconds_{end}" for end in ("bucket", "sum", "count")
    }
    samples = told["stream_llsvm_learned"].samples
    assert len(samples) == len({sample.labels["model"] for sample in samples})
    return {sample.labels["model"]: sample.value for sample in samples}


def test_all_models_are_told_of_by_their_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STREAM_LLSVM_TOKEN", TOKEN)
    flags = ("--label", "y", "--model", "clicks=llsvm", "--model", "price=llsvm")
    with Served(tmp_path, *flags, tokens=TOKEN) as served:
        served.post("/v1/models/clicks/records", records(0, 30))
        served.post("/v1/models/price/records", records(0, 20) | {"durability": "memory"})
        text = served.http.get("/metrics").text
        wait_for(lambda: learned(served.http.get("/metrics").text) == {"clicks": 30, "price": 20})
        assert learned(served.http.get("/models/price/metrics").text) == {"price": 20}
        assert learned(text).keys() == {"clicks", "price"}
        assert served.http.get("/metrics", headers={"authorization": "no"}).status_code == 401
        assert served.http.post("/metrics").status_code == 405
        # The page is headed by the name, and not by where the log lies.
        assert served.get("/api/snapshot")["status"]["source"] == "clicks"
        assert served.get("/models/price/api/snapshot")["status"]["source"] == "price"


def test_one_model_has_a_name_too(tmp_path: Path) -> None:
    with Served(tmp_path, "--label", "y", "--model", "llsvm") as served:
        served.post("/v1/records", {"records": [record(1)]})
        wait_for(lambda: learned(served.http.get("/metrics").text) == {"default": 1})
