"""Without a cluster, manifests are held against Kubernetes' schemas, the command and each other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stream_llsvm.dashboard.server import PORT as PAGE_PORT
from stream_llsvm.serve.served import LONGEST_END
from stream_llsvm.serve.server import GRACE
from stream_llsvm.serve.server import PORT as SERVER_PORT
from stream_llsvm.version import __version__
from tests.test_compose import max_mb_of, options_of

yaml = pytest.importorskip("yaml", reason="comes with the extra 'test'")
ROOT = Path(__file__).resolve().parents[1]
FOLDER, GRAFANA = ROOT / "deploy" / "kubernetes", ROOT / "grafana"
FILES = sorted(FOLDER.glob("*.yaml"))
OPERATOR = "monitoring.coreos.com/v1"  # of Prometheus' operator: Kubernetes has no schema of it
PROBES = ("startupProbe", "livenessProbe", "readinessProbe")


def manifests() -> list[dict[str, Any]]:
    return [one for path in FILES for one in yaml.safe_load_all(path.read_text(encoding="utf-8"))]


def of(kind: str) -> list[dict[str, Any]]:
    return [one for one in manifests() if one["kind"] == kind]


def named(name: str) -> dict[str, Any]:
    (found,) = [one for one in workloads() if one["metadata"]["name"] == name]
    return found


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
        if one["apiVersion"] != OPERATOR:
            check.validate(one, check.latest_version(), strict=True)


def test_what_is_wrong_is_found() -> None:
    check = pytest.importorskip("kubernetes_validate", reason="comes with the extra 'test'")
    learner = named("learner")
    learner["spec"]["replica"] = learner["spec"].pop("replicas")
    with pytest.raises(check.ValidationError):
        check.validate(learner, check.latest_version(), strict=True)


@pytest.mark.parametrize("workload", workloads(), ids=lambda one: str(one["metadata"]["name"]))
def test_each_fits_the_command_and_the_others(workload: dict[str, Any]) -> None:
    command, *options = args_of(workload)
    assert {one.partition("=")[0] for one in options} <= options_of(command)
    pod = workload["spec"]["template"]
    wanted = workload["spec"]["selector"]["matchLabels"]
    assert wanted.items() <= pod["metadata"]["labels"].items()
    (container,) = pod["spec"]["containers"]
    assert container["image"] == f"stream-llsvm:{__version__}"
    own = {one["metadata"]["name"] for one in workload["spec"].get("volumeClaimTemplates", ())}
    volumes = {one["name"]: one for one in pod["spec"]["volumes"]}
    assert {one["name"] for one in container["volumeMounts"]} == set(volumes) | own
    claims = {one["metadata"]["name"] for one in of("PersistentVolumeClaim")}
    asked = {
        one["persistentVolumeClaim"]["claimName"]
        for one in volumes.values()
        if "persistentVolumeClaim" in one
    }
    assert asked <= claims
    assert "kept" in volumes.keys() | own
    assert pod["spec"]["securityContext"]["runAsNonRoot"]
    assert pod["spec"]["securityContext"]["runAsUser"] > 0
    assert pod["spec"]["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert {"cpu", "memory"} == set(container["resources"]["requests"])
    if command == "serve" or "--checkpoints" in {one.partition("=")[0] for one in options}:
        limit = {"1Gi": 1_024, "2Gi": 2_048}[container["resources"]["limits"]["memory"]]
        assert max_mb_of(options) <= (limit - 400) / 5
    ports = {one["name"] for one in container.get("ports", ())}
    for probe in PROBES:
        if probe in container:
            asks = container[probe]["httpGet"]
            assert asks["port"] in ports
            assert asks["path"] == ("/readyz" if probe == "readinessProbe" else "/healthz")


@pytest.mark.parametrize(
    ("name", "port"), [("run", PAGE_PORT), ("serve", SERVER_PORT)], ids=["run", "serve"]
)
def test_one_pod_has_its_own_volume_and_says_how_it_is(name: str, port: int) -> None:
    workload = named(name)
    assert workload["spec"]["replicas"] == 1, "a log, or a run, has one owner"
    (claim,) = workload["spec"]["volumeClaimTemplates"]
    assert claim["spec"]["accessModes"] == ["ReadWriteOnce"]
    folder = "--folder" if name == "serve" else "--checkpoints"
    assert value_of(workload, folder).startswith("/kept/")
    (container,) = workload["spec"]["template"]["spec"]["containers"]
    assert set(PROBES) <= set(container)
    assert container["ports"] == [{"name": "http", "containerPort": port}]
    where = value_of(workload, "--host" if name == "serve" else "--dashboard")
    assert where == ("0.0.0.0" if name == "serve" else f"0.0.0.0:{port}")
    assert int(value_of(workload, "--ready-lag")) > 0
    services = {one["metadata"]["name"]: one for one in of("Service")}
    assert services[workload["spec"]["serviceName"]]["spec"]["clusterIP"] == "None"
    for service in services.values():
        if service["spec"]["selector"] == {"app": name}:
            assert service["spec"]["ports"] == [
                {"name": "http", "port": port, "targetPort": "http"}
            ]
    # What it must do on SIGTERM fits into its grace.
    grace = workload["spec"]["template"]["spec"]["terminationGracePeriodSeconds"]
    assert grace >= (LONGEST_END + GRACE if name == "serve" else 30)


def test_every_server_of_metrics_is_found_once() -> None:
    (monitor,) = of("ServiceMonitor")
    assert monitor["apiVersion"] == OPERATOR
    wanted = monitor["spec"]["selector"]["matchLabels"].items()
    found = [one for one in of("Service") if wanted <= one["metadata"]["labels"].items()]
    pods = [tuple(one["spec"]["selector"].items()) for one in found]
    assert sorted(pods) == [(("app", name),) for name in ("learner", "run", "serve")]
    (endpoint,) = monitor["spec"]["endpoints"]
    assert endpoint["path"] == "/metrics"
    assert {endpoint["port"]} == {port["name"] for one in found for port in one["spec"]["ports"]}
    secrets = {
        (env["valueFrom"]["secretKeyRef"]["name"], env["valueFrom"]["secretKeyRef"]["key"])
        for one in of("StatefulSet")
        for env in one["spec"]["template"]["spec"]["containers"][0]["env"]
    }
    token = endpoint["authorization"]["credentials"]
    assert secrets == {(token["name"], token["key"])}


def test_rules_are_those_of_prometheus() -> None:
    (rules,) = of("PrometheusRule")
    assert (rules["apiVersion"], set(rules)) == (
        OPERATOR,
        {"apiVersion", "kind", "metadata", "spec"},
    )
    assert rules["spec"] == yaml.safe_load((GRAFANA / "alerts.yaml").read_text(encoding="utf-8"))


def test_a_budget_is_for_those_of_whom_there_are_several() -> None:
    for budget in of("PodDisruptionBudget"):
        (able,) = [
            one for one in workloads() if one["spec"]["selector"] == budget["spec"]["selector"]
        ]
        assert able["spec"]["replicas"] > budget["spec"]["maxUnavailable"]


def test_two_share_one_run() -> None:
    learner = named("learner")
    assert learner["spec"]["replicas"] == 2 and "--standby" in args_of(learner)
    (claim,) = of("PersistentVolumeClaim")
    assert claim["spec"]["accessModes"] == ["ReadWriteMany"]
    assert value_of(learner, "--checkpoints").startswith("/kept/")
    assert value_of(learner, "--transactional-id")
    # One that waits is not ready: neither its start nor an update may wait for that.
    assert learner["spec"]["podManagementPolicy"] == "Parallel"
    assert learner["spec"]["updateStrategy"]["type"] == "OnDelete"
    services = {
        one["metadata"]["name"]: one["spec"]
        for one in of("Service")
        if one["spec"]["selector"] == {"app": "learner"}
    }
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
    learner, (reader,) = named("learner"), of("Deployment")
    assert value_of(reader, "--from-model") == value_of(learner, "--publish")
    assert value_of(reader, "--group")
    (container,) = reader["spec"]["template"]["spec"]["containers"]
    assert container["volumeMounts"][0]["readOnly"]
