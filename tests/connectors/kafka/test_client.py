"""What is said when no connection comes about, what is kept secret, and brokers that go away."""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from stream_llsvm.connectors import KafkaSource
from stream_llsvm.connectors.base import SourceError
from stream_llsvm.connectors.kafka.client import KafkaTroubleError, Settings, advertised
from stream_llsvm.connectors.kafka.diagnosis import diagnose, hosts
from tests.connectors.kafka.support import Kafka, numbers, offsets, read, value
from tools.kafka_broker import Broker, free_ports


@pytest.fixture
def secure(broker: Broker) -> dict[str, Any]:
    return {
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "PLAIN",
        "sasl_plain_username": broker.user,
        "sasl_plain_password": broker.password,
        "ssl_cafile": str(broker.ca_file),
    }


def failure(servers: str, options: dict[str, Any], topic: str = "t", wait: float = 1.0) -> str:
    """Return what the first poll of such a source says."""
    one = KafkaSource(topic, servers, options=options, connect_timeout=wait)
    with pytest.raises(SourceError) as told:
        one.poll(1, 0.1)
    one.close()
    text = str(told.value)
    assert "\n" not in text
    return text


def test_login_over_tls(broker: Broker, own_kafka: Kafka, secure: dict[str, Any]) -> None:
    topic = own_kafka.topic()
    own_kafka.send(topic, [value(3)])
    one = KafkaSource(topic, broker.secure_bootstrap, options=secure)
    assert numbers(read(one, 1)) == [3]
    one.close()


def test_wrong_password(broker: Broker, secure: dict[str, Any]) -> None:
    begun = time.monotonic()
    wrong = secure | {"sasl_plain_password": "wrong-pass-1234"}
    text = failure(broker.secure_bootstrap, wrong, wait=60)
    assert time.monotonic() - begun < 30  # waiting would not help
    assert "wrong user or password" in text and "wrong-pass-1234" not in text


def test_certificate_not_trusted(broker: Broker, secure: dict[str, Any], tmp_path: Path) -> None:
    text = failure(broker.secure_bootstrap, secure | {"ssl_cafile": None}, wait=60)
    assert "not trusted" in text and "ssl_cafile" in text
    missing = str(tmp_path / "missing.pem")
    text = failure(broker.secure_bootstrap, secure | {"ssl_cafile": missing}, wait=60)
    assert missing in text
    port = broker.secure_bootstrap.rpartition(":")[2]
    text = failure(f"127.0.0.2:{port}", secure) if _reaches("127.0.0.2", int(port)) else ""
    assert not text or "another name" in text


def _reaches(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), 1).close()
    except OSError:
        return False
    return True


def test_plain_text_and_tls_confused(broker: Broker, secure: dict[str, Any]) -> None:
    assert "speaks TLS, not plain text" in failure(broker.secure_bootstrap, {}, wait=60)
    assert "speaks plain text, not TLS" in failure(broker.bootstrap, secure, wait=60)


def test_login_confused(broker: Broker, secure: dict[str, Any]) -> None:
    no_login = secure | {"security_protocol": "SSL"}
    assert "wants a login" in failure(broker.secure_bootstrap, no_login, wait=60)
    login = secure | {"security_protocol": "SASL_PLAINTEXT"}
    assert "takes no login" in failure(broker.bootstrap, login, wait=60)
    scram = secure | {"sasl_mechanism": "SCRAM-SHA-256"}
    assert "does not offer" in failure(broker.secure_bootstrap, scram, wait=60)


def test_nobody_there(caplog: pytest.LogCaptureFixture) -> None:
    (port,) = free_ports(1)
    with caplog.at_level(logging.WARNING, "stream_llsvm.kafka"):
        text = failure(f"127.0.0.1:{port}", {})
    assert "refuses connections" in text and "gave up after 1 s" in text
    assert len([r for r in caplog.records if r.name == "stream_llsvm.kafka"]) == 1
    assert "cannot be resolved" in failure("no-such-host.invalid:9092", {})


def test_topic_missing_is_said_and_not_made(kafka: Kafka) -> None:
    text = failure(kafka.servers, {}, topic="test-missing")
    assert "there is no topic 'test-missing'" in text
    assert "test-missing" not in kafka.admin.list_topics()


def test_a_topic_is_waited_for(kafka: Kafka) -> None:
    from kafka.admin import NewTopic

    one = KafkaSource("test-late", kafka.servers, connect_timeout=30)
    found: list[Any] = []
    other = threading.Thread(target=lambda: found.extend(read(one, 1)))
    other.start()
    kafka.admin.create_topics([NewTopic("test-late", 1, 1)])
    kafka.admin.wait_for_topics(["test-late"])
    kafka.send("test-late", [value(1)])
    other.join(40)
    assert numbers(found) == [1]
    one.close()
    kafka.admin.delete_topics(["test-late"])


def test_partition_missing(kafka: Kafka) -> None:
    one = KafkaSource({kafka.topic(2): [0, 7]}, kafka.servers)
    with pytest.raises(SourceError, match="no partition 7, only 2"):
        one.poll(1, 0.1)
    one.close()


def test_unknown_options(kafka: Kafka) -> None:
    assert "bad_option" in failure(kafka.servers, {"bad_option": 1}, wait=60)


