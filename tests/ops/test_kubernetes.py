"""The manifests for Kubernetes: what makes a rolling update safe, and the command of a pod."""

import re
import subprocess
from typing import Any

import yaml

from barnabas.broker.settings.definitions import BROKER_CONFIGS
from tests.ops.deployment import OPS

MANIFESTS: list[dict[str, Any]] = list(
    yaml.safe_load_all((OPS / "kubernetes/barnabas.yaml").read_text())
)


def manifest(kind: str, name: str = "barnabas") -> dict[str, Any]:
    (found,) = (
        each for each in MANIFESTS if each["kind"] == kind and each["metadata"]["name"] == name
    )
    spec: dict[str, Any] = found["spec"]
    return spec


SET = manifest("StatefulSet")
POD = SET["template"]["spec"]
(NODE,) = POD["containers"]
ENVIRONMENT = {each["name"]: each.get("value", "") for each in NODE["env"]}


def test_all_parts_select_the_same_pods() -> None:
    labels = SET["template"]["metadata"]["labels"]
    assert SET["selector"]["matchLabels"] == labels
    assert manifest("Service")["selector"] == labels
    assert manifest("Service", "barnabas-bootstrap")["selector"] == labels
    assert manifest("PodDisruptionBudget")["selector"]["matchLabels"] == labels
    (anti,) = POD["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert anti["labelSelector"]["matchLabels"] == labels


def test_nodes_find_each_other_before_they_are_ready() -> None:
    service = manifest("Service")
    assert service["clusterIP"] == "None"
    assert service["publishNotReadyAddresses"] is True
    assert SET["serviceName"] == "barnabas"
    assert SET["podManagementPolicy"] == "Parallel"
    assert SET["updateStrategy"]["type"] == "RollingUpdate"


def test_probes_ask_for_pages_that_nodes_serve() -> None:
    pages = {
        name: NODE[name]["httpGet"]["path"]
        for name in ("startupProbe", "readinessProbe", "livenessProbe")
    }
    assert pages == {
        "startupProbe": "/startupz",
        "readinessProbe": "/readyz",
        "livenessProbe": "/livez",
    }
    ports = {each["name"]: each["containerPort"] for each in NODE["ports"]}
    assert ENVIRONMENT["BARNABAS_METRICS_LISTENERS"] == f"0.0.0.0:{ports['metrics']}"
    assert ENVIRONMENT["BARNABAS_LISTENERS"] == f"0.0.0.0:{ports['kafka']}"


def test_every_variable_is_a_setting() -> None:
    for name in ENVIRONMENT:
        if name.startswith("BARNABAS_"):
            assert name.removeprefix("BARNABAS_").lower().replace("_", ".") in BROKER_CONFIGS


def test_every_replica_votes_under_the_name_that_it_advertises() -> None:
    voters = ENVIRONMENT["BARNABAS_CONTROLLER_QUORUM_VOTERS"].split(",")
    assert len(voters) == SET["replicas"]
    for ordinal, voter in enumerate(voters):
        node_id, _, address = voter.partition("@")
        pod = f"barnabas-{ordinal}"
        script = NODE["command"][2].replace("exec barnabas", "echo")
        shown = subprocess.run(
            [*NODE["command"][:2], script],
            env={"POD_NAME": pod},
            capture_output=True,
            text=True,
            check=True,
        )
        assert shown.stdout == f"server --id {node_id}\n"
        advertised = ENVIRONMENT["BARNABAS_ADVERTISED_LISTENERS"].replace("$(POD_NAME)", pod)
        assert address == advertised


def test_a_pod_has_no_privileges_and_time_to_stop() -> None:
    assert POD["securityContext"]["runAsNonRoot"] is True
    assert NODE["securityContext"]["readOnlyRootFilesystem"] is True
    assert POD["terminationGracePeriodSeconds"] >= 60
    mounts = {each["mountPath"] for each in NODE["volumeMounts"]}
    for name in ("BARNABAS_LOG_DIRS", "BARNABAS_CLUSTER_SECRET_FILE"):
        assert any(re.match(rf"{mount}(/|$)", ENVIRONMENT[name]) for mount in mounts)
