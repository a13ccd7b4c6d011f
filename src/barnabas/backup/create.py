"""Makes a point of a backup.

1. Groups' offsets are read.
2. Then the ends of all logs, those of committed records. So no offset is behind its data.
   Where a mirror writes, the end is moved back to where its position is (`mirrored_partitions`).
3. New batches up to these ends are copied into new files.
4. The point is written, at once. Until then the store has the points that it had before.

A partition is copied from the beginning again if its topic was created again, if its log was cut,
or if it is compacted and the last point is so old that a tombstone may have come and gone.
"""

import asyncio
import secrets
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

from barnabas.backup.batch_reader import ISOLATION
from barnabas.backup.cluster_state import is_kept, read_groups, read_state, wanted_names
from barnabas.backup.manifest import PartitionData, Point, TopicData
from barnabas.backup.mirrored_partitions import MirroredPartitions
from barnabas.backup.partition_backup import PartitionBackup, PartitionSpan
from barnabas.backup.points import previous_point, write_partial, write_point
from barnabas.backup.signature import SignatureError, SigningKey
from barnabas.backup.store import BackupStore
from barnabas.backup.workers import run_workers
from barnabas.client.admin.configs import ConfigEntry, ConfigSource, ResourceType, describe_configs
from barnabas.client.connect.broker_errors import broker_error
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import NO_LEADER, TopicMetadata, TopicPartition
from barnabas.client.connect.connection_pool import Channel
from barnabas.client.offsets.list_offsets import beginning_and_end
from barnabas.coordination.mirror_groups import has_foreign_offsets
from barnabas.errors import BarnabasError, DataLost, InvalidArgument, UnknownTopic
from barnabas.mirror.rate_limit import RateLimit
from barnabas.wire.errors import ErrorCode

AT_ONCE = 4
"""Partitions that are copied at the same time; each holds a file in memory."""

PARTIAL_S = 30.0
"""How often it is noted what an unfinished run has copied."""

_ATTEMPTS = 5


@dataclass(frozen=True)
class CreateOptions:
    """What is copied, and how fast."""

    topics: Collection[str] = ()
    """Regular expressions of whole names; none: all but internal ones."""
    groups: Collection[str] = ()
    bytes_per_second: float | None = None
    full: bool = False
    """Copy everything again."""
    key: SigningKey | None = None
    """Signs the point."""


Progress = Callable[[int, int, int], None]
"""Bytes that were copied, partitions that are done, all partitions."""


