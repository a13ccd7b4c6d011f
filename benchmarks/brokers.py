"""The brokers that are measured, each a process of its own, started fresh for each measurement.

They find their bytecode compiled, as that of an installed package is.
"""

import os
import re
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import psutil
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

_READY = re.compile(r"ready on (\S+):(\d+)")
_START_TIMEOUT_S = 60.0
_SETTLE_S = 1.0
"""Kafka acknowledges a new topic a little before it takes records for it."""

BARNABAS = "Barnabas"
BARE = "bare broker"
OTHER = "other broker"


@dataclass
class Broker:
    """A running broker, and what its process has used so far."""

    name: str
    host: str
    port: int
    pid: int
    is_ours: bool = True
    security: Mapping[str, str] = field(default_factory=dict)
    """How librdkafka connects to it, if not plainly."""
    _process: psutil.Process = field(init=False)

    def __post_init__(self) -> None:
        self._process = psutil.Process(self.pid)

    @property
    def bootstrap(self) -> str:
        return f"{self.host}:{self.port}"

    @property
    def client(self) -> dict[str, str]:
        """The settings of a client of librdkafka."""
        return {"bootstrap.servers": self.bootstrap, **self.security}

    def cpu_s(self) -> float:
        """User and system time of all threads."""
        if self.is_ours and sys.platform == "linux":
            # In nanoseconds where the rest counts in hundredths of a second. It forgets threads
            # that have ended, of which our brokers have none.
            threads = Path(f"/proc/{self.pid}/task").glob("*/schedstat")
            return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e9
        times = self._process.cpu_times()
        return float(times.user + times.system)

    def rss_bytes(self) -> int:
        return int(self._process.memory_info().rss)


@dataclass(frozen=True)
class Contender:
    """A broker that can be started, or one that is already running."""

    name: str
    elsewhere: tuple[str, int, int] | None = None
    """Host, port and process id of a broker that is running already."""

    @contextmanager
    def running(self, topic: str, partitions: int = 1) -> Iterator[Broker]:
        """The broker with an empty topic in it."""
        if self.elsewhere is not None:
            broker = Broker(self.name, *self.elsewhere, is_ours=False)
            create_topic(broker, topic, partitions)
            try:
                make_offsets_topic(broker, topic)
                time.sleep(_SETTLE_S)
                yield broker
            finally:
                delete_topic(broker, topic)
            return
        with self.started(partitions) as broker:
            if self.name == BARNABAS:
                create_topic(broker, topic, partitions)
                make_offsets_topic(broker, topic)
            yield broker

    @contextmanager
    def started(
        self,
        partitions: int = 1,
        directory: str | None = None,
        settings: Mapping[str, str] | None = None,
        security: Mapping[str, str] | None = None,
    ) -> Iterator[Broker]:
        """The process alone, on `directory` or on an empty one that is removed afterwards."""
        assert self.elsewhere is None
        with _directory(directory) as data, Path(data, "stderr").open("wb") as errors:
            if self.name == BARNABAS:
                command = ["-m", "barnabas.broker.server", "listeners=127.0.0.1:0"]
                command.append(f"log.dirs={data}")
                command += [f"{name}={value}" for name, value in (settings or {}).items()]
            else:
                command = [str(Path(__file__).with_name("bare_broker.py")), data, str(partitions)]
            process = subprocess.Popen(
                [sys.executable, *command],
                stdout=subprocess.PIPE,
                stderr=errors,
                env=_environment(),
            )
            try:
                host, port = _wait_until_ready(process, data)
                yield Broker(self.name, host, port, process.pid, security=security or {})
            finally:
                process.send_signal(signal.SIGTERM)
                try:
                    process.wait(10)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
                assert process.stdout is not None
                process.stdout.close()


@cache
def _bytecode() -> "tempfile.TemporaryDirectory[str]":
    return tempfile.TemporaryDirectory(prefix="barnabas-bytecode-")


def _environment() -> dict[str, str]:
    """Without settings that are meant for another broker, and with a place for bytecode."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("BARNABAS_") and name != "PYTHONDONTWRITEBYTECODE"
    }
    return inherited | {"PYTHONPYCACHEPREFIX": _bytecode().name}


@contextmanager
def _directory(directory: str | None) -> Iterator[str]:
    if directory is not None:
        yield directory
        return
    directory = tempfile.mkdtemp(prefix="barnabas-bench-")
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _wait_until_ready(process: subprocess.Popen[bytes], data: str) -> tuple[str, int]:
    assert process.stdout is not None
    deadline = time.monotonic() + _START_TIMEOUT_S
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while selector.select(max(0.0, deadline - time.monotonic())):
            line = process.stdout.readline()
            ready = _READY.search(line.decode())
            if ready is not None:
                return ready[1], int(ready[2])
            if not line:
                break
    raise RuntimeError(f"the broker did not start:\n{Path(data, 'stderr').read_text()}")


def create_topic(broker: Broker, topic: str, partitions: int) -> None:
    admin = _admin(broker)  # it must live until the result has come
    admin.create_topics([NewTopic(topic, partitions, 1)])[topic].result()


def delete_topic(broker: Broker, topic: str) -> None:
    admin = _admin(broker)
    admin.delete_topics([topic])[topic].result()


def make_offsets_topic(broker: Broker, topic: str) -> None:
    """Let the topic of committed offsets come into being, which happens once in a broker's life."""
    consumer = Consumer({**broker.client, "group.id": "bench"})
    consumer.committed([TopicPartition(topic, 0)], 30)
    consumer.close()


def _admin(broker: Broker) -> AdminClient:
    return AdminClient({**broker.client, "log_level": 4})
