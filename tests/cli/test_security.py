"""`barnabas security`: the files of a cluster on several machines, tried on one."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from barnabas.cli.server.local_nodes import plan_nodes
from tests.cli.conftest import Cli


@pytest.fixture
def commands() -> Iterator[Cli]:
    cli = Cli("")
    yield cli
    cli.end()


def test_a_node_starts_from_its_folder_alone(commands: Cli, tmp_path: Path) -> None:
    (planned,) = plan_nodes({"listeners": "127.0.0.1:0"}, 1)
    port = str(planned.address.port)
    made = tmp_path / "made"
    moved = tmp_path / "etc"
    node = ("--node", "1=localhost,127.0.0.1", "--port", port)
    commands.ok("security", "init", str(made), *node, "--installed-at", str(moved))
    (made / "node-1").rename(moved)
    settings = str(moved / "server.properties")
    node_process = commands.start("server", "--config", settings, "--data", str(tmp_path / "data"))
    assert node_process.stdout is not None
    assert b"is ready" in node_process.stdout.readline()
    config = ("--command-config", str(made / "admin.properties"))
    assert json.loads(commands.ok("users", "list", "--json", *config))[0]["user"] == "admin"


def test_certificates_are_shown_renewed_and_added(commands: Cli, tmp_path: Path) -> None:
    folder = str(tmp_path / "security")
    commands.ok("security", "init", folder, "--node", "1=host1", "--node", "2=host2,10.0.0.2")
    shown = commands.json("security", "show", folder)
    assert [each["of"] for each in shown] == ["CA", "node 1", "node 2"]
    assert shown[2]["hosts"] == ["host2", "10.0.0.2"]
    assert shown[1]["days_left"] in (364, 365)
    renewed = commands.json("security", "renew", folder, "--days", "30")
    assert [each["days_left"] for each in renewed] in ([29, 29], [30, 30])
    commands.ok("security", "add-node", folder, "--node", "3=host3")
    settings = (tmp_path / "security" / "node-3" / "server.properties").read_text()
    assert "controller.quorum.voters=1@host1:9092,2@host2:9092\n" in settings
    assert "node.id=3\n" in settings


def test_the_settings_are_those_that_production_needs(commands: Cli, tmp_path: Path) -> None:
    folder = tmp_path / "security"
    nodes = [f"--node={number}=host{number}" for number in (1, 2, 3)]
    said = commands.ok("security", "init", str(folder), *nodes, "--installed-at", "/etc/barnabas")
    assert (
        f"Copy the contents of {folder / 'node-2'} to /etc/barnabas on host2, then run there: "
        "barnabas server --config /etc/barnabas/server.properties\n"
    ) in said
    settings = (folder / "node-1" / "server.properties").read_text()
    assert "\nlog.dirs=/var/lib/barnabas\nmin.insync.replicas=2\n" in settings
    assert "\n# metrics.listeners=127.0.0.1:9404\n# auto.create.topics.enable=false\n" in settings
    commands.ok("security", "add-node", str(folder), "--node", "4=host4", "--data", "/data")
    settings = (folder / "node-4" / "server.properties").read_text()
    assert "\nlog.dirs=/data\nmin.insync.replicas=2\n" in settings
    single = tmp_path / "single"
    commands.ok("security", "init", str(single), "--node", "1=host1")
    settings = (single / "node-1" / "server.properties").read_text()
    assert f"\nlog.dirs={single / 'node-1' / 'data'}\n" in settings
    assert "min.insync.replicas" not in settings


def test_a_certificate_is_revoked(commands: Cli, tmp_path: Path) -> None:
    folder = str(tmp_path / "security")
    commands.ok("security", "init", folder, "--node", "1=host1", "--node", "2=host2")
    settings = tmp_path / "security" / "node-1" / "server.properties"
    location = f"ssl.crl.location={tmp_path / 'security' / 'node-1' / 'crl.pem'}\n"
    assert location in settings.read_text()
    said = commands.ok("security", "revoke", folder, "--node", "2")
    assert "revoked CN=node-2, serial " in said
    assert "Set ssl.crl.location" not in said
    shown = commands.json("security", "show", folder)
    assert [each["revoked"] for each in shown] == [False, False, True]
    assert shown[2]["serial"] in said
    assert [each["revoked"] for each in commands.json("security", "renew", folder)] == [False] * 2
    settings.write_text(settings.read_text().replace(location, ""))
    pem = str(tmp_path / "security" / "node-1" / "node.pem")
    said = commands.ok("security", "revoke", folder, "--certificate", pem)
    assert "Set ssl.crl.location to its path there in the settings of node 1." in said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (lambda folder: ["init", folder, "--node", "host1"], "ID=HOST"),
        (lambda folder: ["init", folder, "--node", "1=a", "--node", "1=b"], "same id"),
        (lambda folder: ["renew", folder], "security init"),
        (lambda folder: ["show", folder], "security init"),
        (lambda folder: ["add-node", folder, "--node", "4=d"], "security init"),
        (lambda folder: ["revoke", folder, "--node", "1"], "security init"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(
    commands: Cli, tmp_path: Path, arguments: Callable[[str], list[str]], said: str
) -> None:
    done = commands.run("security", *arguments(str(tmp_path / "none")))
    assert done.returncode in (1, 2)
    assert said in done.stderr.decode()
    assert done.stderr.count(b"\n") == 1
    assert not (tmp_path / "none").exists()
