"""An application that is started while no broker is up, in a process of its own."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

import barnabas
from tests.support.wait import wait_until

SOURCE = """
import barnabas

app = barnabas.App("{servers}")

@app.handler("orders", group="g", produces="out", dead_letters="orders-dead", {options})
async def handle(number: str) -> str:
    return number

app.run()
"""
WAITS = "the application waits, and goes on by itself: cannot reach a broker"


def start(folder: Path, servers: str, options: str = "") -> "subprocess.Popen[bytes]":
    (folder / "service.py").write_text(SOURCE.format(servers=servers, options=options))
    with (folder / "log").open("wb") as log:
        return subprocess.Popen([sys.executable, "service.py"], cwd=folder, stdout=log, stderr=log)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda each: each.name)
def test_a_signal_ends_the_wait(tmp_path: Path, number: signal.Signals) -> None:
    log = tmp_path / "log"
    with start(tmp_path, "127.0.0.1:1") as service:  # a port that nothing listens on
        wait_until(lambda: WAITS in log.read_text(), log.read_text)
        service.send_signal(number)
        assert service.wait() == 0, log.read_text()
    assert log.read_text().count("waits") == 1, "it is said once"


def test_it_goes_on_when_the_cluster_is_there(tmp_path: Path) -> None:
    with barnabas.Cluster() as cluster:
        servers = cluster.bootstrap_servers
        cluster.create_topic("orders")
        cluster.create_topic("out")
        with barnabas.Producer(servers) as producer:
            producer.send("orders", b"7").result()
        cluster.kill(1)
        log = tmp_path / "log"
        with start(tmp_path, servers, "share=True") as service:
            try:
                wait_until(lambda: WAITS in log.read_text(), log.read_text)
                cluster.restart(1)
                with barnabas.Consumer(servers, "out") as consumer:
                    found = wait_until(lambda: consumer.poll(0.1), log.read_text)
                assert [each.value for each in found] == [b"7"]
            finally:
                service.kill()
