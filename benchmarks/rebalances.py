"""Rebalances: how long a partition is not read when a member joins, leaves or dies.

    BARNABAS_KAFKA_JARS=FOLDER python -m benchmarks rebalances [--quick]

Twelve partitions, a record to each every 10 ms, three members in processes of their own that read
with our client; then a fourth joins, one leaves (SIGTERM, it leaves the group), one dies (kill -9;
the session timeout is 10 s in both protocols). Once with the consumer protocol (KIP-848) and once
with the classic one, in turn, on a fresh broker each time: ours, and a real Kafka if the variable
names its JAR files (`kafka_process`). Heartbeats are at their defaults, 5 s and 3 s.

For each partition, the longest time between two reads from the event on. Partitions whose reader is
the same before and after stay, the others move: the median and the longest of each.

At rest: 1,000 members of one group in one process that keep their memberships and read nothing; CPU
of the broker and of that process, in percent of one core.
"""

import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from statistics import median
from typing import NamedTuple, Self

import psutil

import barnabas
from benchmarks.bench import CLASSIC, CONSUMER, TOPIC, Bench, Row
from benchmarks.brokers import BARNABAS, Broker, Contender, create_topic, make_offsets_topic
from benchmarks.group_reader import READ, SESSION_TIMEOUT_MS
from benchmarks.kafka_process import JARS, is_available, kafka

KAFKA = "Kafka"
PROTOCOLS = (CONSUMER, CLASSIC)
_PARTITIONS = 12
_EVERY_S = 0.01
_STEADY_S = 3.0
_STEADY_GAP_S = 0.5
_PATIENCE_S = 120.0
_SETTINGS = {
    "group.consumer.min.session.timeout.ms": str(SESSION_TIMEOUT_MS),
    "group.consumer.session.timeout.ms": str(SESSION_TIMEOUT_MS),
    "group.min.session.timeout.ms": "6000",
}


class Pauses(NamedTuple):
    """Seconds in which partitions were not read, those that stayed and those that moved."""

    stayed: list[float]
    moved: list[float]


def measure(bench: Bench) -> list[Row]:
    if not is_available():
        bench.console.print(f"Kafka is not there to compare with: set {JARS}")
    members = 200 if bench.quick else 1_000
    rows: list[Row] = []
    for name in (BARNABAS, KAFKA) if is_available() else (BARNABAS,):
        found: dict[str, list[dict[str, Pauses]]] = {each: [] for each in PROTOCOLS}
        for _ in range(1 if bench.quick else 3):
            for protocol in PROTOCOLS:
                with _broker(name) as broker:
                    found[protocol].append(_events(bench, broker, protocol))
        rows += _rows(name, found)
        rows += _at_rest(name, members, 10 if bench.quick else 30)
    return rows


@contextmanager
def _broker(name: str) -> Iterator[Broker]:
    with ExitStack() as stack:
        if name == KAFKA:
            broker = stack.enter_context(kafka(_SETTINGS, {}))
        else:
            broker = stack.enter_context(Contender(BARNABAS).started(settings=_SETTINGS))
        create_topic(broker, TOPIC, _PARTITIONS)
        make_offsets_topic(broker, TOPIC)
        yield broker


def _events(bench: Bench, broker: Broker, protocol: str) -> dict[str, Pauses]:
    found = {}
    with Writing(broker.bootstrap), ExitStack() as stack:
        readers = Readers(broker.bootstrap, protocol)
        stack.callback(readers.close)
        first, second, _ = [readers.start() for _ in range(3)]
        readers.wait_until_steady()
        for event, act in (
            ("a member joins", readers.start),
            ("a member leaves", lambda: readers.leave(first)),
            ("a member dies", lambda: readers.kill(second)),
        ):
            found[event] = readers.pauses(act)
            stayed, moved = found[event]
            bench.console.print(
                f"  [dim]{broker.name}, {protocol}, {event}: {len(stayed)} partitions stay, "
                f"{max(stayed, default=0):.2f} s; {len(moved)} move, "
                f"{max(moved, default=0):.2f} s[/]",
                highlight=False,
            )
    return found


def _rows(name: str, found: dict[str, list[dict[str, Pauses]]]) -> list[Row]:
    rows = []
    for event in found[CONSUMER][0]:
        for kind in Pauses._fields:
            pauses = {
                protocol: [s for each in rounds for s in getattr(each[event], kind)]
                for protocol, rounds in found.items()
            }
            for what, of in (("median", median), ("longest", max)):
                values = {protocol: 1000 * of(each) for protocol, each in pauses.items() if each}
                rows.append(Row(f"{name}, {event}: {kind}, {what} pause", "ms", values))
    return rows


