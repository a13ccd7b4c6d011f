"""The loop of `barnabas consume`: poll, print, commit, and know when to end."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Literal

from barnabas.aio.consumer import Consumer
from barnabas.cli.base import exit_codes
from barnabas.cli.base.command import CLIENT_ID, CommandError, Session, UsageError
from barnabas.cli.base.output import say
from barnabas.cli.records.deserializers import UndecodableError
from barnabas.cli.records.record_format import Renderer
from barnabas.cli.records.standard_streams import StdoutWriter
from barnabas.cli.records.start_offsets import Start, start_offsets
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.consumer.consumer_options import GroupProtocolName, IsolationName
from barnabas.client.offsets.isolation import IsolationLevel
from barnabas.client.offsets.list_offsets import EARLIEST, LATEST, list_offsets
from barnabas.formats import SchemaNotLoadedError
from barnabas.quantities import counted
from barnabas.records.message import Message
from barnabas.records.record import Record

POLL_S = 0.5


@dataclass(frozen=True, slots=True)
class Limits:
    """When to end."""

    max_messages: int | None
    follow: bool
    timeout_s: float | None
    skip_undecodable: bool = False


@dataclass(frozen=True, slots=True)
class Membership:
    """In a group that reads the topics of these names, and all that match a pattern."""

    group_id: str
    protocol: GroupProtocolName
    topics: Sequence[str]
    pattern: str | None


class Printer:
    """Prints messages and counts them, up to the limits. `done` gets each that was printed."""

    def __init__(
        self, render: Renderer, limits: Limits, done: Callable[[Message], object] | None = None
    ) -> None:
        self._render = render
        self._limits = limits
        self._done = done
        self._printed = 0
        self._last_at = monotonic()
        self._stdout = StdoutWriter()

    @property
    def left(self) -> int | None:
        """How many messages may still be printed; None: any number."""
        limit = self._limits.max_messages
        return None if limit is None else limit - self._printed

    @property
    def is_overdue(self) -> bool:
        timeout_s = self._limits.timeout_s
        return timeout_s is not None and monotonic() - self._last_at >= timeout_s

    async def print(
        self, messages: Sequence[Message], ends: Mapping[TopicPartition, int] | None
    ) -> None:
        """Print the messages before `ends`.

        If a message cannot be decoded, those before it are printed first.
        """
        lines: list[bytes] = []
        handled: list[Message] = []
        failure: CommandError | None = None
        for message in messages:
            partition = TopicPartition(message.topic, message.partition)
            end = None if ends is None else ends.get(partition)
            if end is not None and message.offset >= end:
                continue
            try:
                lines.append(await self._line(partition, message))
            except UndecodableError as error:
                found = f"{partition} at offset {message.offset}: {error}"
                if not self._limits.skip_undecodable:
                    failure = CommandError(
                        f"{found}; choose another deserializer, such as hex, or --skip-undecodable"
                    )
                    break
                say(f"skipped {found}")
            handled.append(message)
        if lines:
            await self._stdout.write(b"".join(lines))
        if handled:
            self._last_at = monotonic()
        self._printed += len(lines)
        if self._done is not None:
            for message in handled:
                self._done(message)
        if failure is not None:
            raise failure

    async def _line(self, partition: TopicPartition, message: Message) -> bytes:
        record = Record(
            message.timestamp_ms, message.key, message.value, message.headers, message.offset
        )
        while True:
            try:
                return self._render(partition, record)
            except SchemaNotLoadedError as needed:
                load = needed.load
            await asyncio.to_thread(load)

    def exit_code(self) -> int:
        """The exit code when no more messages came in time."""
        if self._limits.max_messages is None:
            return exit_codes.OK
        say(f"error: only {self._printed} of {self._limits.max_messages} records arrived in time")
        return exit_codes.FAILURE


class EndOffsets:
    """Where a consumer that does not follow ends, for the partitions that it has at present."""

    def __init__(self, cluster: ClusterClient, isolation: IsolationLevel) -> None:
        self._cluster = cluster
        self._isolation = isolation
        self._left: set[TopicPartition] = set()
        self.offsets: dict[TopicPartition, int] | None = None

    async def assigned(self, partitions: Sequence[TopicPartition]) -> None:
        """Note where these partitions end now."""
        found = await list_offsets(
            self._cluster, dict.fromkeys(partitions, LATEST), self._isolation
        )
        self.offsets = {partition: each.offset for partition, each in found.items()}
        self._left = set(partitions)

    async def reached(self, consumer: Consumer) -> bool:
        """Whether all partitions are read to their ends.

        A partition at its end is paused, so that one that cannot be read fails the consumer even
        if the others can.
        """
        ends = self.offsets
        if ends is None or ends.keys() != set(consumer.assignment):
            return False  # the group is rebalancing
        done = [each for each in self._left if consumer.position(each) >= ends[each]]
        self._left.difference_update(done)
        if done and self._left:
            await consumer.pause(*done)
        return not self._left


async def consume_partitions(
    session: Session,
    cluster: ClusterClient,
    topics: Sequence[str],
    only: Sequence[int] | None,
    start: Start,
    render: Renderer,
    limits: Limits,
    isolation: IsolationLevel,
) -> int:
    """Read all or some partitions of topics, without a group."""
    partitions = await named_partitions(cluster, topics, only)
    offsets = await start_offsets(cluster, partitions, start, isolation)
    ends = None if limits.follow else EndOffsets(cluster, isolation)
    async with Consumer(
        session.bootstrap,
        on_data_loss="earliest",
        isolation=_name(isolation),
        client_id=CLIENT_ID,
        security=session.config.security_settings,
    ) as consumer:
        await consumer.assign(offsets)
        if ends is not None:
            await ends.assigned(partitions)
        return await _read(consumer, Printer(render, limits), limits, ends)


async def consume_group(
    session: Session,
    cluster: ClusterClient,
    membership: Membership,
    start: Start,
    render: Renderer,
    limits: Limits,
    isolation: IsolationLevel,
) -> int:
    """Read as a member of a group. Leaving commits what was printed, whatever the reason."""
    await cluster.topics(membership.topics)
    ends = None if limits.follow else EndOffsets(cluster, isolation)

    async def assigned(_partitions: list[TopicPartition]) -> None:
        if ends is not None:
            await ends.assigned(consumer.assignment)

    where: Literal["earliest", "latest"]
    where = "earliest" if start.timestamp == EARLIEST else "latest"
    consumer = Consumer(
        session.bootstrap,
        membership.topics,
        pattern=membership.pattern,
        group=membership.group_id,
        group_protocol=membership.protocol,
        start=where,
        on_data_loss=where,
        commit="done",
        isolation=_name(isolation),
        on_assigned=assigned,
        client_id=CLIENT_ID,
        security=session.config.security_settings,
    )
    async with consumer:
        return await _read(consumer, Printer(render, limits, consumer.done), limits, ends)


async def _read(
    consumer: Consumer, printer: Printer, limits: Limits, ends: EndOffsets | None
) -> int:
    poll_s = POLL_S if limits.timeout_s is None else min(POLL_S, limits.timeout_s)
    while printer.left != 0:
        if ends is not None and await ends.reached(consumer):
            break
        messages = await consumer.poll(poll_s, printer.left)
        await printer.print(messages, None if ends is None else ends.offsets)
        if printer.is_overdue:
            return printer.exit_code()
    return exit_codes.OK


def _name(isolation: IsolationLevel) -> IsolationName:
    committed = isolation is IsolationLevel.READ_COMMITTED
    return "read_committed" if committed else "read_uncommitted"


async def named_partitions(
    cluster: ClusterClient, topics: Sequence[str], only: Sequence[int] | None
) -> list[TopicPartition]:
    partitions = []
    for name, topic in (await cluster.topics(topics)).items():
        for partition in only or range(len(topic.partitions)):
            if partition >= len(topic.partitions):
                raise UsageError(
                    f"--partition {partition}: {name} has "
                    f"{counted(len(topic.partitions), 'partition')}, counted from 0"
                )
            partitions.append(TopicPartition(name, partition))
    return partitions