@pytest.fixture
def babbler() -> Iterator[tuple[str, int]]:
    """Listen on a port, and answer every connection with something that is not Kafka's."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    link, _ = server.accept()
                except OSError:
                    return
                with link:
                    link.recv(1000)
                    link.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()
        server.shutdown(socket.SHUT_RDWR)
    thread.join(10)


def test_no_kafka_broker(babbler: tuple[str, int]) -> None:
    found = diagnose(*babbler, {}, 2.0)
    assert found is not None and "does not answer as a Kafka broker does" in found.text
    found = diagnose(*babbler, {"security_protocol": "SSL"}, 2.0)
    assert found is not None and "TLS" in found.text


def test_silent_server() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        host, port = server.getsockname()
        found = diagnose(host, port, {}, 0.2)
    assert found is not None and not found.lasting


def test_brokers_that_send_clients_elsewhere(kafka: Kafka) -> None:
    (port,) = free_ports(1)
    cluster = SimpleNamespace(brokers=lambda: [SimpleNamespace(host="127.0.0.1", port=port)])
    found = advertised(cluster, Settings(kafka.servers), {})
    assert found is not None
    assert "advertised.listeners" in found.text and "refuses connections" in found.text


def test_one_of_several_servers_is_enough(kafka: Kafka) -> None:
    (port,) = free_ports(1)
    topic = kafka.topic()
    kafka.send(topic, [value(1)])
    one = KafkaSource(topic, [f"127.0.0.1:{port}", kafka.servers])
    assert numbers(read(one, 1)) == [1]
    one.close()


def test_secrets_show_nowhere(
    broker: Broker,
    own_kafka: Kafka,
    secure: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    topic = own_kafka.topic()
    own_kafka.send(topic, [value(1)])
    monkeypatch.setenv("KAFKA_TEST_USER", broker.user)
    file = tmp_path / "password"
    file.write_text(broker.password + "\n")
    options = secure | {
        "sasl_plain_username": {"env": "KAFKA_TEST_USER"},
        "sasl_plain_password": {"file": str(file)},
    }
    with caplog.at_level(logging.DEBUG):
        one = KafkaSource(topic, broker.secure_bootstrap, options=options)
        assert numbers(read(one, 1)) == [1]
        shown = f"{one!r} {one.name} {one._settings!r}"
        one.close()
        file.write_text("another-secret")
        shown += failure(broker.secure_bootstrap, options)
        options["sasl_mechanism"] = {"file": str(file)}  # a secret where none belongs
        shown += failure(broker.secure_bootstrap, options)
    assert "kafka.net.connection" in {record.name for record in caplog.records}
    for secret in (broker.password, "another-secret"):
        assert secret not in shown
        assert secret not in caplog.text


def test_secrets_that_are_not_there(tmp_path: Path) -> None:
    for secret in ({"env": "NO_SUCH_NAME"}, {"file": str(tmp_path / "none")}):
        settings = Settings("h:1", {"sasl_plain_password": secret})
        with pytest.raises(KafkaTroubleError, match=r"NO_SUCH_NAME|none"):
            settings.resolve()
        text = failure("h:1", {"sasl_plain_password": secret})
        assert "sasl_plain_password" in text


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("a:1,b:2", [("a", 1), ("b", 2)]),
        ("a", [("a", 9092)]),
        ("[::1]:5", [("::1", 5)]),
        ("[::1]", [("::1", 9092)]),
        ("SASL_SSL://a:1", [("a", 1)]),
    ],
)
def test_addresses(given: str, found: list[tuple[str, int]]) -> None:
    assert hosts(given) == found


def test_stop_and_start_while_reading(broker: Broker, own_kafka: Kafka) -> None:
    topic = own_kafka.topic()
    own_kafka.send(topic, map(value, range(100)))
    one = KafkaSource(topic, broker.bootstrap)
    seen = numbers(read(one, 50, at_once=50))
    broker.stop()
    late = KafkaSource(topic, broker.bootstrap, connect_timeout=60)
    found: list[Any] = []
    other = threading.Thread(target=lambda: found.extend(read(late, 120, 60)))
    other.start()
    while (batch := one.poll(1000, 0.3)) is not None:  # what was fetched before
        seen += numbers([batch])
    lag = one.lag()  # from what is known
    assert lag[topic]["0"] >= 0
    broker.start()
    own_kafka.send(topic, map(value, range(100, 120)))
    seen += numbers(read(one, 120 - len(seen), 60))
    other.join(60)
    assert seen == numbers(found) == list(range(120))
    one.close()
    late.close()


def test_kill_and_start_while_reading(broker: Broker, own_kafka: Kafka) -> None:
    """Exactly what was written is read, in order: nothing lost, nothing twice."""
    from kafka import KafkaProducer

    topic, total = own_kafka.topic(), 6000
    one = KafkaSource(topic, broker.bootstrap)
    one.poll(1, 0.0)
    producer = KafkaProducer(bootstrap_servers=broker.bootstrap, reconnect_backoff_max_ms=500)
    go_on = threading.Event()
    sent: list[Any] = []

    def write() -> None:
        for number in range(total):
            if number == total // 2:
                go_on.wait(60)
            sent.append(producer.send(topic, value(number)))
        producer.flush(60)

    writer = threading.Thread(target=write)
    writer.start()
    seen = numbers(read(one, total // 6))
    broker.kill()
    go_on.set()  # half of it is written to a broker that is dead
    while (batch := one.poll(500, 0.2)) is not None:  # what was fetched before
        seen += numbers([batch])
    assert offsets(one.position) == {topic: {"0": len(seen)}}
    broker.start()
    seen += numbers(read(one, total - len(seen), 90))
    writer.join(60)
    producer.close()
    assert all(future.succeeded() for future in sent)
    assert seen == list(range(total))
    assert one.poll(1, 0.2) is None
    one.close()
    again = KafkaSource(topic, broker.bootstrap)
    assert numbers(read(again, total)) == list(range(total))
    assert again.poll(1, 0.2) is None
    again.close()
