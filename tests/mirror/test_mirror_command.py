"""`barnabas mirror run`, killed and started again; and what it refuses."""

import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import barnabas
from barnabas.cli.mirror.cluster_option import cluster_of
from barnabas.mirror.flow import ClusterEnd, Flow
from tests.mirror.copies import copy, make_topic, records_of
from tests.support.wait import LIMIT_S, wait_until

Ends = tuple[ClusterEnd, ClusterEnd]
BARNABAS = (sys.executable, "-m", "barnabas")

_WITHOUT_EXTRAS = """
import sys
from importlib.machinery import PathFinder
real = PathFinder.find_spec
def find_spec(name, *rest):
    return None if name.partition(".")[0] in ("numpy", "pyarrow", "pyspark") else real(name, *rest)
PathFinder.find_spec = find_spec
sys.argv[0] = "barnabas"
from barnabas.cli.app import main
main()
"""
"""As the base install is: a mirror needs no extra."""


def start(ends: Ends, topic: str, folder: Path) -> subprocess.Popen[bytes]:
    a, b = ends
    return subprocess.Popen(
        [
            *(sys.executable, "-c", _WITHOUT_EXTRAS, "mirror", "run", "--topics", topic),
            *("--from", f"{a.name}={a.bootstrap_servers}"),
            *("--to", f"{b.name}={b.bootstrap_servers}", "--metrics-listener", "0"),
        ],
        stderr=(folder / "stderr").open("ab"),
        start_new_session=True,
    )


@pytest.mark.timeout(600)
def test_processes_share_a_flow_and_take_over_from_a_killed_one(
    ends: Ends, topic: str, tmp_path: Path
) -> None:
    """Every record is there once and in order, although the processes are killed by turns."""
    a, b = ends
    make_topic(a, topic, 4)
    there = f"{a.name}.{topic}"
    done = threading.Event()

    def produce() -> None:
        with barnabas.Producer(a.bootstrap_servers) as producer:
            for each in range(1_000_000):
                producer.send(topic, b"%d" % each, partition=each % 4)
                if each % 200 == 0 and done.wait(0.05):
                    return

    def shares() -> list[int]:
        """How many partitions each process has."""
        with barnabas.Admin(b.bootstrap_servers) as admin:
            group = admin.describe_group(f"barnabas-mirror.{a.name}->{b.name}.members")
            return sorted(
                sum(place.topic == there for place in each.partitions) for each in group.members
            )

    def copied() -> int:
        with barnabas.Admin(b.bootstrap_servers) as admin:
            return sum(admin.offsets(there).values()) if there in admin.topics() else 0

    def said() -> str:
        return (tmp_path / "stderr").read_text()

    producing = threading.Thread(target=produce)
    producing.start()
    mirrors = [start(ends, topic, tmp_path) for _ in range(2)]
    try:
        wait_until(lambda: copied() > 500, said)
        wait_until(lambda: shares() == [2, 2], said)
        for _ in range(2):
            killed = mirrors.pop(0)
            killed.kill()
            killed.wait()
            wait_until(lambda: shares() == [4], said)
            mirrors.append(start(ends, topic, tmp_path))
            wait_until(lambda: shares() == [2, 2], said)
        done.set()
        producing.join()
        wanted = records_of(a, topic)
        wait_until(lambda: len(records_of(b, there)) >= len(wanted), said)
        assert records_of(b, there) == wanted
        leaving, staying = mirrors
        leaving.send_signal(signal.SIGTERM)
        assert leaving.wait(LIMIT_S) == 143
        wait_until(lambda: shares() == [4], said)
        staying.send_signal(signal.SIGINT)
        assert staying.wait(LIMIT_S) == 130
        assert "Traceback" not in said(), said()
        assert "metrics at http://127.0.0.1:" in said()
    finally:
        done.set()
        producing.join()
        for each in mirrors:
            each.kill()
            each.wait()


def refused(*options: str) -> str:
    done = subprocess.run(
        [*BARNABAS, "mirror", "run", *options],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 2
    return done.stderr


def test_options_that_are_missing_are_named() -> None:
    assert "--properties FILE" in refused("--from", "a=a:9092", "--to", "b=b:9092")


def test_the_address_of_metrics_is_checked() -> None:
    ends = ("--from", "a=a:9092", "--to", "b=b:9092", "--topics", "t")
    assert "write PORT or HOST:PORT" in refused(*ends, "--metrics-listener", "here")


def test_a_file_and_options_do_not_mix(tmp_path: Path) -> None:
    path = tmp_path / "mm2.properties"
    path.write_text("clusters = A, B\nA.bootstrap.servers = a:9092\n")
    assert "--topics can't be combined" in refused("--properties", str(path), "--topics", "x")
    assert "--groups can't be combined" in refused("--properties", str(path), "--groups", "x")
    assert "B.bootstrap.servers" in refused("--properties", str(path))


def test_a_file_says_which_flow_is_looked_at(ends: Ends, topic: str, tmp_path: Path) -> None:
    a, b = ends
    path = tmp_path / "mm2.properties"
    path.write_text(
        f"clusters = {a.name}, {b.name}\nreplication.policy.separator = _\n"
        f"{a.name}.bootstrap.servers = {a.bootstrap_servers}\n"
        f"{b.name}.bootstrap.servers = {b.bootstrap_servers}\n"
        f"{a.name}->{b.name}.enabled = true\n{b.name}->{a.name}.enabled = true\n"
    )

    def status(*options: str) -> tuple[int, str]:
        command = [*BARNABAS, "mirror", "status", "--properties", str(path), *options]
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
        return done.returncode, done.stdout + done.stderr

    flow = Flow(a, b, topics=(topic,), separator="_")
    make_topic(a, topic)
    make_topic(b, f"{a.name}_{topic}")
    copy(flow, topic)
    code, said = status("--flow", flow.name)
    assert (code, f"{a.name}_{topic}" in said) == (0, True), said
    assert f"--flow with one of '{flow.name}'" in status()[1]
    assert "--names can't be combined" in status("--names", "prefix")[1]


def test_clusters_without_a_name_are_called_by_their_id(ends: Ends, tmp_path: Path) -> None:
    a, _ = ends
    found = cluster_of("--from", a.bootstrap_servers, None)
    assert found.bootstrap_servers == a.bootstrap_servers
    with barnabas.Admin(a.bootstrap_servers) as admin:
        assert found.name == admin.cluster().cluster_id
    config = tmp_path / "a.properties"
    config.write_text(f"bootstrap.servers={a.bootstrap_servers}\nsecurity.protocol=PLAINTEXT\n")
    assert cluster_of("--from", "east", config).name == "east"
