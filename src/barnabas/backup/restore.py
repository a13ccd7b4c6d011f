"""Restores a cluster, or some of its topics, from a backup.

Topics are made, records are written, groups get their offsets, then topics their settings, and last
come settings of brokers, quotas and ACLs. An interrupted restore is continued where it was.
"""

import asyncio
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from barnabas.backup.batch_reader import read_batches
from barnabas.backup.cluster_state import wanted_names
from barnabas.backup.manifest import TopicData
from barnabas.backup.partition_restore import PartitionRestore
from barnabas.backup.restore_plan import RestorePlan
from barnabas.backup.restored_groups import RestoredGroups, offset_topics
from barnabas.backup.restored_state import restore_acls, restore_state
from barnabas.backup.restored_topics import finish_topic, make_topic, replicas_of
from barnabas.backup.store import BackupStore
from barnabas.backup.workers import run_workers
from barnabas.client.admin.groups import list_groups
from barnabas.client.connect.broker_errors import check
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import NO_LEADER, TopicPartition
from barnabas.client.connect.connection_pool import Channel
from barnabas.client.offsets.list_offsets import LATEST, list_offsets
from barnabas.client.producer.producer_identity import ProducerIdentity
from barnabas.errors import BarnabasError
from barnabas.mirror.rate_limit import RateLimit
from barnabas.quantities import counted
from barnabas.records.decode import decode_batch
from barnabas.records.record import Record
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest

AT_ONCE = 4
_STEADY_S = 1.0
_LOOK_S = 0.1


class TargetNotEmptyError(BarnabasError):
    """The target has topics or groups already."""


@dataclass(frozen=True)
class RestoreOptions:
    """What is restored, and into what."""

    topics: Collection[str] = ()
    """Regular expressions of whole names; none: all, and settings, quotas and ACLs too."""
    groups: Collection[str] = ()
    prefix: str = ""
    """In front of the names of topics and groups."""
    replication_factor: int | None = None
    resume: bool = False
    allow_existing: bool = False
    bytes_per_second: float | None = None


@dataclass
class Restored:
    """What was restored."""

    topics: int = 0
    groups: int = 0
    records: int = 0
    acls: int = 0
    problems: list[str] = field(default_factory=list)
    """What could not be, and what is left to do by hand."""


Progress = Callable[[int, int], None]
"""Bytes that were read, and all bytes."""


