"""The loop of `barnabas consume`: fetch, print, mark as done, and know when to end."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import monotonic

from barnabas.cli.base import exit_codes
from barnabas.cli.base.command import CommandError, UsageError
from barnabas.cli.base.output import say
from barnabas.cli.records.deserializers import UndecodableError
from barnabas.cli.records.record_format import Renderer
from barnabas.cli.records.standard_streams import StdoutWriter
from barnabas.cli.records.start_offsets import Start, start_offsets
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.consumer.consumer import Consumer, Fetched
from barnabas.client.consumer.group_consumer import GroupConsumer
from barnabas.client.offsets.isolation import IsolationLevel
from barnabas.client.offsets.list_offsets import EARLIEST, LATEST, list_offsets

_POLL_MS = 500

Mark = Callable[[TopicPartition, int], None]


@dataclass(frozen=True, slots=True)
class Limits:
    """When to end."""

    max_messages: int | None
    follow: bool
    timeout_s: float | None


class _Printer:
    """Prints records and counts them, up to the limits."""

    def __init__(self, render: Renderer, limits: Limits, mark: Mark) -> None:
        self._render = render
        self._limits = limits
        self._mark = mark
        self._printed = 0
        self._last_at = monotonic()
        self._stdout = StdoutWriter()
        self.ends: Mapping[TopicPartition, int] = {}

    @property
    def is_full(self) -> bool:
        return self._limits.max_messages is not None and self._printed >= self._limits.max_messages

    @property
    def is_overdue(self) -> bool:
        timeout_s = self._limits.timeout_s
        return timeout_s is not None and monotonic() - self._last_at >= timeout_s

    def raise_if_stuck(self, cluster: ClusterClient, consumer: Consumer | GroupConsumer) -> None:
        """An end that was promised is not waited for forever if its partition has gone away."""
        if consumer.away and (monotonic() - self._last_at) * 1000 > cluster.retry_timeout_ms:
            raise next(iter(consumer.away.values()))

    async def print(self, fetched: Sequence[Fetched]) -> None:
        """Print what the limits allow, and mark what was printed.

        When a record cannot be shown, those before it are printed first.
        """
        lines: list[bytes] = []
        done: dict[TopicPartition, int] = {}
        failure: CommandError | None = None
        try:
            for chunk in fetched:
                self._render_chunk(chunk, lines, done)
        except CommandError as error:
            failure = error
        if lines:
            await self._stdout.write(b"".join(lines))
            self._last_at = monotonic()
        for partition, offset in done.items():
            self._mark(partition, offset)
        if failure is not None:
            raise failure

    def _render_chunk(
        self, chunk: Fetched, lines: list[bytes], done: dict[TopicPartition, int]
    ) -> None:
        end = self.ends.get(chunk.partition)
        for record in chunk.records:
            if self.is_full or (end is not None and record.offset >= end):
                return
            try:
                lines.append(self._render(chunk.partition, record))
            except UndecodableError as error:
                raise CommandError(
                    f"{chunk.partition} at offset {record.offset}: {error}; choose another "
                    "deserializer, such as hex"
                ) from error
            self._printed += 1
            done[chunk.partition] = record.offset + 1

    def exit_code(self) -> int:
        """What to end with when nothing more came in time."""
        if self._limits.max_messages is None:
            return exit_codes.OK
        say(f"error: only {self._printed} of {self._limits.max_messages} records came in time")
        return exit_codes.FAILURE


async def consume_partitions(
    cluster: ClusterClient,
    topics: Sequence[str],
    only: Sequence[int] | None,
    start: Start,
    render: Renderer,
    limits: Limits,
    isolation: IsolationLevel,
) -> int:
    """Read all or some partitions of topics, in nobody's name."""
    partitions = await _partitions(cluster, topics, only)
    printer = _Printer(render, limits, lambda _partition, _offset: None)
    async with Consumer(cluster, out_of_range=EARLIEST, isolation=isolation) as consumer:
        consumer.assign(await start_offsets(cluster, partitions, start, isolation))
        if not limits.follow:
            printer.ends = await _ends(cluster, partitions, isolation)
        while not printer.is_full:
            if not limits.follow:
                if _reached(consumer.positions, printer.ends):
                    break
                printer.raise_if_stuck(cluster, consumer)
            await printer.print(await consumer.poll(_poll_ms(limits)))
            if printer.is_overdue:
                return printer.exit_code()
    return exit_codes.OK


async def consume_group(
    cluster: ClusterClient,
    group_id: str,
    topics: Sequence[str],
    start: Start,
    render: Renderer,
    limits: Limits,
    isolation: IsolationLevel,
) -> int:
    """Read what the group gives us. Leaving commits what was printed, whatever the reason."""
    await cluster.topics(topics)
    source = GroupConsumer(cluster, group_id, topics, start=start.timestamp, isolation=isolation)
    printer = _Printer(render, limits, source.mark)
    async with source:
        assigned: frozenset[TopicPartition] | None = None
        while not printer.is_full:
            await source.join()
            positions = source.positions
            if not limits.follow:
                if assigned != frozenset(positions):
                    assigned = frozenset(positions)
                    printer.ends = await _ends(cluster, list(positions), isolation)
                if _reached(positions, printer.ends):
                    break
                printer.raise_if_stuck(cluster, source)
            await printer.print(await source.poll(_poll_ms(limits)))
            if printer.is_overdue:
                return printer.exit_code()
    return exit_codes.OK


def _poll_ms(limits: Limits) -> int:
    if limits.timeout_s is None:
        return _POLL_MS
    return max(1, min(_POLL_MS, int(limits.timeout_s * 1000)))


async def _partitions(
    cluster: ClusterClient, topics: Sequence[str], only: Sequence[int] | None
) -> list[TopicPartition]:
    partitions = []
    for name, topic in (await cluster.topics(topics)).items():
        for partition in only or range(len(topic.partitions)):
            if partition >= len(topic.partitions):
                raise UsageError(
                    f"--partition {partition}: {name} has {len(topic.partitions)} partitions, "
                    "counted from 0"
                )
            partitions.append(TopicPartition(name, partition))
    return partitions


async def _ends(
    cluster: ClusterClient, partitions: Sequence[TopicPartition], isolation: IsolationLevel
) -> dict[TopicPartition, int]:
    found = await list_offsets(cluster, dict.fromkeys(partitions, LATEST), isolation)
    return {partition: each.offset for partition, each in found.items()}


def _reached(positions: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int]) -> bool:
    return all(positions[partition] >= end for partition, end in ends.items())
