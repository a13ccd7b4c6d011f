"""The manifests for Kubernetes: what makes a rolling update safe, and the command of a pod."""

import re
import subprocess
from pathlib import Path
from typing import Any

import yaml

from barnabas import __version__
from barnabas.broker.settings.definitions import BROKER_CONFIGS
from barnabas.security.setup.cluster_files import ClusterFiles, NodeHosts
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
    assert ENVIRONMENT["BARNABAS_LISTENERS"] == f"SASL_SSL://0.0.0.0:{ports['kafka']}"


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
        assert command_of(pod)[:3] == ["server", "--id", node_id]
        advertised = ENVIRONMENT["BARNABAS_ADVERTISED_LISTENERS"].replace("$(POD_NAME)", pod)
        assert f"SASL_SSL://{address}" == advertised


def command_of(pod: str) -> list[str]:
    """The arguments of the node that a pod runs."""
    script = NODE["command"][2].replace("exec barnabas", "echo")
    shown = subprocess.run(
        [*NODE["command"][:2], script],
        env={"POD_NAME": pod},
        capture_output=True,
        text=True,
        check=True,
    )
    return shown.stdout.split()


def test_a_node_is_secured_as_one_of_barnabas_security(tmp_path: Path) -> None:
    """With the same settings, and files that the documented commands put into the Secret."""
    files = ClusterFiles(tmp_path / "security")
    domain = "barnabas.svc.cluster.local"
    hosts = ("barnabas-1.barnabas." + domain, "barnabas-bootstrap." + domain)
    files.make([NodeHosts(2, hosts)])
    expected = files.node_settings(2, Path("/etc/barnabas"))
    expected["ssl.keystore.location"] = "/etc/barnabas/node-2.pem"
    given = {
        name.removeprefix("BARNABAS_").lower().replace("_", "."): value
        for name, value in ENVIRONMENT.items()
    }
    option, setting = command_of("barnabas-1")[3:]
    assert option == "--set"
    given.update([setting.split("=")])
    assert given.items() >= expected.items()
    (secret,) = (each["secret"] for each in POD["volumes"] if each["name"] == "security")
    page = (OPS.parent / "docs/deploying.md").read_text()
    assert f"create secret generic {secret['secretName']} " in page
    for value in expected.values():
        if value.startswith("/etc/barnabas/"):
            name = Path(value).name
            assert re.search(rf"--from-file=(\S*/)?{re.escape(name)}[\s=]", page), name
    for host in hosts:
        assert host.replace(domain, "$domain") in page


def test_only_monitoring_gets_the_metrics() -> None:
    policy = manifest("NetworkPolicy")
    assert policy["podSelector"]["matchLabels"] == SET["template"]["metadata"]["labels"]
    assert policy["policyTypes"] == ["Ingress"]
    ports = {each["name"] for each in NODE["ports"]}
    allowed = {rule["ports"][0]["port"]: rule.get("from") for rule in policy["ingress"]}
    assert allowed.keys() == ports
    assert allowed["kafka"] is None
    (source,) = allowed["metrics"]
    assert source.keys() == {"namespaceSelector"}
    assert source["namespaceSelector"]["matchLabels"]


def test_the_image_is_that_of_this_release() -> None:
    assert NODE["image"] == f"barnabas:{__version__}"


def test_a_pod_has_no_privileges_and_time_to_stop() -> None:
    assert POD["securityContext"]["runAsNonRoot"] is True
    assert NODE["securityContext"]["readOnlyRootFilesystem"] is True
    assert POD["terminationGracePeriodSeconds"] >= 60
    mounts = {each["mountPath"] for each in NODE["volumeMounts"]}
    for name in ("BARNABAS_LOG_DIRS", "BARNABAS_CLUSTER_SECRET_FILE"):
        assert any(re.match(rf"{mount}(/|$)", ENVIRONMENT[name]) for mount in mounts)
