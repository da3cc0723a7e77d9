"""A real Kafka broker on this machine: one node, loopback only, for trying things out and tests.

``python tools/kafka_broker.py`` runs one until Ctrl-C. It needs Java 17, Maven (which fetches
Kafka once, into a cache outside the repository) and openssl. Nothing here needs a Python package.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import fcntl
import os
import secrets
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import IO

KAFKA = "4.1.1"
LOGGING = "2.24.3"
HOST = "127.0.0.1"
FIRST_PORTS = (9092, 9093, 9094)
_LOOK = 0.2  # seconds between two looks at whether the broker still runs

_POM = """<project>
<modelVersion>4.0.0</modelVersion>
<groupId>local</groupId><artifactId>kafka-jars</artifactId><version>1</version>
<dependencies>{}</dependencies>
</project>
"""
_DEPENDENCY = (
    "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version></dependency>"
)
_ARTIFACTS = [("org.apache.kafka", "kafka_2.13", KAFKA)] + [
    ("org.apache.logging.log4j", name, LOGGING)
    for name in ("log4j-slf4j-impl", "log4j-core", "log4j-api", "log4j-1.2-api")
]

_LOG4J = """status = error
appender.file.type = File
appender.file.name = file
appender.file.fileName = {}
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d %p %c{{1}}: %m%n
rootLogger.level = warn
rootLogger.appenderRef.file.ref = file
"""

_PROPERTIES = """process.roles=broker,controller
node.id=1
controller.quorum.voters=1@{host}:{controller}
listeners=PLAINTEXT://{host}:{plain},SASL_SSL://{host}:{secure},CONTROLLER://{host}:{controller}
advertised.listeners=PLAINTEXT://{host}:{plain},SASL_SSL://{host}:{secure}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,SASL_SSL:SASL_SSL,CONTROLLER:PLAINTEXT
inter.broker.listener.name=PLAINTEXT
controller.listener.names=CONTROLLER
listener.name.sasl_ssl.sasl.enabled.mechanisms=PLAIN
listener.name.sasl_ssl.plain.sasl.jaas.config={jaas}
ssl.keystore.type=PKCS12
ssl.keystore.location={folder}/server.p12
ssl.keystore.password={secret}
ssl.key.password={secret}
log.dirs={folder}/data
num.partitions=1
message.max.bytes=20000000
offsets.topic.replication.factor=1
offsets.topic.num.partitions=2
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=2
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
broker.session.timeout.ms=3000
broker.heartbeat.interval.ms=500
log.initial.task.delay.ms=100
log.cleaner.backoff.ms=200
"""


class BrokerError(Exception):
    """No broker can be had here; the text says why."""


def cache() -> Path:
    """Return the folder, outside the repository, where downloads are kept."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "stream_llsvm"


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _run(*command: str | Path, cwd: Path) -> None:
    try:
        subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=True, timeout=600)
    except FileNotFoundError:
        raise BrokerError(f"{command[0]} is not installed") from None
    except subprocess.TimeoutExpired:
        raise BrokerError(f"{command[0]} did not finish in ten minutes") from None
    except subprocess.CalledProcessError as error:
        told = (error.stdout + error.stderr).strip().splitlines()[-5:]
        raise BrokerError(f"{command[0]} failed: {' | '.join(told)}") from None


def jars() -> Path:
    """Return the folder with Kafka's jars; the first call on a machine fetches them."""
    folder = cache() / f"kafka-{KAFKA}"
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _locked(folder.with_name(folder.name + ".lock")):
        if folder.is_dir():  # another process was faster
            return folder
        work = Path(tempfile.mkdtemp(prefix="kafka-", dir=folder.parent))
        try:
            artifacts = "".join(_DEPENDENCY.format(*one) for one in _ARTIFACTS)
            (work / "pom.xml").write_text(_POM.format(artifacts))
            goal = ["dependency:copy-dependencies", "-DincludeScope=runtime"]
            _run("mvn", "-B", "-q", *goal, f"-DoutputDirectory={work / 'jars'}", cwd=work)
            (work / "jars").rename(folder)
        finally:
            shutil.rmtree(work, ignore_errors=True)
    return folder


