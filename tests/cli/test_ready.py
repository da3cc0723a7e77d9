"""Whether a process that reads a topic is ready: not while its broker is gone."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from tests.cli.support import csv_file, refused, started, wait_for
from tests.cli.test_kafka_run import arguments, values
from tests.cli.test_signals import ended

if TYPE_CHECKING:
    from tests.connectors.kafka.support import Kafka
    from tools.kafka_broker import Broker

pytest.importorskip("uvicorn", reason="comes with the extra 'dashboard'")


def test_a_run_without_its_broker_lives_and_is_not_ready(broker: Broker, own_kafka: Kafka) -> None:
    topic = own_kafka.topic()
    own_kafka.send(topic, values(200))
    process = started(
        *arguments(own_kafka, topic, "--dashboard", 0, "--ready-lag", 1_000, "--json")
    )
    try:
        assert process.stderr is not None
        found = None
        while found is None and (line := process.stderr.readline()):
            found = re.search(r"the live page is at (http://\S+)", line)
        assert found is not None
        with httpx.Client(base_url=found[1], timeout=60, trust_env=False) as page:

            def ready() -> Any:
                answer = page.get("/readyz")
                assert answer.json()["ready"] == (answer.status_code == 200)
                return answer.json()

            wait_for(lambda: ready()["ready"])
            broker.kill()
            wait_for(lambda: "source" in ready()["not_ready"])
            assert page.get("/healthz").status_code == 200
            broker.start()
            wait_for(lambda: ready()["ready"])
    finally:
        broker.start()
        process.send_signal(signal.SIGTERM)
        status, out, err = ended(process)
    assert status == 0, err
    assert json.loads(out)["learned"] == 200


def test_a_bound_that_nobody_can_look_at_is_refused(tmp_path: Path) -> None:
    data = csv_file(tmp_path / "data.csv", 20)
    told = refused("run", "--from", data, "--label", "y", "--dashboard", 0, "--ready-lag", 5)
    assert "does not say how far behind it is: leave it out" in told
