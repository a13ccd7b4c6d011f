"""`barnabas server --check` refuses what a start refuses, and changes nothing."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import fork_server
from tests.support.wait import LIMIT_S


def run(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "barnabas", "server", *arguments]
    return fork_server.run(command, cwd=folder, capture_output=True, text=True, timeout=LIMIT_S)


def written(folder: Path, settings: str) -> list[str]:
    (folder / "server.properties").write_text(f"listeners=127.0.0.1:0\n{settings}\n")
    return ["--config", "server.properties"]


REFUSED = [
    ("log.dirs=a,b", "give one directory"),
    ("log.dirs=", "give one directory"),
    ("log.dirs=file", "file"),
    ("log.dirs=of-node-2", "belongs to node 2, not to node 1"),
    ("log.dirs=local", "start it with --nodes"),
    ("log.dirs=secured", "start it with --secure"),
    ("log.file=file/x.log", "log.file=file/x.log"),
    ("log.file=local", "log.file=local: Is a directory"),
    ("metrics.listeners=nonsense", "metrics.listeners=nonsense"),
    ("cluster.secret.file=missing", "cluster.secret.file=missing"),
    ("cluster.secret.file=file", "at least 16"),
    ("initial.users.file=missing", "initial.users.file=missing"),
    ("initial.users.file=file", "initial.users.file=file"),
    ("listeners=SSL://127.0.0.1:0", "ssl.keystore"),
    ("listeners=SSL://127.0.0.1:0\nssl.keystore.location=missing", "missing"),
    (
        "listeners=SASL_PLAINTEXT://127.0.0.1:0\nsasl.enabled.mechanisms=PLAIN",
        "PLAIN, and listener.name.sasl_plaintext.plain.sasl.jaas.config is not set",
    ),
    (
        (
            "node.id=1\nlisteners=SASL_PLAINTEXT://127.0.0.1:1001\n"
            "controller.quorum.voters=1@127.0.0.1:1001,2@127.0.0.1:1002"
        ),
        "the nodes share no secret",
    ),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "file").write_text("short\n")
    for name, node in (("of-node-2", 2), ("local/node-1", 1)):
        (tmp_path / name).mkdir(parents=True)
        meta = tmp_path / name / "meta.properties"
        meta.write_text(f"version=1\nnode.id={node}\ndirectory.id=AAAAAAAAAAAAAAAAAAAAAA\n")
    (tmp_path / "secured" / "security").mkdir(parents=True)
    return tmp_path


@pytest.mark.parametrize(("settings", "said"), REFUSED)
def test_the_check_refuses_what_the_start_refuses(folder: Path, settings: str, said: str) -> None:
    arguments = written(folder, settings)
    before = sorted(folder.rglob("*"))
    checked = run(folder, *arguments, "--check")
    assert sorted(folder.rglob("*")) == before
    started = run(folder, *arguments)
    assert said in started.stderr
    assert said in checked.stderr
    assert started.returncode == checked.returncode == 2


def test_the_check_names_all_that_is_wrong(folder: Path) -> None:
    arguments = written(folder, "log.dirs=a,b\nmetrics.listeners=x\nnum.io.threads=8")
    checked = run(folder, *arguments, "--check")
    assert checked.returncode == 2
    assert checked.stdout.startswith("num.io.threads has no effect")
    assert "2 settings can't be used:" in checked.stderr
    assert "log.dirs=a,b" in checked.stderr
    assert "metrics.listeners=x" in checked.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--nodes", "3", "--id", "2"], "cannot be combined with --nodes"),
        (["--nodes", "3", "--data", "of-node-2"], "holds the data of a single node"),
        (["--nodes", "3", "--data", "secured"], "start it with --secure"),
        (["--secure", "--data", "of-node-2"], "not begun with --secure"),
        (["--secure", "--set", "cluster.secret.file=file"], "can't be combined with --secure"),
        (["--secure", "--voters", "1@a:1"], "can't be combined with --secure"),
    ],
)
def test_the_check_knows_of_local_clusters(folder: Path, arguments: list[str], said: str) -> None:
    before = sorted(folder.rglob("*"))
    checked = run(folder, "--listen", "127.0.0.1:9392", *arguments, "--check")
    assert checked.returncode == 2
    assert said in checked.stderr
    assert sorted(folder.rglob("*")) == before


@pytest.mark.parametrize(
    "arguments", [[], ["--nodes", "3"], ["--secure"], ["--nodes", "3", "--secure"]]
)
def test_the_check_of_good_settings_changes_nothing(tmp_path: Path, arguments: list[str]) -> None:
    checked = run(tmp_path, *arguments, "--check")
    assert checked.returncode == 0, checked.stderr
    assert list(tmp_path.iterdir()) == []
