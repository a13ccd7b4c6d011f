"""A RabbitMQ in a process of its own, to compare queues with: one node, nothing of it is kept.

It needs `rabbitmq-server` and the Python package pika; both are optional.
"""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path

import psutil

RABBITMQ = "RabbitMQ"
_SCRIPT = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
"""Where Debian has it: the one on the path changes the user, and has one place for all data."""

_START_TIMEOUT_S = 60.0


def is_available() -> bool:
    return (_SCRIPT.exists() or shutil.which("rabbitmq-server") is not None) and (
        find_spec("pika") is not None
    )


class RabbitMq:
    """A running one."""

    def __init__(self, port: int, process: psutil.Process) -> None:
        self.port = port
        self._process = process

    def cpu_s(self) -> float:
        """User and system time of the script and all that it has started."""
        total = 0.0
        for each in (self._process, *self._process.children(recursive=True)):
            times = each.cpu_times()
            total += times.user + times.system
        return total


@contextmanager
def rabbitmq() -> Iterator[RabbitMq]:
    """Started with an empty folder."""
    port, other, epmd_port = _free_port(), _free_port(), _free_port()
    with tempfile.TemporaryDirectory(prefix="barnabas-rabbitmq-") as folder:
        environment = {
            **os.environ,
            "HOME": folder,
            "ERL_EPMD_PORT": str(epmd_port),
            "RABBITMQ_NODENAME": f"bench{port}@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_PORT": str(port),
            "RABBITMQ_DIST_PORT": str(other),
            "RABBITMQ_MNESIA_BASE": f"{folder}/data",
            "RABBITMQ_LOG_BASE": f"{folder}/log",
            "RABBITMQ_ENABLED_PLUGINS_FILE": f"{folder}/plugins",
            "RABBITMQ_PID_FILE": f"{folder}/pid",
        }
        with Path(folder, "output").open("wb") as output:
            script = str(_SCRIPT if _SCRIPT.exists() else shutil.which("rabbitmq-server"))
            process = subprocess.Popen(
                [script], env=environment, stdout=output, stderr=output, start_new_session=True
            )
            try:
                _wait_until_ready(port, Path(folder, "output"))
                yield RabbitMq(port, psutil.Process(process.pid))
            finally:
                os.killpg(process.pid, signal.SIGTERM)
                try:
                    process.wait(20)
                except subprocess.TimeoutExpired:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
                _end_epmd(epmd_port)


def _end_epmd(port: int) -> None:
    """Erlang leaves its daemon of names running; this one has a port of its own, and no others."""
    for each in psutil.process_iter(["name"]):
        if each.info["name"] != "epmd":
            continue
        with suppress(psutil.Error):
            if each.environ().get("ERL_EPMD_PORT") == str(port):
                each.terminate()
                each.wait(10)


def _wait_until_ready(port: int, output: Path) -> None:
    import pika

    deadline = time.monotonic() + _START_TIMEOUT_S
    while time.monotonic() < deadline:
        try:
            pika.BlockingConnection(pika.ConnectionParameters("127.0.0.1", port)).close()
        except (pika.exceptions.AMQPError, OSError):
            time.sleep(0.5)
        else:
            return
    raise RuntimeError(f"RabbitMQ did not start:\n{output.read_text()[-2000:]}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
