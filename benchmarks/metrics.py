"""What counting costs a broker: metrics on, which is the default, vs. off.

    python -m benchmarks metrics [--quick]

Broker CPU of a request with one record, 64 under way; of a MB of values of 1 kB that is written in
batches of 100 kB, and of a MB that is read. Brokers with and without metrics run at the same time
and get slices of the load in turn, a fraction of a second each: the ratio is the median of those of
neighbouring slices, which see the same machine. A third broker has metrics, and logs requests of a
client that sends none: each request is then looked at. A fourth one has none, like the second: its
ratio is the noise. Nothing is scraped meanwhile: see `scrape`.

Two processes with the same settings differ by some percent for as long as they run, as their memory
lies differently. So there are several rounds, each with processes of its own, and the ratio is the
median of theirs. A last row has the largest difference that two brokers without metrics had in a
round, from 1: what is below can't be told from nothing.

The promise: counters cost at most 2 % of a request with a single record, and of a MB, or as much as
brokers without metrics differ.
"""

from collections.abc import Callable
from contextlib import ExitStack
from statistics import median
from typing import NamedTuple

from barnabas.records.encode import encode_batch
from barnabas.records.record import Record
from barnabas.wire.framing import encode_request
from barnabas.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from benchmarks.bench import BASELINE, TOPIC, Bench, Row
from benchmarks.brokers import BARNABAS, Broker, Contender, create_topic, make_offsets_topic
from benchmarks.raw_client import RawConnection, frame_of_batch, produce_frame
from benchmarks.single_records import pipeline

_SIZE = 1000
_BATCH = 100
_FETCHED_BYTES = 1 << 20
_FETCH_VERSION = 12
"""The last one that names topics."""
_WAYS: dict[str, dict[str, str]] = {
    "on": {},
    "off": {"metrics.listeners": ""},
    "off again": {"metrics.listeners": ""},
    "request log": {"request.log.clients": "client-id=another"},
}
_BASELINES = {"on": "off", "off again": "off", "request log": "on"}
"""What each way is compared with."""
_MEASURABLE = 0.02


class _Node(NamedTuple):
    broker: Broker
    connection: RawConnection


class _Part(NamedTuple):
    """A kind of load, by slices of so many requests or megabytes."""

    units: int
    load: Callable[[_Node], None]


class _Used(NamedTuple):
    """What a unit cost in a round, by the way of the broker and by slice."""

    us: dict[str, list[float]]

    def ratio(self, way: str, other: str) -> float:
        pairs = zip(self.us[way], self.us[other], strict=True)
        return median(one / another for one, another in pairs)


def measure(bench: Bench) -> list[Row]:
    rounds, slices = (2, 12) if bench.quick else (5, 40)
    parts: dict[str, _Part] = {
        "per request of one record": _Part(2_000, _single_records),
        "per MB written": _Part(5, _write),
        "per MB read": _Part(20, _read),
    }
    rows = []
    of_parts: dict[str, list[_Used]] = {what: [] for what in parts}
    for number in range(1, rounds + 1):
        with ExitStack() as running:
            nodes = {way: _start(running, settings) for way, settings in _WAYS.items()}
            for what, part in parts.items():
                used = _round(nodes, part, slices)
                of_parts[what].append(used)
                shown = ", ".join(
                    f"{way} {used.ratio(way, _BASELINES[way]):.3f}" for way in _BASELINES
                )
                bench.console.print(
                    f"  [dim]round {number} of {rounds}, {what}: {shown}[/]", highlight=False
                )
    for what, found in of_parts.items():
        noise = max(abs(each.ratio("off again", "off") - 1) for each in found)
        limit = 1 + max(_MEASURABLE, noise)
        rows += [
            _row(f"CPU {what}, metrics on vs. off", found, "on", limit),
            _row(f"CPU {what}, off vs. off", found, "off again"),
            Row(f"CPU {what}, off vs. off in the worst round", "%", {BARNABAS: 100 * noise}),
            _row(f"CPU {what}, request log on vs. off", found, "request log"),
        ]
    return rows


def _round(nodes: dict[str, _Node], part: _Part, slices: int) -> _Used:
    used: dict[str, list[float]] = {way: [] for way in nodes}
    for number in range(-2, slices):  # the first two warm up
        for way, node in _rotated(nodes, number):
            before = node.broker.cpu_s()
            part.load(node)
            if number >= 0:
                used[way].append((node.broker.cpu_s() - before) / part.units * 1e6)
    return _Used(used)


def _rotated(nodes: dict[str, _Node], number: int) -> list[tuple[str, _Node]]:
    """So that none is always the one that comes after another."""
    ways = list(nodes.items())
    at = number % len(ways)
    return ways[at:] + ways[:at]


def _row(what: str, rounds: list[_Used], way: str, limit: float | None = None) -> Row:
    other = _BASELINES[way]
    baseline = median(median(each.us[other]) for each in rounds)
    ratio = median(each.ratio(way, other) for each in rounds)
    return Row(what, "us", {BARNABAS: baseline * ratio, BASELINE: baseline}, at_most_ratio=limit)


def _start(running: ExitStack, settings: dict[str, str]) -> _Node:
    broker = running.enter_context(Contender(BARNABAS).started(settings=settings))
    create_topic(broker, TOPIC, 1)
    make_offsets_topic(broker, TOPIC)
    return _Node(broker, running.enter_context(RawConnection(broker.host, broker.port)))


def _single_records(node: _Node) -> None:
    pipeline(node.connection, produce_frame(TOPIC, bytes(100)), 2_000, 64)


def _write(node: _Node) -> None:
    batch = encode_batch([Record(1, None, bytes(_SIZE))] * _BATCH)
    pipeline(node.connection, frame_of_batch(TOPIC, batch), 50, 5)


def _read(node: _Node) -> None:
    """The start of the partition, which has more by now."""
    frame = _fetch_frame()
    for _ in range(20):
        answer = node.connection.ask(frame)
        if len(answer) < _FETCHED_BYTES // 2:
            raise RuntimeError(f"a fetch brought {len(answer)} bytes")


def _fetch_frame() -> bytes:
    asked = FetchPartition(0, fetch_offset=0, partition_max_bytes=_FETCHED_BYTES)
    request = FetchRequest(
        max_wait_ms=0, max_bytes=_FETCHED_BYTES, topics=[FetchTopic(TOPIC, partitions=[asked])]
    )
    return b"".join(encode_request(request, _FETCH_VERSION, 1, "bench"))
