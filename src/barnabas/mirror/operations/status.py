"""How a mirror is doing, seen from outside.

Lag is counted in offsets of the source, up to the end of what is committed there; markers of
transactions count as well. Lag in seconds is the age of the oldest record that is not copied.
While the source is away, its end is the last one that the driver has stored.
"""

import asyncio
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

from barnabas.client.admin.groups import list_groups
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.consumer.range_reader import RangeReader, RecordRange
from barnabas.client.group.committed_offsets import fetch_committed
from barnabas.client.offsets.isolation import IsolationLevel
from barnabas.client.offsets.list_offsets import LATEST, list_offsets
from barnabas.errors import NotAuthorized, UnknownTopic
from barnabas.mirror.flow import Flow
from barnabas.mirror.formats.checkpoint import CheckpointRecord, decode_checkpoint
from barnabas.mirror.formats.heartbeat import decode_heartbeat
from barnabas.mirror.formats.internal_topics import HEARTBEATS_TOPIC
from barnabas.mirror.groups.driver_note import DriverNote, StoredNote
from barnabas.mirror.groups.stored_syncs import stored_sync
from barnabas.mirror.groups.topic_records import TopicReader
from barnabas.mirror.names import (
    checkpoints_topic_of,
    is_heartbeats,
    syncs_topic_of,
    upstream_topic,
)
from barnabas.mirror.operations.mirror_clients import MirrorClients
from barnabas.mirror.positions import fetch_positions

_LOOK_AHEAD = 1_000  # offsets, until the first record after a position


@dataclass(frozen=True)
class PartitionStatus:
    """A partition that flows; None where something is not known."""

    topic: str
    partition: int
    target_topic: str
    position: int
    """Offset in the source of the record that is copied next."""
    end: int | None
    """Where the source ends, or ended when it was last seen."""
    lag_seconds: float | None
    offsets_per_second: float | None
    is_heartbeats: bool = False
    """Whether the mirror writes it itself, once a second, so that it does not count as lag."""

    @property
    def lag(self) -> int | None:
        return None if self.end is None else max(0, self.end - self.position)


@dataclass(frozen=True)
class GroupStatus:
    """A group of the source in one partition of the target."""

    group: str
    topic: str
    partition: int
    upstream: int
    """What it has committed in the source."""
    translated: int
    """The same position in the target."""
    committed: int | None
    """Committed offset of the group in the target."""
    state: str
    """Of the group in the target."""


@dataclass(frozen=True)
class MirrorStatus:
    """All of a flow."""

    flow: str
    is_source_reachable: bool
    heartbeat_age_seconds: float | None
    """Since the driver has said that it is alive; None if it never has, as where heartbeats are
    not allowed."""
    problems: list[str] = field(default_factory=list)
    """What the driver has last said to go wrong."""
    problems_age_seconds: float | None = None
    """Since it has said so; None if nothing goes wrong."""
    partitions: list[PartitionStatus] = field(default_factory=list)
    groups: list[GroupStatus] = field(default_factory=list)
    never_copied: list[TopicPartition] = field(default_factory=list)
    """Partitions of the source without a position, if they were looked for."""

    @property
    def mirrored(self) -> list[PartitionStatus]:
        """All partitions but those of heartbeats. A flow without them has copied nothing."""
        return [each for each in self.partitions if not each.is_heartbeats]

    @property
    def lag(self) -> int | None:
        """Of what is mirrored; None if that of one partition is not known, or nothing is copied."""
        lags = [each.lag for each in self.mirrored]
        if not lags or None in lags:
            return None
        return sum(each for each in lags if each is not None)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        partitions = [asdict(each) | {"lag": each.lag} for each in self.partitions]
        never = [each._asdict() for each in self.never_copied]
        return asdict(self) | {"lag": self.lag, "partitions": partitions, "never_copied": never}


async def collect_status(flow: Flow, clients: MirrorClients, window_s: float = 0.0) -> MirrorStatus:
    """Look at a flow, for `window_s` to see its throughput."""
    first = await fetch_positions(clients.target, flow)
    if window_s:
        await asyncio.sleep(window_s)
    positions = await fetch_positions(clients.target, flow)
    places = {
        TopicPartition(topic, there.partition): there
        for there in positions
        if (topic := upstream_topic(flow, there.topic)) is not None
    }
    ends = await source_ends(flow, clients, list(places))
    begun = {here: positions[there].offset for here, there in places.items()}
    ages = {} if clients.source is None else await _known_ages(flow, clients.source, begun, ends)
    partitions = [
        PartitionStatus(
            here.topic,
            here.partition,
            there.topic,
            begun[here],
            end := ends.get(here),
            0.0 if end is not None and end <= begun[here] else ages.get(here),
            (begun[here] - first[there].offset) / window_s if window_s and there in first else None,
            is_heartbeats(flow, here.topic),
        )
        for here, there in sorted(places.items())
    ]
    note = await DriverNote(flow, clients.target).read() or StoredNote(0, [])
    return MirrorStatus(
        flow.name,
        clients.source is not None,
        await _heartbeat_age(flow, clients.target),
        note.problems,
        _age_s(note.timestamp_ms) if note.problems else None,
        partitions,
        await group_statuses(flow, clients.target),
    )


