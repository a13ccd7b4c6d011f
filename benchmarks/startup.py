"""Start-up and rest: from nothing to the first acknowledged record, and what an idle broker holds.

The clock starts before the process does and stops when a record in a topic that did not exist is
acknowledged; the first of the starts, which compiles bytecode, does not count. Then the broker is
left alone, and memory (RSS) and CPU are read. The same again on a
directory with 1,000 partitions that was closed in order.

The promise: the first record within a second, and at most 80 MB at rest.
"""

import tempfile
import time

from barnabas.wire.framing import encode_request
from barnabas.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from benchmarks.bench import TOPIC, Bench, Row
from benchmarks.brokers import BARE, BARNABAS, Contender, create_topic
from benchmarks.raw_client import RawConnection, check_produced, produce_frame

_MANY = 1000


def measure(bench: Bench) -> list[Row]:
    bench = bench.only(BARNABAS, BARE)
    idle_s = 3 if bench.quick else 10

    def start(contender: Contender) -> dict[str, float]:
        return {"seconds": first_acknowledged(contender, None)}

    def rest(contender: Contender) -> dict[str, float]:
        return at_rest(contender, None, idle_s)

    for contender in bench.contenders:
        start(contender)
    started = bench.alternate("start-up, s", start, 3 if bench.quick else 5)
    rested = bench.alternate("at rest", rest, 1)
    rows = [
        Row("Start to first acknowledged record", "s", started["seconds"], at_most=1.0),
        Row("Memory after start", "MB", rested["MB after start"], at_most=80),
        Row(f"Memory after {idle_s} s idle", "MB", rested["MB idle"], at_most=80),
        Row("CPU when idle", "%", {BARNABAS: rested["CPU %"][BARNABAS]}),
    ]
    with tempfile.TemporaryDirectory(prefix="barnabas-bench-") as directory:
        fill(directory)

        def start_full(contender: Contender) -> dict[str, float]:
            return {
                "seconds": first_acknowledged(contender, directory),
                **at_rest(contender, directory, 1),
            }

        full = bench.only(BARNABAS).alternate("start-up with data, s", start_full)
    label = f"{_MANY:,} partitions"
    rows += [
        Row(f"Start to first acknowledged record, {label}", "s", full["seconds"]),
        Row(f"Memory after start, {label}", "MB", full["MB after start"]),
    ]
    return rows


def first_acknowledged(contender: Contender, directory: str | None) -> float:
    """Seconds."""
    began = time.perf_counter()
    with (
        contender.started(directory=directory) as broker,
        RawConnection(broker.host, broker.port) as connection,
    ):
        asked = MetadataRequest([MetadataRequestTopic(name=TOPIC)])
        connection.ask(b"".join(encode_request(asked, 1, 1, "bench")))
        check_produced(connection.ask(produce_frame(TOPIC, b"first")), TOPIC)
        return time.perf_counter() - began


def at_rest(contender: Contender, directory: str | None, idle_s: float) -> dict[str, float]:
    with contender.started(directory=directory) as broker:
        after_start, used = broker.rss_bytes(), broker.cpu_s()
        time.sleep(idle_s)
        return {
            "MB after start": after_start / 1e6,
            "MB idle": broker.rss_bytes() / 1e6,
            "CPU %": 100 * (broker.cpu_s() - used) / idle_s,
        }


def fill(directory: str) -> None:
    """A topic with a record in each of many partitions."""
    with Contender(BARNABAS).started(directory=directory) as broker:
        create_topic(broker, "many", _MANY)
        with RawConnection(broker.host, broker.port) as connection:
            for partition in range(_MANY):
                check_produced(connection.ask(produce_frame("many", b"x", partition)), "many")