def _at_rest(name: str, members: int, seconds: int) -> list[Row]:
    broker_cpu, client_cpu = {}, {}
    for protocol in PROTOCOLS:
        with _broker(name) as broker:
            process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "benchmarks.idle_members"),
                    *(broker.bootstrap, TOPIC, protocol, str(members)),
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
            with process:
                assert process.stdin is not None
                assert process.stdout is not None
                assert process.stdout.readline() == b"ready\n"
                time.sleep(15)  # the last rebalance is over
                client = psutil.Process(process.pid)
                before, client_before = broker.cpu_s(), client.cpu_times()
                time.sleep(seconds)
                client_after = client.cpu_times()
                broker_cpu[protocol] = 100 * (broker.cpu_s() - before) / seconds
                client_cpu[protocol] = (
                    100 * sum(client_after[:2]) - 100 * sum(client_before[:2])
                ) / seconds
                process.stdin.close()
    what = f"{name}, {members:,} members at rest: CPU of the"
    return [
        Row(f"{what} broker", "%", broker_cpu),
        Row(f"{what} members", "%", client_cpu),
    ]


class Writing:
    """A record to each partition every now and then."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        with barnabas.Producer(self._bootstrap, linger_ms=0) as producer:
            while not self._over.wait(_EVERY_S):
                for partition in range(_PARTITIONS):
                    producer.send(TOPIC, b"x" * 100, partition=partition)


class Readers:
    """The members of a group, and when each has read which partition."""

    def __init__(self, bootstrap: str, protocol: str) -> None:
        self._arguments = (bootstrap, TOPIC, f"rebalances-{protocol}", protocol)
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        self._threads: list[threading.Thread] = []
        self._reads: defaultdict[int, list[tuple[float, int]]] = defaultdict(list)
        """Times and readers, by partition."""

    def start(self) -> int:
        """One more member; its process id."""
        process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.group_reader", *self._arguments],
            stdout=subprocess.PIPE,
        )
        self._processes[process.pid] = process
        thread = threading.Thread(target=self._collect, args=(process,))
        thread.start()
        self._threads.append(thread)
        return process.pid

    def leave(self, pid: int) -> None:
        """It leaves the group."""
        self._processes.pop(pid).terminate()

    def kill(self, pid: int) -> None:
        """It is gone without a word."""
        self._processes.pop(pid).kill()

    def close(self) -> None:
        for process in self._processes.values():
            process.kill()
        for thread in self._threads:
            thread.join()

    def wait_until_steady(self) -> None:
        """Until each partition is read all the time, and each member reads some."""
        deadline = time.monotonic() + _PATIENCE_S
        while not self._is_steady():
            if time.monotonic() > deadline:
                raise RuntimeError(f"the group was not steady in {_PATIENCE_S:.0f} s")
            time.sleep(0.1)

    def pauses(self, act: object) -> Pauses:
        """Do something to the group, and see how long partitions are not read."""
        assert callable(act)
        before = self._readers()
        began = time.monotonic()
        act()
        time.sleep(1)
        self.wait_until_steady()
        after = self._readers()
        stayed, moved = [], []
        for partition, reads in self._reads.items():
            times = sorted(at for at, _ in list(reads))
            gaps = [later - earlier for earlier, later in pairwise(times) if later >= began]
            (stayed if before[partition] == after[partition] else moved).append(max(gaps))
        return Pauses(stayed, moved)

    def _collect(self, process: "subprocess.Popen[bytes]") -> None:
        assert process.stdout is not None
        with process:
            while data := process.stdout.read(READ.size):
                if len(data) < READ.size:
                    return
                partition, at = READ.unpack(data)
                self._reads[partition].append((at, process.pid))

    def _readers(self) -> dict[int, int]:
        return {partition: reads[-1][1] for partition, reads in self._reads.items()}

    def _is_steady(self) -> bool:
        since = time.monotonic() - _STEADY_S
        active = set()
        for partition in range(_PARTITIONS):
            recent = [each for each in self._reads[partition][-1000:] if each[0] >= since]
            times = [since, *(at for at, _ in recent), time.monotonic()]
            if any(b - a > _STEADY_GAP_S for a, b in pairwise(times)):
                return False
            active |= {pid for _, pid in recent}
        return active == set(self._processes)
