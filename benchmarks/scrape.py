"""A scrape of a node with 10,000 partitions: how long it takes, and how long others wait for it.

    python -m benchmarks scrape [--quick]

One node leads all partitions, and a group has an offset in each. The wait is the longest round
trip of ApiVersions requests, one after the other on another connection, while scrapes follow each
other; the baseline is the same without scrapes.

The promise: no request waits for longer than 50 ms because of a scrape, on a machine that is idle
otherwise.
"""

import threading
import time
import urllib.request
from statistics import median

from confluent_kafka import Consumer, TopicPartition

from barnabas.embedded.ports import Ports
from barnabas.wire.framing import encode_request
from barnabas.wire.messages.api_versions import ApiVersionsRequest
from benchmarks.bench import BASELINE, TOPIC, Bench, Row
from benchmarks.brokers import BARNABAS, Broker, Contender, create_topic, make_offsets_topic
from benchmarks.raw_client import RawConnection

_TIMEOUT_S = 60
_AT_ONCE = 1_000


def measure(bench: Bench) -> list[Row]:
    partitions = 1_000 if bench.quick else 10_000
    scrapes = 3 if bench.quick else 10
    ports = Ports(1)
    address = f"127.0.0.1:{ports.numbers[0]}"
    settings = {"metrics.listeners": address, "metrics.max.partitions": str(2 * partitions)}
    with Contender(BARNABAS).started(settings=settings) as broker:
        create_topic(broker, TOPIC, partitions)
        make_offsets_topic(broker, TOPIC)
        _commit(broker, partitions)
        url = f"http://{address}/metrics"
        sizes = [len(_get(url))]
        idle = _Delays(broker)
        time.sleep(2)
        quiet = idle.stop()
        used = broker.cpu_s()
        busy = _Delays(broker)
        times = []
        for _ in range(scrapes):
            began = time.perf_counter()
            sizes.append(len(_get(url)))
            times.append(time.perf_counter() - began)
        delayed = busy.stop()
        used = broker.cpu_s() - used
    ports.close()
    label = f"{partitions:,} partitions"
    return [
        Row(f"scrape, {label}, median", "ms", {BARNABAS: median(times) * 1e3}),
        Row(f"scrape, {label}, longest", "ms", {BARNABAS: max(times) * 1e3}),
        Row(f"scrape, {label}, CPU with other requests", "ms", {BARNABAS: used / scrapes * 1e3}),
        Row(f"scrape, {label}, size", "MB", {BARNABAS: sizes[-1] / 1e6}),
        Row(
            "longest wait of other requests meanwhile, vs. without scrapes",
            "ms",
            {BARNABAS: max(delayed) * 1e3, BASELINE: max(quiet) * 1e3},
            at_most=50.0,
        ),
        Row(
            "0.99 of other requests meanwhile, vs. without scrapes",
            "ms",
            {BARNABAS: _quantile(delayed) * 1e3, BASELINE: _quantile(quiet) * 1e3},
        ),
    ]


def _commit(broker: Broker, partitions: int) -> None:
    consumer = Consumer({**broker.client, "group.id": "bench", "enable.auto.commit": False})
    for first in range(0, partitions, _AT_ONCE):
        offsets = [TopicPartition(TOPIC, index, 0) for index in range(first, first + _AT_ONCE)]
        consumer.commit(offsets=offsets, asynchronous=False)
    consumer.close()


def _get(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=_TIMEOUT_S) as answer:
        found: bytes = answer.read()
        return found


def _quantile(times: list[float]) -> float:
    return sorted(times)[int(len(times) * 0.99)]


class _Delays:
    """Asks one request after the other until it is stopped."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._stopped = threading.Event()
        self._times: list[float] = []
        self._thread = threading.Thread(target=self._ask)
        self._thread.start()

    def _ask(self) -> None:
        frame = b"".join(encode_request(ApiVersionsRequest("bench", "1"), 3, 1, "bench"))
        with RawConnection(self._broker.host, self._broker.port) as connection:
            while not self._stopped.is_set():
                began = time.perf_counter()
                connection.ask(frame)
                self._times.append(time.perf_counter() - began)
                time.sleep(0.001)

    def stop(self) -> list[float]:
        """Seconds of each round trip."""
        self._stopped.set()
        self._thread.join()
        return self._times
