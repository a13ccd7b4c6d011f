"""compose.yaml and the image: their commands and settings make a cluster of three."""

import json
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import yaml

from barnabas import __version__
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
    assert json.loads(instruction("CMD")) == ["server", "--secure"]
    assert instruction("HEALTHCHECK").endswith('CMD ["barnabas", "health", "ready"]')
    assert len(re.findall(r"^FROM ", DOCKERFILE, re.MULTILINE)) == 2


def test_the_image_installs_exact_versions_only() -> None:
    joined = DOCKERFILE.replace("\\\n", " ")
    installs = re.findall(r"pip (?:install|wheel) [^&\n]*", joined)
    assert len(installs) == 4
    for command in installs:
        assert "--require-hashes" in command or "--no-deps" in command
        assert "--no-build-isolation" in command or "wheel " not in command
    base = re.findall(r"^ARG BASE=(\S+)$", DOCKERFILE, re.MULTILINE)
    assert re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE) == ["${BASE}"] * 2
    assert re.fullmatch(r"python:[\d.]+-slim(@sha256:[0-9a-f]{64})?", *base)


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
        "127.0.0.1:9404": f"127.0.0.1:{ports.numbers[1]}",
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
        administrator = tmp_path / "data/security/admin.properties"
        client = ("-b", f"localhost:{ports.numbers[0]}")
        assert _run("topics", "list", *client).returncode != 0, "nobody gets in without signing in"
        signed_in = _run("topics", "list", *client, "--command-config", str(administrator))
        assert signed_in.returncode == 0, signed_in.stderr
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


def _run(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*barnabas(), *arguments], capture_output=True, text=True, timeout=LIMIT_S, check=False
    )


NODES = {name: each for name, each in PROJECT["services"].items() if name.startswith("node-")}


def test_every_service_has_what_a_node_needs() -> None:
    assert list(NODES) == ["node-1", "node-2", "node-3"]
    for name, service in NODES.items():
        assert service["hostname"] == name
        assert service["read_only"]
        assert service["stop_grace_period"] == "90s"
        number = name[-1]
        assert service["volumes"] == [
            f"data-{number}:/data",
            f"security-{number}:/etc/barnabas:ro",
        ]
        assert f"NODES://{name}:9092" in service["environment"]["BARNABAS_ADVERTISED_LISTENERS"]
        # `up --wait` fails if a service that ends is not the condition of another.
        assert service["depends_on"]["security"]["condition"] == "service_completed_successfully"
    used = [volume for each in PROJECT["services"].values() for volume in each["volumes"]]
    assert {volume.partition(":")[0] for volume in used} == set(PROJECT["volumes"])


def test_only_this_machine_reaches_the_services() -> None:
    for service in NODES.values():
        assert all(port.startswith("127.0.0.1:") for port in service["ports"])
        listeners = service["environment"]["BARNABAS_LISTENER_SECURITY_PROTOCOL_MAP"]
        assert {each.partition(":")[2] for each in listeners.split(",")} == {"SASL_SSL"}
    for service in PROJECT["services"].values():
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
    assert PROJECT["services"]["security"]["network_mode"] == "none"


def test_the_image_is_that_of_this_release() -> None:
    for service in PROJECT["services"].values():
        assert service["image"] == f"barnabas:{__version__}"


def make_security(folder: Path, names: dict[str, str]) -> None:
    """What the service `security` does, in a folder and without another owner."""
    service = PROJECT["services"]["security"]
    (script,) = service["command"]
    program = " ".join(map(shlex.quote, barnabas()))
    script = script.replace("barnabas security", f"{program} security")
    script = script.replace("chown -R 10001:10001", "ls -R")
    script = script.replace("/security", str(folder))
    for _ in range(2):  # the second time it leaves everything as it is
        subprocess.run([*service["entrypoint"], script], timeout=LIMIT_S, check=True)
    for file in folder.glob("node-*/server.properties"):
        own = {**names, "/etc/barnabas": str(file.parent)}
        file.write_text(replaced(file.read_text(), own))


def test_the_services_make_a_cluster(tmp_path: Path) -> None:
    ports = Ports(9)
    security = tmp_path / "of-the-cluster"
    nodes = []
    of_nodes = {f"node-{n}:9092": f"localhost:{ports.numbers[n - 1]}" for n in (1, 2, 3)}
    make_security(security, of_nodes)
    for number, service in enumerate(NODES.values(), 1):
        outside, metrics = ports.numbers[number + 2], ports.numbers[number + 5]
        names = {
            **of_nodes,
            "0.0.0.0:9092": f"127.0.0.1:{ports.numbers[number - 1]}",
            f":2909{number}": f":{outside}",
            "0.0.0.0:9404": f"127.0.0.1:{metrics}",
            "/etc/barnabas": str(security / f"node-{number}"),
            "/data": str(tmp_path / f"data-{number}"),
        }
        given = {key: replaced(value, names) for key, value in service["environment"].items()}
        command = [replaced(part, names) for part in service["command"]]
        nodes.append(([*barnabas(), *command], given, tmp_path, f"node-{number}"))
    ports.close()
    running = [Deployed(*each) for each in nodes]
    try:
        for node in running:
            node.wait_until_ready()
        # As a client outside, by the listener that is published.
        outside_client = ("-b", f"localhost:{ports.numbers[3]}")
        assert _run("topics", "create", "orders", *outside_client).returncode != 0
        client = (*outside_client, "--command-config", str(security / "admin.properties"))
        created = _run("topics", "create", "orders", *client)
        assert created.returncode == 0, created.stderr
        described = _run("topics", "describe", "orders", "--json", *client)
        (topic,) = json.loads(described.stdout)
        assert len(topic["partitions"][0]["replicas"]) == 3
        for node in running:
            assert node.stop() == 0
    finally:
        for node in running:
            node.kill()
