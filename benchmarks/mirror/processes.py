"""Mirrors that copy all topics of one broker into another, each a process with its children."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from benchmarks import kafka_process
from benchmarks.bench import BASELINE
from benchmarks.brokers import BARNABAS, Broker

SOURCE, TARGET = "A", "B"
_LOG = "log"
_MIRROR_MAKER_CLASS = "org.apache.kafka.connect.mirror.MirrorMaker"


class Mirror:
    """A running one."""

    def __init__(self, process: psutil.Process, log: Path) -> None:
        self._process = process
        self._log = log
        self._used_s: dict[psutil.Process, float] = {}
        self.most_bytes = 0
        """Of memory, of all its processes, whenever `cpu_s` was called."""

    def cpu_s(self) -> float:
        """User and system time of all its processes; call it often, or what ends is not counted."""
        memory = 0
        for each in (self._process, *self._process.children(recursive=True)):
            with suppress(psutil.NoSuchProcess):
                times = each.cpu_times()
                self._used_s[each] = times.user + times.system
                memory += each.memory_info().rss
        self.most_bytes = max(self.most_bytes, memory)
        return sum(self._used_s.values())

    def check(self) -> None:
        """Raises if it has ended."""
        with suppress(psutil.NoSuchProcess):
            if self._process.status() != psutil.STATUS_ZOMBIE:
                return
        raise RuntimeError(f"the mirror has ended:\n{self._log.read_text()[-4000:]}")


@contextmanager
def mirror(name: str, source: Broker, target: Broker, folder: Path) -> Iterator[Mirror]:
    """`BARNABAS` or `BASELINE`, which is Mirror Maker 2."""
    command = {BARNABAS: _ours, BASELINE: _mirror_maker}[name](source, target, folder)
    log = folder / _LOG
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, cwd=folder)
        try:
            yield Mirror(psutil.Process(process.pid), log)
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _ours(source: Broker, target: Broker, folder: Path) -> list[str]:
    ends = ["--from", f"{SOURCE}={source.bootstrap}", "--to", f"{TARGET}={target.bootstrap}"]
    del folder
    options = os.environ.get("BARNABAS_MIRROR_OPTIONS", "").split()
    run = [sys.executable, "-m", "barnabas", "mirror", "run"]
    return [*run, *ends, "--topics", "bench-.*", *options]


def _mirror_maker(source: Broker, target: Broker, folder: Path) -> list[str]:
    flow = f"{SOURCE}->{TARGET}"
    settings = {
        "clusters": f"{SOURCE}, {TARGET}",
        f"{SOURCE}.bootstrap.servers": source.bootstrap,
        f"{TARGET}.bootstrap.servers": target.bootstrap,
        f"{flow}.enabled": "true",
        f"{flow}.topics": "bench-.*",
        "tasks.max": "2",
        "refresh.topics.interval.seconds": "10",
        **{
            f"{each}.replication.factor": "1"
            for each in ("checkpoints.topic", "heartbeats.topic", "offset-syncs.topic")
        },
        **{f"{each}.storage.replication.factor": "1" for each in ("offset", "status", "config")},
        "replication.factor": "1",
    }
    file = folder / "mm2.properties"
    file.write_text("".join(f"{name} = {value}\n" for name, value in settings.items()))
    jars = f"{os.environ[kafka_process.JARS]}/*"
    return [
        kafka_process.java_program(),
        "-Xms256m",
        "-Xmx2g",
        "-cp",
        jars,
        _MIRROR_MAKER_CLASS,
        str(file),
    ]