async def source_ends(
    flow: Flow, clients: MirrorClients, partitions: list[TopicPartition]
) -> dict[TopicPartition, int]:
    """Where partitions of the source end, or ended when they were last seen."""
    if clients.source is not None:
        return await _listed_ends(clients.source, partitions)
    reader = TopicReader(clients.target, syncs_topic_of(flow))
    stored = [stored_sync(record) for record in await reader.read_new()]
    return {
        each.partition: each.source_end
        for each in stored
        if each is not None and each.source_end is not None
    }


async def _listed_ends(
    source: ClusterClient, partitions: list[TopicPartition]
) -> dict[TopicPartition, int]:
    """One request to each node; those of topics that are deleted there are left out."""
    while True:
        topics = await source.refresh({each.topic for each in partitions})
        there = [
            each
            for each in partitions
            if each.topic in topics and each.partition < len(topics[each.topic].partitions)
        ]
        try:
            wanted = dict.fromkeys(there, LATEST)
            found = await list_offsets(source, wanted, IsolationLevel.READ_COMMITTED)
        except UnknownTopic:
            continue  # one was deleted just now
        return {each: listed.offset for each, listed in found.items()}


async def read_checkpoints(flow: Flow, target: ClusterClient) -> list[CheckpointRecord]:
    """The last checkpoints of all groups."""
    reader = TopicReader(target, checkpoints_topic_of(flow))
    last: dict[tuple[str, TopicPartition], CheckpointRecord] = {}
    for record in await reader.read_new():
        if record.value is not None:
            read = decode_checkpoint(record.key, record.value)
            last[read.group, read.partition] = read
    return [last[each] for each in sorted(last)]


async def group_statuses(flow: Flow, target: ClusterClient) -> list[GroupStatus]:
    """How far groups were taken along, by the checkpoints."""
    checkpoints = await read_checkpoints(flow, target)
    states = {each.group_id: each.state for each in await list_groups(target)}
    known = sorted({each.group for each in checkpoints} & states.keys())
    # Requests to a coordinator go out together, and are answered one after the other.
    offsets = await asyncio.gather(*(fetch_committed(target, each) for each in known))
    committed = dict(zip(known, offsets, strict=True))
    return [
        GroupStatus(
            each.group,
            each.partition.topic,
            each.partition.partition,
            each.upstream_offset,
            each.downstream_offset,
            committed.get(each.group, {}).get(each.partition),
            states.get(each.group, "Dead"),
        )
        for each in checkpoints
    ]


async def _known_ages(
    flow: Flow,
    source: ClusterClient,
    begun: dict[TopicPartition, int],
    ends: dict[TopicPartition, int],
) -> dict[TopicPartition, float]:
    """Without those of heartbeats if they may not be read: everything else can be shown."""
    try:
        return await _ages(source, begun, ends)
    except NotAuthorized:
        readable = {each: at for each, at in begun.items() if not is_heartbeats(flow, each.topic)}
        if readable == begun:
            raise
        return await _ages(source, readable, ends)


async def _ages(
    source: ClusterClient, begun: dict[TopicPartition, int], ends: dict[TopicPartition, int]
) -> dict[TopicPartition, float]:
    """How old the first record is that is not copied."""
    ranges = [
        RecordRange(each, position, min(ends[each], position + _LOOK_AHEAD))
        for each, position in begun.items()
        if ends.get(each, 0) > position
    ]
    reading = RangeReader(source, ranges, on_loss=lambda _: None)
    ages: dict[TopicPartition, float] = {}
    while fetched := await reading.fetch():
        for partition, record in reading.records(fetched):
            ages.setdefault(partition, _age_s(record.timestamp))
    return ages


async def _heartbeat_age(flow: Flow, target: ClusterClient) -> float | None:
    try:
        found = await TopicReader(target, HEARTBEATS_TOPIC).read_new()
    except NotAuthorized:
        return None  # everything else can be shown
    last = None
    for record in found:
        if record.value is not None:
            read = decode_heartbeat(record.key, record.value)
            if (read.source, read.target) == (flow.source.name, flow.target.name):
                last = read.timestamp_ms
    return None if last is None else _age_s(last)


def _age_s(timestamp_ms: int) -> float:
    return max(0.0, datetime.now(UTC).timestamp() - timestamp_ms / 1000)