def free_ports(number: int) -> list[int]:
    """Return so many ports that nobody listens on."""
    with contextlib.ExitStack() as stack:
        found = [stack.enter_context(socket.socket()) for _ in range(number)]
        for one in found:
            one.bind((HOST, 0))
        return [one.getsockname()[1] for one in found]


def _is_free(port: int) -> bool:
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            one.bind((HOST, port))
        except OSError:
            return False
    return True


class Broker:
    """One broker that is also its own controller, its data in a folder of its own.

    Attributes
    ----------
    bootstrap, secure_bootstrap
        ``host:port``, in plain text and with SASL_SSL (mechanism PLAIN).
    ca_file
        The certificate that SASL_SSL clients have to trust.
    user, password
        The one login.

    """

    def __init__(self, folder: Path, ports: tuple[int, int, int] | None = None) -> None:
        self.folder = folder
        self.plain, self.secure, self.controller = ports or free_ports(3)
        self.bootstrap = f"{HOST}:{self.plain}"
        self.secure_bootstrap = f"{HOST}:{self.secure}"
        self.ca_file = folder / "ca.pem"
        self.user = "learner"
        self.password = secrets.token_hex(12)
        self._process: subprocess.Popen[bytes] | None = None
        self._output: IO[bytes] | None = None

    def start(self, timeout: float = 90.0) -> None:
        """Return when the broker answers; the first start formats the folder."""
        if self._process is not None:
            return
        if not (self.folder / "server.properties").exists():
            self._prepare()
        self._output = (self.folder / "output.txt").open("ab")
        command = self._java("kafka.Kafka", self.folder / "server.properties")
        if shutil.which("setpriv"):  # let the system kill the broker if this process is killed
            command = ["setpriv", "--pdeathsig", "KILL", *command]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C is for this process, which then stops the broker
        )
        deadline = time.monotonic() + timeout
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                raise BrokerError(f"the broker does not start: {self._last_words()}")
            time.sleep(0.05)

    def died(self) -> str | None:
        """Return what was last heard of the broker if it has ended by itself, else None."""
        if self._process is None or self._process.poll() is None:
            return None
        return f"exit code {self._process.returncode}; {self._last_words()}"

    def stop(self, timeout: float = 30.0) -> None:
        """Shut down in order."""
        self._end(signal.SIGTERM, timeout)

    def kill(self) -> None:
        """Kill -9, as a power cut would."""
        self._end(signal.SIGKILL, 30.0)

    def pause(self) -> None:
        """Let it answer nothing, until it is resumed; connections stay."""
        if self._process is not None:
            self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let it answer again."""
        if self._process is not None:
            self._process.send_signal(signal.SIGCONT)

    def _end(self, how: signal.Signals, timeout: float) -> None:
        if self._process is None:
            return
        self._process.send_signal(how)
        try:
            self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None
        if self._output is not None:
            self._output.close()

    def _java(self, main: str, *arguments: str | Path) -> list[str]:
        java = Path(os.environ["JAVA_HOME"]) / "bin/java" if os.environ.get("JAVA_HOME") else "java"
        options = ["-Xmx512m", "-Xms64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        options.append(f"-Dlog4j2.configurationFile={self.folder / 'log4j2.properties'}")
        return [str(java), *options, "-cp", f"{jars()}/*", main, *map(str, arguments)]

    def _prepare(self) -> None:
        if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
            raise BrokerError("java is not installed")
        jars()
        self.folder.mkdir(parents=True, exist_ok=True)
        secret = secrets.token_hex(12)
        self._make_certificates(secret)
        (self.folder / "log4j2.properties").write_text(
            _LOG4J.format(self.folder / "kafka.log"), encoding="utf-8"
        )
        module = "org.apache.kafka.common.security.plain.PlainLoginModule"
        settings = _PROPERTIES.format(
            host=HOST,
            plain=self.plain,
            secure=self.secure,
            controller=self.controller,
            folder=self.folder,
            secret=secret,
            jaas=f'{module} required user_{self.user}="{self.password}";',
        )
        new = self.folder / "server.properties.new"
        new.write_text(settings, encoding="utf-8")
        new.chmod(0o600)
        cluster = base64.urlsafe_b64encode(b"\x01" + uuid.uuid4().bytes[1:]).decode().rstrip("=")
        tool = self._java("kafka.tools.StorageTool", "format", "-t", cluster, "-c", new)
        _run(*tool, cwd=self.folder)
        new.rename(self.folder / "server.properties")

    def _make_certificates(self, secret: str) -> None:
        """Make an authority, and with it the server's certificate, in a PKCS12 keystore."""
        key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        _run(
            *("openssl", "req", "-x509", *key, "-days", "30", "-subj", "/CN=test authority"),
            *("-keyout", "ca.key", "-out", "ca.pem"),
            cwd=self.folder,
        )
        _run(
            *("openssl", "req", *key, "-subj", "/CN=localhost"),
            *("-keyout", "server.key", "-out", "server.csr"),
            cwd=self.folder,
        )
        (self.folder / "names").write_text(f"subjectAltName=DNS:localhost,IP:{HOST}\n")
        _run(
            *("openssl", "x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key"),
            *("-CAcreateserial", "-days", "30", "-extfile", "names", "-out", "server.pem"),
            cwd=self.folder,
        )
        _run(
            *("openssl", "pkcs12", "-export", "-in", "server.pem", "-inkey", "server.key"),
            *("-certfile", "ca.pem", "-out", "server.p12", "-passout", f"pass:{secret}"),
            cwd=self.folder,
        )

    def _answers(self) -> bool:
        """Ask which requests it knows, the one question that every broker answers to anybody."""
        asked = struct.pack(">hhih", 18, 0, 1, -1)
        try:
            with socket.create_connection((HOST, self.plain), 1.0) as link:
                link.sendall(struct.pack(">i", len(asked)) + asked)
                return len(link.recv(4)) == 4
        except OSError:
            return False

    def _last_words(self) -> str:
        lines: list[str] = []
        for name in ("output.txt", "kafka.log"):
            with contextlib.suppress(OSError):
                text = (self.folder / name).read_text(errors="replace")
                lines += [line for line in text.splitlines() if line.strip()][-3:]
        return " | ".join(lines) or "it says nothing"


