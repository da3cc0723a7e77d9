"""Settings shared by all tests, and a Kafka broker for those that ask for one."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

import stream_llsvm
from stream_llsvm.kernels.dispatch import address_of
from stream_llsvm.members.registry import KINDS, kernels_of
from tests.property_profiles import load_profiles

if TYPE_CHECKING:
    from tests.connectors.kafka.support import Kafka
    from tools.kafka_broker import Broker

load_profiles()

SERVERS = "KAFKA_BOOTSTRAP_SERVERS"


def _first_call(name: str) -> None:
    getattr(stream_llsvm, name)().learn_one({"a": 1.0}, "yes")


def pytest_sessionstart(session: pytest.Session) -> None:
    """Let each worker compile kernels that the others do not; tests begin when all are ready.

    Where the cache is empty, all of them would otherwise compile the same at the same time.
    """
    worker = getattr(session.config, "workerinput", None)
    if worker is None or worker["workercount"] < 2:
        return
    to_do: list[Callable[[], object]] = [
        partial(_first_call, "SAPLClassifier"),
        partial(_first_call, "PegasosClassifier"),
        *(partial(address_of, one) for kind in KINDS for one in kernels_of(kind)),
    ]
    number = int(worker["workerid"].removeprefix("gw"))
    for one in to_do[number :: worker["workercount"]]:
        one()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Keep a file's tests on one worker, and all that need Kafka on the same: they share a broker.

    What a module sets up is then set up once. Files come in their order, the short ones last.
    """
    from xdist.scheduler import LoadScopeScheduling

    class Files(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            return "kafka" if "kafka" in file else file

    if config.getvalue("dist") != "load":
        return None  # somebody asked for another way
    config.option.loadscopereorder = False
    return Files(config, log)


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
    from tests.connectors.kafka.support import Kafka

    servers = os.environ.get(SERVERS) or request.getfixturevalue("broker").bootstrap
    one = Kafka(servers)
    yield one
    one.close()


@pytest.fixture(scope="session")
def own_kafka(broker: Broker) -> Iterator[Kafka]:
    """Return the same, always at the own broker."""
    from tests.connectors.kafka.support import Kafka

    one = Kafka(broker.bootstrap)
    yield one
    one.close()
