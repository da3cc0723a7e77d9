"""compose.yaml cannot be run by a test; what it says can at least be read and compared."""

from __future__ import annotations

import importlib.util
import re
import shlex
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

yaml = pytest.importorskip("yaml", reason="comes with the extra 'test'")
ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def compose() -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
    return read


def options_of(name: str) -> set[str]:
    """Return the options of a command, as they are typed."""
    import typer

    from stream_llsvm.cli.app import app

    group: Any = typer.main.get_command(app)
    return {option for one in group.get_command(None, name).params for option in one.opts}


def test_what_is_used_is_there(compose: dict[str, Any]) -> None:
    services = compose["services"]
    assert {"kafka", "engine", "prometheus", "grafana"} <= set(services)
    for service in services.values():
        assert set(service.get("depends_on", {})) <= set(services)
        assert {one["source"] for one in service.get("configs", [])} <= set(compose["configs"])
        assert set(service.get("secrets", [])) <= set(compose["secrets"])
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            if not source.startswith("./"):
                assert source in compose["volumes"]
    used = {v.split(":")[0] for s in services.values() for v in s.get("volumes", [])}
    assert set(compose["volumes"]) <= used


def test_images_are_pinned_and_ports_are_this_machines_own(compose: dict[str, Any]) -> None:
    for service in compose["services"].values():
        if "image" in service:
            assert re.fullmatch(r"[a-z/]+:v?\d+\.\d+\.\d+", service["image"])
        else:
            assert service["build"] == "."
        for port in service.get("ports", []):
            assert re.fullmatch(r"127\.0\.0\.1:(\d+):\1", port)
    assert re.search(
        r"^FROM python:\d+\.\d+\.\d+-", (ROOT / "Dockerfile").read_text(), re.MULTILINE
    )


def test_kafka_is_the_one_that_tests_run_against(compose: dict[str, Any]) -> None:
    from tools.kafka_broker import KAFKA

    for name in ("kafka", "topics"):
        assert compose["services"][name]["image"] == f"apache/kafka:{KAFKA}"


def max_mb_of(options: list[str]) -> float:
    """Return how large the model of a command may become, in megabytes."""
    (found,) = [one.partition("max_mb=")[2] for one in options if "max_mb=" in one]
    return float(found)


@pytest.mark.parametrize("service", ["engine", "replay"])
def test_commands_have_these_options(compose: dict[str, Any], service: str) -> None:
    given = shlex.split(compose["services"][service]["command"])
    assert {one for one in given if one.startswith("--")} <= options_of(given[0])
    if service == "engine":
        assert compose["services"][service]["mem_limit"] == "1g"
        assert max_mb_of(given) <= (1_024 - 400) / 5


def test_addresses_inside_are_services(compose: dict[str, Any]) -> None:
    services = compose["services"]
    inside = services["kafka"]["environment"]["KAFKA_ADVERTISED_LISTENERS"]
    assert "INSIDE://kafka:19092" in inside
    for service in ("engine", "replay"):
        for address in re.findall(r"kafka://([^/]+)/", services[service]["command"]):
            assert address == "kafka:19092"
    prometheus = yaml.safe_load(compose["configs"]["prometheus"]["content"])
    (job,) = prometheus["scrape_configs"]
    (target,) = job["static_configs"][0]["targets"]
    host, port = target.split(":")
    assert f"127.0.0.1:{port}:{port}" in services[host]["ports"]
    assert f"--dashboard 0.0.0.0:{port}" in services[host]["command"]
    assert job["authorization"]["credentials_file"].rpartition("/")[2] in compose["secrets"]
    (rules,) = prometheus["rule_files"]
    assert f"./grafana/alerts.yaml:{rules}:ro" in services["prometheus"]["volumes"]
    (manager,) = prometheus["alerting"]["alertmanagers"]
    (target,) = manager["static_configs"][0]["targets"]
    assert target.split(":")[0] in services
    (source,) = yaml.safe_load(compose["configs"]["datasource"]["content"])["datasources"]
    assert source["url"].startswith("http://prometheus:")
    (provider,) = yaml.safe_load(compose["configs"]["dashboards"]["content"])["providers"]
    mounted = [v.split(":")[1] for v in services["grafana"]["volumes"]]
    assert provider["options"]["path"] in mounted
    assert services["grafana"]["environment"].keys() >= {"GF_SECURITY_ADMIN_PASSWORD"}


