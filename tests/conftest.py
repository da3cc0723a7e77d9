"""Settings shared by all tests, and a Kafka broker for those that ask for one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING
from unittest import mock

import pytest
from hypothesis import settings

import stream_llsvm

if TYPE_CHECKING:
    from tests.connectors.kafka_support import Kafka
    from tools.kafka_broker import Broker

# No deadline: the first call of a kernel compiles it. On a build server the
# examples are the same in every run, so a red build can be repeated.
settings.register_profile("dev", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "dev")

SERVERS = "KAFKA_BOOTSTRAP_SERVERS"


def pytest_sessionstart(session: pytest.Session) -> None:
    """Let two workers compile different kernels: no test begins before every worker is ready.

    Where the cache is empty both would otherwise compile all of them, at the same time.
    """
    worker = getattr(session.config, "workerinput", None)
    if worker is None or worker["workercount"] < 2:
        return
    x = {"a": 1.0}
    if worker["workerid"] == "gw0":
        stream_llsvm.SAPLClassifier().learn_one(x, "yes")
    elif worker["workerid"] == "gw1":
        stream_llsvm.PegasosClassifier().learn_one(x, "yes")
        with mock.patch("stream_llsvm.lanes.run"):  # which the other one compiles
            stream_llsvm.LocalSVMClassifier().learn_one(x, "yes")
            stream_llsvm.L3SVMClassifier().learn_one(x, "yes")


def without(reason: str) -> None:
    """Skip, saying why; on a build server a test that did not run is a failure."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """Return a broker that may be stopped, killed and started at will; one for each process."""
    pytest.importorskip("kafka", reason="comes with the extra 'test'")
    from tools.kafka_broker import Broker, BrokerError

    one = Broker(tmp_path_factory.mktemp("kafka"))
    try:
        one.start()
    except BrokerError as error:
        without(f"no Kafka broker: {error}")
    yield one
    one.kill()


@pytest.fixture(scope="session")
def kafka(request: pytest.FixtureRequest) -> Iterator[Kafka]:
    """Return what makes topics and fills them, at the broker given or at the own one."""
    pytest.importorskip("kafka", reason="comes with the extra 'test'")
    from tests.connectors.kafka_support import Kafka

    servers = os.environ.get(SERVERS) or request.getfixturevalue("broker").bootstrap
    one = Kafka(servers)
    yield one
    one.close()


@pytest.fixture(scope="session")
def own_kafka(broker: Broker) -> Iterator[Kafka]:
    """Return the same, always at the own broker."""
    from tests.connectors.kafka_support import Kafka

    one = Kafka(broker.bootstrap)
    yield one
    one.close()
