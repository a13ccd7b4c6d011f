"""What a pipeline costs while nothing arrives, and how soon it notices the first record.

    python -m benchmarks.idle_pipeline [--seconds 60] [--records 10] [--trigger "1 second"]

A broker and `barnabas pipeline run` of one pipeline from topic to topic, each in a process. CPU is
that of the command, its JVM and its Python workers together, in percent of one core, over a time in
which nothing arrives. Then single records are sent, each after two seconds of silence, and timed
until they are in the topic of results.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from contextlib import suppress
from pathlib import Path
from statistics import median

import psutil

import barnabas

_SILENCE_S = 2.0
_WARM_UP_S = 15.0
_LOOK_S = 1.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seconds", type=float, default=60, help="how long to be idle")
    parser.add_argument("--records", type=int, default=10, help="how many records to time")
    parser.add_argument("--trigger", help="the pipeline's trigger; none by default")
    parser.add_argument("--conf", action="append", default=[], help="a setting of Spark")
    options = parser.parse_args()
    with barnabas.Cluster() as cluster, tempfile.TemporaryDirectory() as folder:
        servers = cluster.bootstrap_servers
        with barnabas.Admin(servers) as admin:
            for topic in ("idle-in", "idle-out"):
                admin.create_topic(topic, partitions=1)
        trigger = f"-- trigger: {options.trigger}\n" if options.trigger else ""
        (Path(folder) / "idle.sql").write_text(
            "-- source records: topic idle-in\n-- sink: topic idle-out\n"
            f"{trigger}SELECT key, value FROM records"
        )
        conf = [text for each in options.conf for text in ("--conf", each)]
        command = [sys.executable, "-m", "barnabas", "pipeline", "run", folder, "-b", servers]
        with (
            (Path(folder) / "output").open("wb") as output,
            subprocess.Popen(
                [*command, "--master", "local[2]", *conf], stdout=output, stderr=output
            ) as process,
        ):
            try:
                _measure(servers, process.pid, options)
            finally:
                process.terminate()


def _measure(servers: str, pid: int, options: argparse.Namespace) -> None:
    with (
        barnabas.Producer(servers) as producer,
        barnabas.Consumer(servers, "idle-out", start="earliest") as consumer,
    ):
        _travel_s(producer, consumer, b"first")
        time.sleep(_WARM_UP_S)
        cpu = _Cpu(pid)
        before, began = cpu.so_far(), time.monotonic()
        while time.monotonic() < began + options.seconds:
            time.sleep(_LOOK_S)
            cpu.look()
        after, passed = cpu.so_far(), time.monotonic() - began
        for name in sorted(after):
            share = (after[name] - before[name]) / passed
            sys.stdout.write(f"{name:<16} {share:7.2%} of a core\n")
        total = (sum(after.values()) - sum(before.values())) / passed
        sys.stdout.write(f"{'together':<16} {total:7.2%} of a core, idle for {passed:.0f} s\n")
        times = []
        for each in range(options.records):
            time.sleep(_SILENCE_S)
            times.append(_travel_s(producer, consumer, b"%d" % each) * 1000)
        sys.stdout.write(
            f"a record after {_SILENCE_S:.0f} s of silence: median {median(times):.0f} ms, "
            f"max {max(times):.0f} ms, from topic to topic\n"
        )


def _travel_s(producer: barnabas.Producer, consumer: barnabas.Consumer, value: bytes) -> float:
    began = time.monotonic()
    producer.send("idle-in", value)
    producer.flush()
    while True:
        for each in consumer.poll(timeout_s=120):
            if each.value == value:
                return time.monotonic() - began


class _Cpu:
    """The CPU seconds of a command's processes, also of those that have ended since.

    Spark ends Python workers that were idle for a minute, and nobody else counts their seconds.
    """

    def __init__(self, pid: int) -> None:
        self._command = psutil.Process(pid)
        self._seconds: dict[psutil.Process, float] = {}
        self._names: dict[psutil.Process, str] = {}

    def look(self) -> None:
        """Look at what runs now."""
        for each in (self._command, *self._command.children(recursive=True)):
            with suppress(psutil.NoSuchProcess):
                times = each.cpu_times()
                self._seconds[each] = times.user + times.system
                self._names[each] = self._name(each)

    def _name(self, process: psutil.Process) -> str:
        if process == self._command:
            return "command"
        return "JVM" if "java" in process.name() else "Python workers"

    def so_far(self) -> defaultdict[str, float]:
        """By what the processes are."""
        self.look()
        found: defaultdict[str, float] = defaultdict(float)
        for process, seconds in self._seconds.items():
            found[self._names[process]] += seconds
        return found


if __name__ == "__main__":
    main()
