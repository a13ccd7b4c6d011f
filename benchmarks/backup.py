"""Backups: speed and CPU of `barnabas backup create`, `verify` and `restore`, as processes.

One node, records of 1 kB in four partitions, into a folder of the same disk. The CPU is that of the
command, the broker's apart. A run without news says what a backup every few minutes costs.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from confluent_kafka import Producer

from benchmarks.bench import CLUSTER, TOPIC, Bench, Row
from benchmarks.clusters import cluster_of, produce_all

_SIZE = 1000


def measure(bench: Bench) -> list[Row]:
    megabytes = 60 if bench.quick else 500
    with (
        cluster_of(1) as source,
        cluster_of(1) as target,
        tempfile.TemporaryDirectory(prefix="barnabas-bench-") as folder,
    ):
        source.create_topic(TOPIC, 4, 1)
        producer = Producer(
            {
                "bootstrap.servers": source.bootstrap,
                "queue.buffering.max.kbytes": 200_000,
                "log_level": 2,
            }
        )
        produce_all(producer, TOPIC, os.urandom(_SIZE), megabytes * 1_000_000 // _SIZE)
        place = str(Path(folder) / "backup")
        created = _timed("create", place, "--bootstrap", source.bootstrap)
        again = _timed("create", place, "--bootstrap", source.bootstrap)
        verified = _timed("verify", place)
        restored = _timed("restore", place, "--bootstrap", target.bootstrap)
    gigabytes = megabytes / 1000
    return [
        Row(f"Backup of {megabytes} MB", "MB/s", {CLUSTER: megabytes / created[0]}),
        Row("CPU of the backup", "s per GB", {CLUSTER: created[1] / gigabytes}),
        Row("Another backup without news", "s", {CLUSTER: again[0]}),
        Row("Verification", "MB/s", {CLUSTER: megabytes / verified[0]}),
        Row("Restore", "MB/s", {CLUSTER: megabytes / restored[0]}),
        Row("CPU of the restore", "s per GB", {CLUSTER: restored[1] / gigabytes}),
    ]


def _timed(*arguments: str) -> tuple[float, float]:
    """Seconds, and CPU seconds, of a command."""
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "barnabas", "backup", *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"backup {arguments[0]} ended with {process.returncode}")
    return time.perf_counter() - began, usage.ru_utime + usage.ru_stime
