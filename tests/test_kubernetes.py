"""Without a cluster, manifests are held against Kubernetes' schemas, the command and each other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stream_llsvm.version import __version__
from tests.test_compose import options_of

yaml = pytest.importorskip("yaml", reason="comes with the extra 'test'")
FOLDER = Path(__file__).resolve().parents[1] / "deploy" / "kubernetes"
FILES = sorted(FOLDER.glob("*.yaml"))


def manifests() -> list[dict[str, Any]]:
    return [one for path in FILES for one in yaml.safe_load_all(path.read_text(encoding="utf-8"))]


def of(kind: str) -> list[dict[str, Any]]:
    return [one for one in manifests() if one["kind"] == kind]


def workloads() -> list[dict[str, Any]]:
    return of("StatefulSet") + of("Deployment")


def args_of(workload: dict[str, Any]) -> list[str]:
    (container,) = workload["spec"]["template"]["spec"]["containers"]
    args: list[str] = container["args"]
    return args


def value_of(workload: dict[str, Any], option: str) -> str:
    (found,) = [one for one in args_of(workload) if one.startswith(f"{option}=")]
    return found.partition("=")[2]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_kubernetes_would_take_them(path: Path) -> None:
    check = pytest.importorskip("kubernetes_validate", reason="comes with the extra 'test'")
    for one in yaml.safe_load_all(path.read_text(encoding="utf-8")):
        check.validate(one, check.latest_version(), strict=True)


def test_what_is_wrong_is_found() -> None:
    check = pytest.importorskip("kubernetes_validate", reason="comes with the extra 'test'")
    (learner,) = of("StatefulSet")
    learner["spec"]["replica"] = learner["spec"].pop("replicas")
    with pytest.raises(check.ValidationError):
        check.validate(learner, check.latest_version(), strict=True)


@pytest.mark.parametrize("workload", workloads(), ids=lambda one: str(one["metadata"]["name"]))
def test_each_fits_the_command_and_the_others(workload: dict[str, Any]) -> None:
    command, *options = args_of(workload)
    assert {one.partition("=")[0] for one in options} <= options_of(command)
    pod = workload["spec"]["template"]
    assert pod["metadata"]["labels"] == workload["spec"]["selector"]["matchLabels"]
    (container,) = pod["spec"]["containers"]
    assert container["image"] == f"stream-llsvm:{__version__}"
    claims = {one["metadata"]["name"] for one in of("PersistentVolumeClaim")}
    volumes = {one["name"]: one for one in pod["spec"]["volumes"]}
    assert {one["name"] for one in container["volumeMounts"]} == set(volumes)
    assert {volumes["kept"]["persistentVolumeClaim"]["claimName"]} == claims
    assert pod["spec"]["securityContext"]["runAsNonRoot"]
    assert container["securityContext"]["readOnlyRootFilesystem"]


def test_two_share_one_run() -> None:
    (learner,) = of("StatefulSet")
    assert learner["spec"]["replicas"] == 2 and "--standby" in args_of(learner)
    (claim,) = of("PersistentVolumeClaim")
    assert claim["spec"]["accessModes"] == ["ReadWriteMany"]
    assert value_of(learner, "--checkpoints").startswith("/kept/")
    assert value_of(learner, "--transactional-id")
    # One that waits is not ready: neither its start nor an update may wait for that.
    assert learner["spec"]["podManagementPolicy"] == "Parallel"
    assert learner["spec"]["updateStrategy"]["type"] == "OnDelete"
    services = {one["metadata"]["name"]: one["spec"] for one in of("Service")}
    assert services[learner["spec"]["serviceName"]]["clusterIP"] == "None"
    (container,) = learner["spec"]["template"]["spec"]["containers"]
    (port,) = container["ports"]
    assert value_of(learner, "--dashboard") == f"0.0.0.0:{port['containerPort']}"
    for service in services.values():
        assert service["selector"] == learner["spec"]["selector"]["matchLabels"]
        assert service["ports"][0]["targetPort"] == port["name"]
        assert service["ports"][0]["port"] == port["containerPort"]
    (token,) = container["env"]
    assert token["name"] == "STREAM_LLSVM_TOKEN" and "secretKeyRef" in token["valueFrom"]


def test_readers_read_what_the_learner_publishes() -> None:
    (learner,), (reader,) = of("StatefulSet"), of("Deployment")
    assert value_of(reader, "--from-model") == value_of(learner, "--publish")
    assert value_of(reader, "--group")
    (container,) = reader["spec"]["template"]["spec"]["containers"]
    assert container["volumeMounts"][0]["readOnly"]