def test_no_secret_is_written_down(compose: dict[str, Any]) -> None:
    for service in compose["services"].values():
        for name, value in service.get("environment", {}).items():
            if "TOKEN" in name or "PASSWORD" in name:
                assert value.startswith("${STREAM_LLSVM_TOKEN:?")


def test_what_the_image_is_built_from_is_there() -> None:
    kept = {line[1:] for line in (ROOT / ".dockerignore").read_text().split() if line[0] == "!"}
    assert all((ROOT / name).exists() for name in kept)
    assert {"connectors", "stream_llsvm", "pyproject.toml", "setup.py", "README.md"} <= kept
    dockerfile = (ROOT / "Dockerfile").read_text()
    copied = [line.split()[1:-1] for line in dockerfile.splitlines() if line.startswith("COPY ")]
    sources = [name for names in copied for name in names if not name.startswith("--from")]
    for name in sources:
        if not name.startswith("/"):  # that is of the stage before
            assert (ROOT / name).exists()
            assert name.split("/")[0] in kept
    assert {"connectors", "stream_llsvm", "tools"} <= set(sources)


def test_the_image_is_nobodys_and_ends_when_it_is_told(compose: dict[str, Any]) -> None:
    dockerfile = (ROOT / "Dockerfile").read_text()
    (user,) = re.findall(r"^USER (.*)$", dockerfile, re.MULTILINE)
    assert re.fullmatch(r"[1-9]\d*:\d+", user), "Kubernetes must see that it is not root"
    assert 'ENTRYPOINT ["stream-llsvm"]' in dockerfile, "a shell would keep the signal to itself"
    assert dockerfile.count("\nFROM ") == 2 and "\nHEALTHCHECK " in dockerfile
    for name in ("engine", "replay"):
        service = compose["services"][name]
        assert service["read_only"] and service["cap_drop"] == ["ALL"]
        assert service["tmpfs"] == ["/tmp"]


HEALTH = ROOT / "deploy" / "container" / "health.py"
FLAGS = ("--tls-cert", "--tls-key")


@pytest.mark.parametrize("tls", [False, True])
def test_what_lives_is_healthy_and_what_does_not_is_not(tmp_path: Path, tls: bool) -> None:
    """Ask a real server, in the way of the image, and then nobody."""
    from tests.serve.support import Served, certificate

    def asked(port: int) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-I", "-S", str(HEALTH), str(port)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    flags = [part for pair in zip(FLAGS, certificate(tmp_path), strict=True) for part in pair]
    with Served(tmp_path / "kept", "--model", "llsvm", *(flags if tls else ())) as served:
        port = urlsplit(served.address).port or 0
        assert served.address.startswith("https" if tls else "http:")
        assert asked(port).returncode == 0
        served.stop()
    gone = asked(port)
    assert (gone.returncode, f"port {port}: " in gone.stdout) == (1, True)


def test_who_has_no_page_is_healthy_where_nobody_listens() -> None:
    spec = importlib.util.spec_from_file_location("health", HEALTH)
    assert spec is not None and spec.loader is not None
    health: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(health)
    commands = {
        "stream-llsvm serve --folder /kept": True,
        "/sbin/docker-init -- python stream-llsvm run p.toml --dashboard 0.0.0.0:8765": True,
        "stream-llsvm run --dashboard=8765 --from a.csv": True,
        "stream-llsvm evaluate a.csv --label y": False,
        "stream-llsvm run p.toml": False,
    }
    assert {one: health.listens(one.split()) for one in commands} == commands
    with socket.create_server(("127.0.0.1", 0)) as taken:  # and answers nothing
        port = taken.getsockname()[1]
        health._TIMEOUT = 0.1
        assert "TimeoutError" in health.what_is_wrong([port], False)
    assert health.what_is_wrong([port], False) == ""
    assert health.what_is_wrong([port], True) == f"port {port}: {health.NOBODY}"
