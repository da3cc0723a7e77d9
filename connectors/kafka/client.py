"""Settings and connections that everything of Kafka shares: options, secrets, waiting."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from stream_llsvm.connectors.kafka.diagnosis import Trouble, diagnose, hosts
from stream_llsvm.extras import install_command

log = logging.getLogger("stream_llsvm.kafka")

_SECRET_NAMES = ("password", "secret", "token")
_Client = TypeVar("_Client")


class KafkaTroubleError(Exception):
    """No connection; the text says why in one line, without secrets."""


class KafkaAwayError(KafkaTroubleError):
    """No broker was there in time; one may be later."""


def need_kafka() -> None:
    """Raise ImportError with what to install, unless kafka-python 3 is there."""
    try:
        import kafka
    except ImportError:
        found = None
    else:
        found = str(getattr(kafka, "__version__", "0"))
    if found is None or int(found.split(".")[0]) < 3:
        have = "it is not installed" if found is None else f"this is {found}"
        raise ImportError(
            f"Kafka needs kafka-python 3 or newer ({have}): {install_command('kafka')}"
        )


_TALKATIVE = ("kafka.net.connection", "kafka.protocol.parser")


def _hide_logins(record: logging.LogRecord) -> bool:
    """Keep logins out of kafka-python's debug log, which prints every request and its bytes."""
    if isinstance(record.args, tuple):
        record.args = tuple(map(_without_login, record.args))
    return True


def _without_login(argument: object) -> object:
    if isinstance(argument, bytes | bytearray | memoryview):
        return f"<{len(argument)} bytes>"
    name = type(argument).__name__
    return f"<{name}>" if name.startswith("Sasl") else argument


class Settings:
    """How to reach the brokers: their addresses, and options passed on to kafka-python.

    Parameters
    ----------
    servers
        ``"host:port"``, several with commas between, or a list of them.
    options
        Whatever kafka-python's clients take by keyword (``security_protocol``, ``ssl_cafile``,
        ``sasl_mechanism``, ...). A value may be ``{"env": "NAME"}`` or ``{"file": "path"}``: it is
        read when a connection is made, and shown nowhere.
    connect_timeout
        So many seconds a broker is waited for before giving up.

    """

    def __init__(
        self,
        servers: str | Sequence[str],
        options: Mapping[str, Any] | None = None,
        connect_timeout: float = 60.0,
    ) -> None:
        need_kafka()
        self.servers = [servers] if isinstance(servers, str) else list(servers)
        self.servers = [one.strip() for many in self.servers for one in many.split(",")]
        hosts(self.servers)  # a wrong address shows at once
        self.connect_timeout = connect_timeout
        self._options = dict(options or {})
        self._hidden: set[str] = set()

    def __repr__(self) -> str:
        named = ", ".join(sorted(self._options))
        return f"Settings({','.join(self.servers)!r}, options: {named or 'none'})"

    def resolve(self) -> dict[str, Any]:
        """Return the options with secrets in their places."""
        found: dict[str, Any] = {}
        for name, value in self._options.items():
            if isinstance(value, Mapping) and set(value) in ({"env"}, {"file"}):
                ((where, at),) = value.items()
                found[name] = _read_secret(name, where, str(at))
                self._hidden.add(found[name])
            else:
                found[name] = value
                if isinstance(value, str) and any(part in name for part in _SECRET_NAMES):
                    self._hidden.add(value)
        self._hidden.discard("")
        return found

    def plain_secrets(self) -> list[str]:
        """Return the names of options that hold a secret itself, and not where it is."""
        return [
            name
            for name, value in self._options.items()
            if isinstance(value, str) and any(part in name for part in _SECRET_NAMES)
        ]

    def scrub(self, text: object) -> str:
        """Return a text on one line, with every secret in it replaced."""
        line = " ".join(str(text).split())
        for secret in sorted(self._hidden, key=len, reverse=True):
            line = line.replace(secret, "***")
        return line

    def connect(self, make: Callable[[dict[str, Any]], _Client]) -> _Client:
        """Wait for a broker and return the client made from the settings.

        Raises KafkaTroubleError if no broker is there in time, or at once if waiting cannot help.
        """
        for name in _TALKATIVE:
            logging.getLogger(name).addFilter(_hide_logins)
        config = self.resolve()
        deadline = time.monotonic() + self.connect_timeout
        told, pause = "", 0.25
        while True:
            left = deadline - time.monotonic()
            trouble = self.trouble(config, self.servers, min(5.0, max(1.0, left)))
            if trouble is None:
                made, trouble = self._make(make, config, max(2.0, min(10.0, left)))
                if made is not None:
                    return made
            if trouble is None:
                trouble = Trouble("the client cannot be made", lasting=False)
            text = self.scrub(trouble.text)
            if trouble.lasting:
                raise KafkaTroubleError(f"Kafka: {text}")
            if time.monotonic() + pause > deadline:
                waited = f"gave up after {self.connect_timeout:.0f} s"
                raise KafkaAwayError(f"Kafka: {text}; {waited}")
            if text != told:
                log.warning("waiting for Kafka: %s", text)
                told = text
            time.sleep(pause)
            pause = min(2.0, pause * 2)

    def _make(
        self, make: Callable[[dict[str, Any]], _Client], config: dict[str, Any], timeout: float
    ) -> tuple[_Client | None, Trouble | None]:
        from kafka.errors import KafkaConfigurationError, KafkaError

        opened: list[Any] = []

        def client(**given: Any) -> Any:
            opened.append(_net_client(**given))
            return opened[-1]

        own = {
            "bootstrap_servers": self.servers,
            "bootstrap_timeout_ms": int(timeout * 1000),
            "kafka_client": client,
            "reconnect_backoff_max_ms": 2000,
        }
        try:
            return make(own | config), None
        except (KafkaConfigurationError, ValueError, TypeError, AssertionError) as error:
            trouble = Trouble(f"the options are wrong: {error}", lasting=True)
        except (KafkaError, OSError) as error:
            trouble = self._advertised(opened, config) or Trouble(str(error), lasting=False)
        for one in opened:  # its thread would live on
            one.close()
        return None, trouble

    def _advertised(self, opened: list[Any], config: dict[str, Any]) -> Trouble | None:
        return advertised(opened[-1].cluster, self, config) if opened else None

    @staticmethod
    def trouble(config: Mapping[str, Any], servers: list[str], timeout: float) -> Trouble | None:
        """Return None if one of the servers can be reached, else what is wrong with one."""
        if config.get("proxy_url") or config.get("socks5_proxy"):
            return None  # only the client itself can tell
        worst: Trouble | None = None
        for host, port in hosts(servers):
            found = diagnose(host, port, config, timeout)
            if found is None:
                return None
            if worst is None or (found.lasting and not worst.lasting):
                worst = found
        return worst


