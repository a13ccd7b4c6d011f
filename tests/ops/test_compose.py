"""compose.yaml and the image: their commands and settings make a cluster of three."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import yaml

from barnabas.embedded.ports import Ports
from tests.ops.deployment import OPS, Deployed, barnabas, replaced
from tests.support.wait import LIMIT_S

DOCKERFILE = (OPS / "container/Dockerfile").read_text()
PROJECT: dict[str, Any] = yaml.safe_load((OPS / "compose.yaml").read_text())


def instruction(name: str) -> str:
    """The last of this name in the Dockerfile, with its lines joined."""
    joined = DOCKERFILE.replace("\\\n", " ")
    return re.findall(rf"^{name} (.*)$", joined, re.MULTILINE)[-1]


def image_environment() -> dict[str, str]:
    return dict(pair.split("=", 1) for pair in instruction("ENV").split())


def test_the_image_runs_a_node_without_privileges() -> None:
    assert instruction("USER") == "10001:10001"
    assert json.loads(instruction("ENTRYPOINT")) == ["barnabas"]
    assert json.loads(instruction("CMD")) == ["server"]
    assert instruction("HEALTHCHECK").endswith('CMD ["barnabas", "health", "ready"]')
    assert len(re.findall(r"^FROM ", DOCKERFILE, re.MULTILINE)) == 2


def test_what_the_image_copies_is_there_and_not_ignored() -> None:
    ignored = (OPS / "container/Dockerfile.dockerignore").read_text().splitlines()
    for line in re.findall(r"^COPY (?!--from)(.*) \S+$", DOCKERFILE, re.MULTILINE):
        for path in line.split():
            assert (OPS.parent / path).exists()
            assert f"!{path}" in ignored


def test_the_command_of_the_image_is_a_node_that_gets_ready(tmp_path: Path) -> None:
    ports = Ports(2)
    names = {
        "0.0.0.0:9092": f"127.0.0.1:{ports.numbers[0]}",
        "0.0.0.0:9404": f"0.0.0.0:{ports.numbers[1]}",
        "/data": str(tmp_path / "data"),
    }
    given = {key: replaced(value, names) for key, value in image_environment().items()}
    given.pop("PATH")
    ports.close()
    command = [*barnabas(), *json.loads(instruction("CMD"))]
    node = Deployed(command, given, tmp_path, "node")
    try:
        node.wait_until_ready()
        assert node.health().stdout == f"127.0.0.1:{ports.numbers[1]}: ready\n"
        assert json.loads(_json_health(node)) == {"ok": True, "reasons": []}
        assert node.stop() == 0
        done = node.health()
        assert done.returncode == 3
        assert done.stderr.startswith("error: no answer from http://127.0.0.1:")
    finally:
        node.kill()


def _json_health(node: Deployed) -> str:
    command = [*barnabas(), "health", "ready", "--json"]
    return subprocess.run(
        command, env=node.environment, capture_output=True, text=True, timeout=LIMIT_S, check=True
    ).stdout


def test_every_service_has_what_a_node_needs() -> None:
    services = PROJECT["services"]
    assert list(services) == ["node-1", "node-2", "node-3"]
    for name, service in services.items():
        assert service["hostname"] == name
        assert service["read_only"]
        assert service["stop_grace_period"] == "90s"
        assert service["volumes"] == [f"data-{name[-1]}:/data"]
        assert f"NODES://{name}:9092" in service["environment"]["BARNABAS_ADVERTISED_LISTENERS"]
    assert set(PROJECT["volumes"]) == {"data-1", "data-2", "data-3"}


def test_the_services_make_a_cluster(tmp_path: Path) -> None:
    ports = Ports(9)
    secret = tmp_path / "secret"
    secret.write_text("of a cluster under test")
    nodes = []
    of_nodes = {f"node-{n}:9092": f"127.0.0.1:{ports.numbers[n - 1]}" for n in (1, 2, 3)}
    for number, service in enumerate(PROJECT["services"].values(), 1):
        outside, metrics = ports.numbers[number + 2], ports.numbers[number + 5]
        names = {
            **of_nodes,
            "0.0.0.0:9092": f"127.0.0.1:{ports.numbers[number - 1]}",
            f":2909{number}": f":{outside}",
            "0.0.0.0:9404": f"127.0.0.1:{metrics}",
            "/run/secrets/cluster": str(secret),
            "/data": str(tmp_path / f"data-{number}"),
        }
        given = {key: replaced(value, names) for key, value in service["environment"].items()}
        nodes.append(([*barnabas(), *service["command"]], given, tmp_path, f"node-{number}"))
    ports.close()
    running = [Deployed(*each) for each in nodes]
    try:
        for node in running:
            node.wait_until_ready()
        # As a client outside, by the listener that is published.
        client = ("-b", f"localhost:{ports.numbers[3]}")
        command = [*barnabas(), "topics", "create", "orders", *client]
        assert subprocess.run(command, timeout=LIMIT_S, check=False).returncode == 0
        described = subprocess.run(
            [*barnabas(), "topics", "describe", "orders", "--json", *client],
            capture_output=True,
            timeout=LIMIT_S,
            check=True,
        )
        (topic,) = json.loads(described.stdout)
        assert len(topic["partitions"][0]["replicas"]) == 3
        for node in running:
            assert node.stop() == 0
    finally:
        for node in running:
            node.kill()
