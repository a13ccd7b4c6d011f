"""Compaction of a large topic, and what producers notice of it.

A compacted topic of 5 GB (0.5 GB with --quick) in one partition: records of 1 kB, one in five with
a key that has not been there before. It is filled while compaction is kept from running, then the
broker is started again and compacts it. Meanwhile, and for as long before, 500 requests of one
record a second go to another topic, acks=1, and the time to each answer is taken: p99 while it
compacts is compared with p99 while it does not. CPU and memory are those of the process that
compacts.

Then a group that has committed a million offsets, ten at a time (100,000 with --quick): how long
the broker takes from its start to answering with the last, vs. a group with a thousand.
"""

import random
import tempfile
import threading
import time
from pathlib import Path
from statistics import quantiles

import psutil
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from barnabas.records.encode import encode_batch
from barnabas.wire.framing import encode_request
from barnabas.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from benchmarks.bench import TOPIC, Bench, Row
from benchmarks.brokers import BARNABAS, Broker, Contender, create_topic
from benchmarks.group_offsets import committed, start_to_offset
from benchmarks.raw_client import PRODUCE_VERSION, RawConnection, check_produced, produce_frame

_COMPACTED = "barnabas-bench-compacted"
_VALUE_BYTES = 1000
_BATCH = 900
_RATE = 500
_NEVER_MS = 10**9


def measure(bench: Bench) -> list[Row]:
    total_bytes = 500_000_000 if bench.quick else 5_000_000_000
    contender = Contender(BARNABAS)
    with tempfile.TemporaryDirectory(prefix="barnabas-bench-") as directory:
        with bench.console.status("compaction: filling"):
            fill(contender, directory, total_bytes)
        with bench.console.status("compaction: at work"):
            values = at_work(contender, directory, total_bytes)
    shown = ", ".join(f"{key} {value:.4g}" for key, value in values.items())
    bench.console.print(f"  [dim]compaction: {shown}[/]", highlight=False)
    size = f"{total_bytes / 1e9:g} GB"
    rows = [
        Row(f"Compaction of {size}", "s", {BARNABAS: values["seconds"]}),
        Row(f"CPU of compacting {size}", "s", {BARNABAS: values["CPU s"]}),
        Row("Memory of the process that compacts", "MB", {BARNABAS: values["MB"]}),
        Row(f"Size of {size} after compaction", "GB", {BARNABAS: values["GB left"]}),
        Row("Longest wait for an answer while it compacts", "ms", {BARNABAS: values["max"]}),
        Row("Longest wait for an answer while it does not", "ms", {BARNABAS: values["max idle"]}),
    ]
    for cut in ("p50", "p99", "p99.9"):
        rows += [
            Row(f"Produce {cut} while it compacts", "ms", {BARNABAS: values[cut]}),
            Row(f"Produce {cut} while it does not", "ms", {BARNABAS: values[f"{cut} idle"]}),
        ]
    return rows + group_rows(bench)


def group_rows(bench: Bench) -> list[Row]:
    rows = []
    for count in (1000, 100_000 if bench.quick else 1_000_000):
        with tempfile.TemporaryDirectory(prefix="barnabas-bench-") as directory:
            with bench.console.status(f"a group commits {count:,} offsets"):
                committed(directory, count)
            seconds = start_to_offset(directory, count)
        rows.append(
            Row(
                f"Start to the offset of a group that committed {count:,}", "s", {BARNABAS: seconds}
            )
        )
    return rows