class BackupRun:
    """One run of `create`."""

    def __init__(
        self,
        cluster: ClusterClient,
        store: BackupStore,
        options: CreateOptions,
        progress: Progress = lambda *_: None,
    ) -> None:
        self._cluster = cluster
        self._store = store
        self._options = options
        self._progress = progress
        self._channels = [Channel() for _ in range(AT_ONCE)]
        self._limit = RateLimit(options.bytes_per_second, cluster.environment.monotonic)
        self._point = Point(secrets.token_hex(4), 0)
        self._previous: Point | None = None
        self._copies: dict[TopicPartition, PartitionBackup] = {}
        self._done = 0
        self._started_at_ms = time.time_ns() // 1_000_000

    async def run(self) -> tuple[Point, str]:
        """Returns the point, and its name in the store."""
        self._previous = await asyncio.to_thread(previous_point, self._store, self._options.key)
        point, cluster = self._point, self._cluster
        point.cluster_id = cluster.cluster_id or ""
        if self._previous is not None and self._previous.cluster_id != point.cluster_id:
            raise InvalidArgument(
                f"{self._store.description} has backups of cluster {self._previous.cluster_id}, "
                f"this is {point.cluster_id}; use another folder for each cluster"
            )
        self._check_signature()
        await read_groups(cluster, point, self._options.groups)
        await read_state(cluster, point)
        spans = await self._spans()
        point.created_at_ms = time.time_ns() // 1_000_000
        for span in spans:
            self._copies[span.partition] = self._copy_of(span)
        try:
            await self._copy_all()
        except BaseException:
            with suppress(BarnabasError, OSError):  # the store may be what has failed
                self._note_partial()
            raise
        point.copied_bytes = sum(each.copied_bytes for each in self._copies.values())
        self._keep_offsets_within()
        return point, await asyncio.to_thread(write_point, self._store, point, self._options.key)

    def _check_signature(self) -> None:
        """A signature vouches for the files of earlier points too, so they have to be signed."""
        previous, key = self._previous, self._options.key
        if previous is None:
            return
        if key is None and previous.signature is not None:
            raise InvalidArgument(
                f"the last point in {self._store.description} is signed; sign this one too with "
                "--key-file FILE, or use another folder"
            )
        if key is not None and not self._options.full and not key.has_signed(previous):
            what = "is not signed"
            if previous.signature is not None:
                what = "was changed, or signed with another key"
            raise SignatureError(
                f"the last point in {self._store.description} {what}, so a signed one can't build "
                "on it; copy everything again with --full"
            )

    # -- what to copy --------------------------------------------------------------------------

    async def _spans(self) -> list[PartitionSpan]:
        """The topics of the point, and where their logs begin and end."""
        for _ in range(_ATTEMPTS):
            topics = await self._topics()
            names = [
                TopicPartition(name, each.partition)
                for name, topic in topics.items()
                for each in topic.partitions
                if each.leader != NO_LEADER
            ]
            mirrored = MirroredPartitions(self._cluster, self._point.groups)
            try:
                await mirrored.look(names)
                bounds = await beginning_and_end(self._cluster, names, ISOLATION)
                for each, limit in (await mirrored.limits(bounds)).items():
                    bounds[each] = (bounds[each][0], min(limit, bounds[each][1]))
                configs = await describe_configs(self._cluster, ResourceType.TOPIC, topics)
            except UnknownTopic:
                continue  # one was deleted meanwhile
            return self._spans_of(topics, bounds, configs)
        raise broker_error(
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "topics", "they are deleted while they are listed"
        )

    async def _topics(self) -> dict[str, TopicMetadata]:
        found = await self._cluster.refresh(None)
        present = {
            name for name, each in found.items() if not each.is_internal and not each.error_code
        }
        return {name: found[name] for name in wanted_names(present, self._options.topics)}

    def _spans_of(
        self,
        topics: Mapping[str, TopicMetadata],
        bounds: Mapping[TopicPartition, tuple[int, int]],
        configs: Mapping[str, list[ConfigEntry]],
    ) -> list[PartitionSpan]:
        spans = []
        for name, topic in topics.items():
            entries = configs.get(name, ())
            own = {
                each.name: each.value
                for each in entries
                if each.source is ConfigSource.TOPIC
                and each.value is not None
                and is_kept(each.name)
            }
            factor = max(len(each.replicas) for each in topic.partitions)
            data = TopicData(topic.topic_id.hex(), factor, own, [])
            self._point.topics[name] = data
            effective = {each.name: each.value or "" for each in entries}
            for index in range(len(topic.partitions)):
                partition = TopicPartition(name, index)
                before = self._before(partition, data.topic_id, effective)
                if partition not in bounds:
                    data.partitions.append(before or PartitionData())
                    self._point.problems.append(
                        f"partition {partition} has no leader: it is in this backup up to offset "
                        f"{data.partitions[-1].end}, as in the one before"
                    )
                    continue
                first, end = bounds[partition]
                spans.append(PartitionSpan(partition, topic.topic_id, first, end))
                data.partitions.append(before or PartitionData(first, first))
        return spans

    def _before(
        self, partition: TopicPartition, topic_id: str, configs: Mapping[str, str]
    ) -> PartitionData | None:
        """What the last point has of a partition, if it can be built on."""
        previous = self._previous
        if previous is None or self._options.full:
            return None
        topic = previous.topics.get(partition.topic)
        if topic is None or topic.topic_id != topic_id:
            return None
        if "compact" in configs.get("cleanup.policy", ""):
            age_ms = time.time_ns() // 1_000_000 - previous.created_at_ms
            if age_ms >= int(configs.get("delete.retention.ms") or 0):
                return None  # a tombstone may have come and gone since
        if partition.partition >= len(topic.partitions):
            return None
        return topic.partitions[partition.partition]

    def _copy_of(self, span: PartitionSpan) -> PartitionBackup:
        topic = self._point.topics[span.partition.topic]
        before: PartitionData | None = topic.partitions[span.partition.partition]
        if before is not None and before.end > span.end:
            self._point.problems.append(
                f"partition {span.partition} was copied up to offset {before.end} and now ends at "
                f"{span.end}: its log was cut. It is copied again from its beginning"
            )
            before = None
        if before is not None and before.end == before.start:
            before = None
        copy = PartitionBackup(
            self._cluster,
            self._channels[span.partition.partition % AT_ONCE],
            self._store,
            self._limit,
            self._point.run,
            span,
            before,
        )
        topic.partitions[span.partition.partition] = copy.data
        return copy

    # -- copying -------------------------------------------------------------------------------

    async def _copy_all(self) -> None:
        waiting = list(reversed(self._copies.items()))

        async def work() -> None:
            while waiting:
                partition, copy = waiting.pop()
                try:
                    await copy.run()
                except UnknownTopic:
                    self._drop(partition.topic)
                except DataLost as error:
                    self._point.problems.append(str(error))
                self._done += 1

        await run_workers([work() for _ in range(AT_ONCE)], self._upkeep())

    def _drop(self, topic: str) -> None:
        """A topic that was deleted meanwhile is not part of the point."""
        self._point.topics.pop(topic, None)

    async def _upkeep(self) -> None:
        noted_at = time.monotonic()
        while True:
            copied = sum(each.copied_bytes for each in self._copies.values())
            self._progress(copied, self._done, len(self._copies))
            await asyncio.sleep(0.2)
            if time.monotonic() - noted_at > PARTIAL_S:
                noted_at = time.monotonic()
                await asyncio.to_thread(self._note_partial)

    def _note_partial(self) -> None:
        """Let the next run build on what this one has copied."""
        if any(each.copied_bytes for each in self._copies.values()):
            # Partitions that are not done are as old as the last point.
            at_ms = self._previous.created_at_ms + 1 if self._previous else self._started_at_ms
            partial = replace(self._point, groups={}, created_at_ms=at_ms)
            write_partial(self._store, partial, self._options.key)

    def _keep_offsets_within(self) -> None:
        """Take offsets back that are behind the data, of readers that read uncommitted records."""
        for group_id, group in self._point.groups.items():
            if has_foreign_offsets(group_id):
                continue
            for topic, offsets in group.offsets.items():
                data = self._point.topics.get(topic)
                for index, (offset, text) in list(offsets.items()):
                    if data is not None and index < len(data.partitions):
                        offsets[index] = (min(offset, data.partitions[index].end), text)