def advertised(cluster: Any, settings: Settings, config: Mapping[str, Any]) -> Trouble | None:
    """Say if brokers name addresses of theirs that cannot be reached from here."""
    for broker in cluster.brokers():
        found = settings.trouble(config, [f"{broker.host}:{broker.port}"], 3.0)
        if found is not None:
            where = f"{settings.servers[0]} answers, but sends clients to"
            text = f"{where} {broker.host}:{broker.port} (its advertised.listeners): {found.text}"
            return Trouble(text, found.lasting)
    return None


def _net_client(**given: Any) -> Any:
    """Return kafka-python's network client, which shall not create topics by asking for them.

    Its option ``allow_auto_create_topics`` does not reach its metadata requests.
    """
    from kafka.net.compat import KafkaNetClient

    client = KafkaNetClient(**given)
    client.cluster.config["allow_auto_create_topics"] = False
    return client


def _read_secret(name: str, where: str, at: str) -> str:
    if where == "env":
        if at not in os.environ:
            raise KafkaTroubleError(f"Kafka: the environment variable {at} ({name}) is not set")
        return os.environ[at]
    try:
        return Path(at).read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or type(error).__name__
        raise KafkaTroubleError(f"Kafka: the file {at} ({name}) cannot be read: {why}") from None


def wait_for_topics(cluster: Any, topics: Sequence[str], deadline: float) -> Trouble | None:
    """Return None when the partitions of all topics are known, else which topic is missing."""
    quiet = logging.getLogger("kafka.cluster")  # it says so ten times a second; here, once
    quiet.addFilter(_not_missing)
    try:
        return _wait_for_topics(cluster, topics, deadline)
    finally:
        quiet.removeFilter(_not_missing)


def _not_missing(record: logging.LogRecord) -> bool:
    return "not found in cluster metadata" not in str(record.msg)


def _wait_for_topics(cluster: Any, topics: Sequence[str], deadline: float) -> Trouble | None:
    for topic in topics:
        cluster.add_topic(topic)
    told = False
    asked = 0.0
    while True:
        missing = [topic for topic in topics if not cluster.partitions_for_topic(topic)]
        if not missing:
            return None
        denied = [topic for topic in missing if topic in cluster.unauthorized_topics]
        if denied:
            return Trouble(f"this user may not read the topic {denied[0]!r}", lasting=True)
        now = time.monotonic()
        if now > deadline:
            return Trouble(f"there is no topic {missing[0]!r}", lasting=False)
        if now > asked + 0.5:
            cluster.request_update()
            asked = now
        elif not told and now > asked + 0.25:
            log.warning("waiting for Kafka: there is no topic %r yet", missing[0])
            told = True
        time.sleep(0.01)