def main() -> int:
    """Run a broker until Ctrl-C."""
    parser = argparse.ArgumentParser(description="Run a Kafka broker on this machine.")
    parser.add_argument("--folder", type=Path, help="keep its data here (default: deleted)")
    folder = parser.parse_args().folder
    taken = [port for port in FIRST_PORTS if not _is_free(port)]
    ports = None if taken else FIRST_PORTS
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with contextlib.ExitStack() as stack:
        if folder is None:
            made = tempfile.TemporaryDirectory(prefix="kafka-", ignore_cleanup_errors=True)
            folder = Path(stack.enter_context(made))
        broker = Broker(folder.resolve(), ports)
        print(f"Starting Apache Kafka {KAFKA} (the first time it is fetched) ...", flush=True)
        try:
            stack.callback(broker.stop)
            broker.start()
            if taken:
                print(
                    f"Port {taken[0]} is taken, maybe by another broker: this one is at port "
                    f"{broker.plain}, which then stands for {FIRST_PORTS[0]} in all commands."
                )
            print(f"plain text  {broker.bootstrap}")
            print(f"SASL_SSL    {broker.secure_bootstrap}  mechanism PLAIN, user {broker.user}")
            print(f"            password {broker.password}, CA file {broker.ca_file}")
            print(f"Tests use it with KAFKA_BOOTSTRAP_SERVERS={broker.bootstrap}")
            print("Ctrl-C stops it.", flush=True)
            while (why := broker.died()) is None:
                time.sleep(_LOOK)
            raise BrokerError(f"The broker has died: {why}")
        except BrokerError as error:
            print(error, file=sys.stderr)
            return 1
        except KeyboardInterrupt:
            print("Stopping ...")
            return 0


if __name__ == "__main__":
    sys.exit(main())
