"""The unit of systemd: accepted by systemd, and its command starts a node."""

import shlex
import subprocess
from configparser import ConfigParser
from pathlib import Path

import pytest

from barnabas.broker.settings.definitions import BROKER_CONFIGS
from barnabas.cli.base.properties import read_properties
from barnabas.embedded.ports import Ports
from tests.ops.deployment import OPS, Deployed, barnabas, replaced
from tests.support.machine import find_tool, missing
from tests.support.wait import wait_until

UNIT = OPS / "systemd/barnabas.service"
PROPERTIES = OPS / "systemd/server.properties"
PROGRAM = "/opt/barnabas/bin/barnabas"


def service() -> dict[str, str]:
    parser = ConfigParser(interpolation=None, strict=False)
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read(UNIT)
    return dict(parser["Service"])


def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    analyze = find_tool("systemd-analyze")
    if analyze is None:
        pytest.skip(missing("systemd-analyze"))
    copy = tmp_path / UNIT.name
    copy.write_text(UNIT.read_text().replace(PROGRAM, "/bin/true"))
    done = subprocess.run(
        [analyze, "verify", "--man=no", str(copy)], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_command_starts_a_node_from_the_properties(tmp_path: Path) -> None:
    for name in read_properties(PROPERTIES, "--config"):
        assert name in BROKER_CONFIGS
    ports = Ports(2)
    secret = tmp_path / "cluster.secret"
    secret.write_text("of a cluster under test")
    address = f"127.0.0.1:{ports.numbers[0]}"
    voters = "1@h1.example:9092,2@h2.example:9092,3@h3.example:9092"
    names = {
        voters: f"1@{address}",
        "0.0.0.0:9092": address,
        "h1.example:9092": address,
        "/etc/barnabas/cluster.secret": str(secret),
        "127.0.0.1:9404": f"127.0.0.1:{ports.numbers[1]}",
    }
    properties = tmp_path / "server.properties"
    properties.write_text(replaced(PROPERTIES.read_text(), names))
    paths = {
        "/etc/barnabas/server.properties": str(properties),
        "/var/lib/barnabas": str(tmp_path / "data"),
    }
    program, *arguments = shlex.split(replaced(service()["ExecStart"], paths))
    assert program == PROGRAM
    ports.close()
    given = {"BARNABAS_METRICS_LISTENERS": f"127.0.0.1:{ports.numbers[1]}"}
    node = Deployed([*barnabas(), *arguments], given, tmp_path, "node")
    try:
        node.wait_until_ready()
        # The line is written after the first answer that the node is ready.
        wait_until(lambda: f"data in {tmp_path}/data" in node.said, lambda: node.said)
        assert node.stop() == 0
    finally:
        node.kill()


def test_the_unit_leaves_time_to_stop_and_restarts() -> None:
    unit = service()
    assert unit["Restart"] == "always"
    assert int(unit["TimeoutStopSec"]) >= 60
    assert unit["NoNewPrivileges"] == "yes"