class RestoreRun:
    """One run of `restore`."""

    def __init__(
        self,
        cluster: ClusterClient,
        store: BackupStore,
        plan: RestorePlan,
        options: RestoreOptions,
        progress: Progress = lambda *_: None,
    ) -> None:
        self._cluster = cluster
        self._store = store
        self._plan = plan
        self._options = options
        self._progress = progress
        self._limit = RateLimit(options.bytes_per_second, cluster.environment.monotonic)
        self._topics = {
            name: plan.topics[name] for name in wanted_names(plan.topics, options.topics)
        }
        wanted = wanted_names(plan.point.groups, options.groups)
        groups = {name: plan.point.groups[name] for name in wanted}
        self._groups = RestoredGroups(groups, plan, options.prefix)
        self._restores: dict[TopicPartition, PartitionRestore] = {}
        self.restored = Restored()

    async def run(self) -> Restored:
        """Raises `TargetNotEmptyError`, `ForeignRecordsError`, `BackupDamagedError`."""
        present = await self._check_target()
        for name, topic in self._topics.items():
            if self._name(name) not in present:
                await make_topic(self._cluster, self._name(name), topic, self._replicas(topic))
        await self._until_led()
        await self._restore_records()
        self.restored.topics = len(self._topics)
        self.restored.records = sum(each.records for each in self._restores.values())
        self.restored.groups = await self._groups.restore(
            self._cluster, self._restores, is_partial=bool(self._options.topics)
        )
        self.restored.problems += self._groups.problems
        for name, topic in self._topics.items():
            self.restored.problems += await finish_topic(
                self._cluster, self._name(name), topic, self._replicas(topic)
            )
        if not self._options.topics and not self._options.prefix:
            point = self._plan.point
            self.restored.problems += await restore_state(self._cluster, point)
            if point.acls:
                refused = await restore_acls(self._cluster, point)
                self.restored.problems += refused
                self.restored.acls = 0 if refused else len(point.acls)
        return self.restored

    def _name(self, name: str) -> str:
        return self._options.prefix + name

    def _replicas(self, topic: TopicData) -> int:
        return replicas_of(topic, self._options.replication_factor, len(self._cluster.brokers))

    # -- the target ----------------------------------------------------------------------------

    async def _check_target(self) -> set[str]:
        """The topics that are there; raises if they may not be."""
        found = await self._cluster.refresh(None)
        present = {name for name, each in found.items() if not each.is_internal}
        if self._options.resume:
            self._check_partitions({name: len(found[name].partitions) for name in present})
            return present
        taken = sorted(present & set(map(self._name, self._topics)))
        if taken:
            raise TargetNotEmptyError(
                f"the target has topics that would be restored, such as {taken[0]}; continue an "
                "interrupted restore with --resume, choose other names with --prefix, or delete "
                "them first"
            )
        groups = {each.group_id for each in await list_groups(self._cluster)}
        if (present or groups) and not self._options.allow_existing:
            what = f"topic {min(present)}" if present else f"group {min(groups)}"
            raise TargetNotEmptyError(
                f"the target is not empty: it has {what}; restore into an empty cluster, or add to "
                "what is there with --allow-existing"
            )
        self._groups.leave(groups)
        return present

    def _check_partitions(self, present: Mapping[str, int]) -> None:
        for name, topic in self._topics.items():
            count = present.get(self._name(name), len(topic.partitions))
            if count != len(topic.partitions):
                raise TargetNotEmptyError(
                    f"topic {self._name(name)} has {counted(count, 'partition')}, the backup "
                    f"{len(topic.partitions)}; delete it and restore again"
                )

    async def _until_led(self) -> None:
        """Wait until all partitions have a leader that clients hear of."""
        names = [self._name(each) for each in self._topics]
        while names:
            found = await self._cluster.refresh(names)
            if all(
                not topic.error_code and all(each.leader != NO_LEADER for each in topic.partitions)
                for topic in found.values()
            ):
                return
            await asyncio.sleep(_LOOK_S)

    # -- records -------------------------------------------------------------------------------

    async def _restore_records(self) -> None:
        names = [
            TopicPartition(name, index)
            for name, topic in self._topics.items()
            for index in range(len(topic.partitions))
        ]
        done = await self._ends(names)
        identity = await self._identity()
        channels = [Channel() for _ in range(AT_ONCE)]
        marks = self._groups.marks()
        left_empty = offset_topics(self._plan.topics)
        for each in names:
            there = TopicPartition(self._name(each.topic), each.partition)
            last = await self._last_record(there, done[each]) if done[each] else None
            plan = self._plan.partitions[each]
            if each.topic in left_empty:
                plan = plan._replace(pieces=[])
            self._restores[each] = PartitionRestore(
                self._cluster,
                channels[each.partition % AT_ONCE],
                self._store,
                self._limit,
                there,
                plan,
                marks[each],
                done[each],
                last,
                identity,
            )
        waiting = list(reversed(self._restores.values()))

        async def work() -> None:
            while waiting:
                await waiting.pop().run()

        await run_workers([work() for _ in range(AT_ONCE)], self._show())

    async def _ends(self, names: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        """How many records are there already, once that is settled."""
        there = {each: TopicPartition(self._name(each.topic), each.partition) for each in names}

        async def look() -> dict[TopicPartition, int]:
            found = await list_offsets(self._cluster, dict.fromkeys(there.values(), LATEST))
            return {each: found[there[each]].offset for each in names}

        ends = await look()
        while self._options.resume and any(ends.values()):
            # The last requests of a killed run may still be on their way to the followers.
            await asyncio.sleep(_STEADY_S)
            before, ends = ends, await look()
            if before == ends:
                break
        return ends

    async def _last_record(self, partition: TopicPartition, end: int) -> Record | None:
        topic = await self._cluster.topic(partition.topic)
        last = None
        async for read in read_batches(
            self._cluster, Channel(), partition, topic.topic_id, end - 1, end
        ):
            for _, batch in read.batches:
                last = decode_batch(batch)[-1]
        return last

    async def _identity(self) -> ProducerIdentity:
        async def attempt() -> ProducerIdentity:
            connection = await self._cluster.any_connection()
            response = await connection.send(
                InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=0)
            )
            check(response.error_code, "the producer's id")
            return ProducerIdentity(response.producer_id, response.producer_epoch)

        return await self._cluster.retrying(attempt)

    async def _show(self) -> None:
        total = sum(
            piece.file.bytes
            for name in self._restores
            for piece in self._plan.partitions[name].pieces
        )
        while True:
            self._progress(sum(each.bytes for each in self._restores.values()), total)
            await asyncio.sleep(0.2)