def fill(contender: Contender, directory: str, total_bytes: int) -> None:
    choose = random.Random(1)
    keys = total_bytes // _VALUE_BYTES // 5
    value = choose.randbytes(_VALUE_BYTES)
    settings = {"log.cleaner.backoff.ms": str(_NEVER_MS), "log.segment.bytes": "268435456"}
    with contender.started(directory=directory, settings=settings) as broker:
        create_compacted(broker)
        create_topic(broker, TOPIC, 1)
        with RawConnection(broker.host, broker.port) as connection:
            sent = 0
            while sent < total_bytes:
                now_ms = time.time_ns() // 1_000_000
                batch = encode_batch(
                    [
                        (now_ms, b"key-%010d" % choose.randrange(keys), value, ())
                        for _ in range(_BATCH)
                    ]
                )
                data = TopicProduceData(_COMPACTED, partition_data=[PartitionProduceData(0, batch)])
                request = ProduceRequest(None, 1, 30_000, [data])
                answer = connection.ask(
                    b"".join(encode_request(request, PRODUCE_VERSION, 1, "bench"))
                )
                check_produced(answer, _COMPACTED)
                sent += len(batch)


def create_compacted(broker: Broker) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 4})
    topic = NewTopic(_COMPACTED, 1, 1, config={"cleanup.policy": "compact"})
    admin.create_topics([topic])[_COMPACTED].result()


def at_work(contender: Contender, directory: str, total_bytes: int) -> dict[str, float]:
    idle_s = 5 + total_bytes / 5e8
    settings = {"log.cleaner.backoff.ms": str(int(idle_s * 1000))}
    with contender.started(directory=directory, settings=settings) as broker:
        started = time.monotonic()
        idle = Producing(broker)
        time.sleep(max(0.0, started + idle_s - 1 - time.monotonic()))
        idle.stop()
        busy = Producing(broker)
        child = wait_for_child(broker)
        began = time.monotonic()
        cpu_s, most_bytes = watch(child, Path(directory, "stderr"))
        seconds = time.monotonic() - began
        busy.stop()
    left = sum(path.stat().st_size for path in Path(directory, f"{_COMPACTED}-0").glob("*.log"))
    values = {"seconds": seconds, "CPU s": cpu_s, "MB": most_bytes / 1e6, "GB left": left / 1e9}
    for taken_ms, suffix in ((busy.taken_ms, ""), (idle.taken_ms, " idle")):
        cuts = quantiles(taken_ms, n=1000)
        values |= {
            f"p50{suffix}": cuts[499],
            f"p99{suffix}": cuts[989],
            f"p99.9{suffix}": cuts[998],
            f"max{suffix}": max(taken_ms),
        }
    return values


class Producing:
    """One record after the other, at a steady rate, and how long each answer took."""

    def __init__(self, broker: Broker) -> None:
        self.taken_ms: list[float] = []
        self._frame = produce_frame(TOPIC, bytes(100))
        self._connection = RawConnection(broker.host, broker.port)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        began = time.perf_counter()
        number = 0
        while not self._over.is_set():
            # A request that is late because the one before took long has waited since its turn.
            turn = began + number / _RATE
            time.sleep(max(0.0, turn - time.perf_counter()))
            check_produced(self._connection.ask(self._frame), TOPIC)
            self.taken_ms.append((time.perf_counter() - turn) * 1000)
            number += 1

    def stop(self) -> None:
        self._over.set()
        self._thread.join()
        self._connection.__exit__(None, None, None)


def wait_for_child(broker: Broker) -> psutil.Process:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        children = psutil.Process(broker.pid).children()
        if children:
            return children[0]
        time.sleep(0.01)
    raise RuntimeError("nothing is compacted")


def watch(child: psutil.Process, log: Path) -> tuple[float, int]:
    """CPU and the most memory of the process that compacts, until the broker says it is done."""
    cpu_s, most_bytes = 0.0, 0
    deadline = time.monotonic() + 1800
    while time.monotonic() < deadline:
        times = child.cpu_times()
        cpu_s, most_bytes = times.user + times.system, max(most_bytes, child.memory_info().rss)
        text = log.read_text()
        if f"{_COMPACTED}-0 is compacted" in text:
            return cpu_s, most_bytes
        if "compaction of" in text:
            raise RuntimeError(text)
        time.sleep(0.05)
    raise RuntimeError("compaction takes too long")
