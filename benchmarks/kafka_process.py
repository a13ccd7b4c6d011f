"""A real Kafka in a process of its own, to compare with: one node, from JAR files.

`BARNABAS_KAFKA_JARS` names a folder with the JAR files of `org.apache.kafka:kafka_2.13` and all
that it needs (`mvn dependency:copy-dependencies`). It needs a `java`.
"""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient  # type: ignore[attr-defined]

from benchmarks.bench import BASELINE
from benchmarks.brokers import Broker

JARS = "BARNABAS_KAFKA_JARS"
_CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qk"
_START_TIMEOUT_S = 90.0


def is_available() -> bool:
    return bool(os.environ.get(JARS))


def java_program() -> str:
    """The one on the path, or of the system: tests have a path without it."""
    return shutil.which("java") or shutil.which("java", path="/usr/bin:/usr/local/bin") or "java"


@contextmanager
def kafka(settings: Mapping[str, str], security: Mapping[str, str]) -> Iterator[Broker]:
    """With a listener SSL or PLAINTEXT, whichever the settings of the client ask for."""
    protocol = security.get("security.protocol", "PLAINTEXT")
    port, controller_port = _free_port(), _free_port()
    with tempfile.TemporaryDirectory(prefix="barnabas-kafka-") as folder:
        properties = Path(folder, "server.properties")
        made = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": f"1@127.0.0.1:{controller_port}",
            "listeners": f"{protocol}://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}",
            "advertised.listeners": f"{protocol}://127.0.0.1:{port}",
            "controller.listener.names": "CONTROLLER",
            "inter.broker.listener.name": protocol,
            "listener.security.protocol.map": f"CONTROLLER:PLAINTEXT,{protocol}:{protocol}",
            "log.dirs": f"{folder}/data",
            "offsets.topic.replication.factor": "1",
            "offsets.topic.num.partitions": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "share.coordinator.state.topic.replication.factor": "1",
            "share.coordinator.state.topic.min.isr": "1",
            "share.coordinator.state.topic.num.partitions": "1",
            **settings,
        }
        properties.write_text("".join(f"{name}={value}\n" for name, value in made.items()))
        java = [java_program(), "-Xms1g", "-Xmx1g", "-cp", f"{os.environ[JARS]}/*"]
        with Path(folder, "log").open("wb") as log:
            arguments = ["format", "-t", _CLUSTER_ID, "-c", str(properties)]
            subprocess.run(
                [*java, "kafka.tools.StorageTool", *arguments], stdout=log, stderr=log, check=True
            )
            process = subprocess.Popen(
                [*java, "kafka.Kafka", str(properties)], stdout=log, stderr=log
            )
            try:
                broker = Broker(
                    BASELINE, "127.0.0.1", port, process.pid, is_ours=False, security=security
                )
                _wait_until_ready(broker, Path(folder, "log"))
                yield broker
            finally:
                process.send_signal(signal.SIGTERM)
                try:
                    process.wait(20)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()


def _wait_until_ready(broker: Broker, log: Path) -> None:
    deadline = time.monotonic() + _START_TIMEOUT_S
    while time.monotonic() < deadline:
        try:
            AdminClient({**broker.client, "log_level": 0}).list_topics(timeout=2)
        except KafkaException:
            time.sleep(0.5)
        else:
            return
    raise RuntimeError(f"Kafka did not start:\n{log.read_text()[-2000:]}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
