"""`barnabas mirror run`, killed and started again; and what it refuses."""

import secrets
import signal
import subprocess
import sys
import threading
from pathlib import Path

import psutil
import pytest

import barnabas
from barnabas.cli.mirror.cluster_option import cluster_of
from barnabas.mirror.flow import ClusterEnd, Flow
from tests.mirror.copies import copy, make_topic, records_of
from tests.support.wait import LIMIT_S, wait_until

Ends = tuple[ClusterEnd, ClusterEnd]
BARNABAS = (sys.executable, "-m", "barnabas")


def start(ends: Ends, topic: str, folder: Path) -> subprocess.Popen[bytes]:
    a, b = ends
    return subprocess.Popen(
        [
            *BARNABAS,
            *("mirror", "run", "--topics", topic, "--master", "local[2]"),
            *("--from", f"{a.name}={a.bootstrap_servers}"),
            *("--to", f"{b.name}={b.bootstrap_servers}"),
            *("--checkpoints", str(folder / secrets.token_hex(4)), "--metrics-listener", "0"),
        ],
        stderr=(folder / "stderr").open("ab"),
        start_new_session=True,
    )


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_killed_mirror_goes_on_without_its_checkpoint(
    ends: Ends, topic: str, tmp_path: Path
) -> None:
    a, b = ends
    make_topic(a, topic, 2)
    there = f"{a.name}.{topic}"
    done = threading.Event()

    def produce() -> None:
        with barnabas.Producer(a.bootstrap_servers) as producer:
            for each in range(1_000_000):
                producer.send(topic, b"%d" % each, partition=each % 2)
                if each % 200 == 0 and done.wait(0.05):
                    return

    def copied() -> int:
        with barnabas.Admin(b.bootstrap_servers) as admin:
            if there not in admin.topics():
                return 0
            return sum(admin.offsets(there).values())

    producing = threading.Thread(target=produce)
    producing.start()
    mirror = start(ends, topic, tmp_path)
    try:
        for _ in range(2):
            before = copied()
            wait_until(lambda least=before: copied() > least + 500)
            mirror.kill()
            mirror.wait()
            mirror = start(ends, topic, tmp_path)
        done.set()
        producing.join()
        wanted = records_of(a, topic)
        wait_until(lambda: len(records_of(b, there)) >= len(wanted))
        assert records_of(b, there) == wanted
        mirror.send_signal(signal.SIGINT)
        assert mirror.wait(LIMIT_S) == 130
        said = (tmp_path / "stderr").read_text()
        assert "Traceback" not in said, said
        assert "metrics at http://127.0.0.1:" in said
    finally:
        done.set()
        producing.join()
        mirror.kill()
        mirror.wait()


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_mirror_ends_with_its_spark(ends: Ends, topic: str, tmp_path: Path) -> None:
    a, b = ends
    make_topic(a, topic)
    there = f"{a.name}.{topic}"
    with barnabas.Producer(a.bootstrap_servers) as producer:
        producer.send(topic, b"first")
    mirror = start(ends, topic, tmp_path)
    try:
        with barnabas.Admin(b.bootstrap_servers) as admin:
            wait_until(
                lambda: there in admin.topics() and any(admin.offsets(there).values()),
            )
        below = psutil.Process(mirror.pid).children(recursive=True)
        (java,) = [each for each in below if each.name() == "java"]
        java.kill()
        assert mirror.wait(LIMIT_S) == 1
        said = (tmp_path / "stderr").read_text()
        assert "error: the Spark process has ended, or was killed (see " in said
        assert "Traceback" not in said, said
        _, alive = psutil.wait_procs(below, 30)
        assert alive == []
    finally:
        mirror.kill()
        mirror.wait()


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


_WITHOUT_SPARK = """
import sys
from importlib.machinery import PathFinder
real = PathFinder.find_spec
def find_spec(name, *rest):
    return None if name.partition(".")[0] in ("pyarrow", "pyspark") else real(name, *rest)
PathFinder.find_spec = find_spec
sys.argv[0] = "barnabas"
from barnabas.cli.app import main
main()
"""


def test_without_spark_the_extra_is_named() -> None:
    arguments = ["mirror", "run", "--from", "a=localhost:1", "--to", "b=localhost:2"]
    done = subprocess.run(
        [sys.executable, "-c", _WITHOUT_SPARK, *arguments, "--topics", "orders"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "pip install 'barnabas[spark]'" in done.stderr
