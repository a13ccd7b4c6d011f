"""A real server of Spark Connect, and a broker that allows exactly-once streams."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.embedded.ports import Ports
from barnabas.spark.sessions.java import java_home
from barnabas.spark.sessions.spark_home import lean_home
from tests.support.broker import BrokerProcess
from tests.support.machine import SHORT_LIVED
from tests.support.wait import LIMIT_S, wait_until

SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"


@pytest.fixture(scope="package")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    settings = {"transaction.two.phase.commit.enable": "true"}
    with BrokerProcess(tmp_path_factory.mktemp("node"), settings) as broker:
        yield broker


@pytest.fixture(scope="package")
def connect_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """What `start-connect-server.sh` starts, in the foreground; its address."""
    folder = tmp_path_factory.mktemp("connect-server")
    ports = Ports(1)
    (port,) = ports.numbers
    conf = {
        "spark.connect.grpc.binding.port": str(port),
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.driver.extraJavaOptions": SHORT_LIVED,
    }
    home = lean_home()  # its workers start sooner
    assert home is not None
    command = [str(home / "bin" / "spark-submit"), "--master", "local[2]", "--class", SERVER]
    for name, value in conf.items():
        command += ["--conf", f"{name}={value}"]
    environment = {
        **os.environ,
        "JAVA_HOME": str(java_home()),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    log = folder / "server.log"
    with log.open("wb") as output:
        server = subprocess.Popen(
            [*command, "spark-internal"],
            cwd=folder,
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        wait_until(lambda: _listens(server, port, log), "the server does not start", timeout_s=300)
        yield f"sc://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(LIMIT_S)
        ports.close()


def _listens(server: "subprocess.Popen[bytes]", port: int, log: Path) -> bool:
    assert server.poll() is None, log.read_text()
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True
