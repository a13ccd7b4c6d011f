"""Carries out what the groups decide: persists their records, answers who waits, keeps time.

A group lives in the partition of `__consumer_offsets` that its id hashes to; each partition has a
`GroupShard`, which decides and never does I/O.
"""

import logging
from asyncio import AbstractEventLoop, Future, TimerHandle
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any
from uuid import UUID

from barnabas.broker.clock import Clock
from barnabas.broker.config import BrokerConfig
from barnabas.broker.partition import Partition
from barnabas.broker.stored_records import stored_records
from barnabas.groups import Decision, GroupConfig, GroupShard, Record, partition_of_group
from barnabas.log import StorageError
from barnabas.records.batch import parse_header
from barnabas.records.encode import encode_batch

logger = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class Shard:
    """The groups of one partition of `__consumer_offsets`."""

    partition: Partition
    groups: GroupShard
    timer: TimerHandle | None = field(default=None)


class GroupCoordinator:
    """Finds the shard of a group and carries out its decisions."""

    def __init__(
        self, loop: AbstractEventLoop, config: BrokerConfig, clock: Clock, random: Random
    ) -> None:
        self._loop = loop
        self._clock = clock
        self._random = random
        self._config = group_config(config)
        self.shards: list[Shard] = []

    def _new_member_suffix(self) -> str:
        return str(UUID(bytes=self._random.randbytes(16), version=4))

    def now_ms(self) -> int:
        return self._clock.steady_ms()

    def load(self, partitions: list[Partition]) -> None:
        """Replay every partition of `__consumer_offsets`; after that groups are served."""
        for partition in partitions[len(self.shards) :]:
            groups = GroupShard(self._config, self._new_member_suffix)
            replayed = _replay(partition, groups)
            groups.loaded(self.now_ms())
            shard = Shard(partition, groups)
            self.shards.append(shard)
            self._arm(shard)
            if replayed:
                logger.info("%s-%d: %d records", partition.topic, partition.index, replayed)

    def shard(self, group_id: str) -> Shard:
        """Where the group lives; `load` has been called."""
        return self.shards[partition_of_group(group_id, len(self.shards))]

    def decide(self, shard: Shard, decide: Callable[["Future[Any]"], Decision]) -> "Future[Any]":
        """Have `decide` called with a token, and return what will hold the response."""
        token: Future[Any] = self._loop.create_future()
        self._carry_out(shard, decide(token))
        return token

    def topics_deleted(self, names: Collection[str]) -> None:
        """Offsets of deleted topics go with them."""
        for shard in self.shards:
            self._carry_out(shard, shard.groups.topics_deleted(names))

    def close(self) -> None:
        """Answer everybody who waits: the broker goes away."""
        for shard in self.shards:
            if shard.timer is not None:
                shard.timer.cancel()
            for token, response in shard.groups.unload():
                _reply(token, response)

    # -- carrying out ------------------------------------------------------------------------------

    def _carry_out(self, shard: Shard, decision: Decision) -> None:
        while True:
            for token, response in decision.replies:
                _reply(token, response)
            if not decision.records:
                break
            try:
                committed = self._persist(shard.partition, decision.records)
            except StorageError as error:
                logger.error("groups can't be persisted: %s", error)
                decision = shard.groups.failed(decision, now_ms=self.now_ms())
                continue
            if committed is not None:
                committed.add_done_callback(partial(self._committed, shard, decision))
                break
            decision = shard.groups.committed(decision, now_ms=self.now_ms())
        self._arm(shard)

    def _committed(self, shard: Shard, decision: Decision, done: "Future[None]") -> None:
        groups = shard.groups
        outcome = groups.failed if done.cancelled() else groups.committed
        self._carry_out(shard, outcome(decision, now_ms=self.now_ms()))

    def _persist(self, partition: Partition, records: list[Record]) -> "Future[None] | None":
        time_ms = self._clock.now_ms()
        batch = encode_batch([(time_ms, key, value, ()) for key, value in records])
        info = partition.append_internal(batch, parse_header(batch), time_ms)
        return partition.committed(info.last_offset + 1)

    def _arm(self, shard: Shard) -> None:
        """Have the shard's clock looked at when its next deadline comes."""
        deadline_ms = shard.groups.next_deadline_ms()
        if shard.timer is not None:
            shard.timer.cancel()
            shard.timer = None
        if deadline_ms is not None:
            delay = max(0.0, (deadline_ms - self.now_ms()) / 1000)
            shard.timer = self._loop.call_later(delay, self._tick, shard)

    def _tick(self, shard: Shard) -> None:
        shard.timer = None
        self._carry_out(shard, shard.groups.tick(self.now_ms()))


def _reply(token: object, response: object) -> None:
    assert isinstance(token, Future)
    if not token.done():  # the client may have gone
        token.set_result(response)


def _replay(partition: Partition, groups: GroupShard) -> int:
    replayed = 0
    for record in stored_records(partition.log):
        if record.key is not None:
            groups.replay(record.key, record.value)
            replayed += 1
    return replayed


def group_config(config: BrokerConfig) -> GroupConfig:
    """What the broker's settings say about groups."""
    return GroupConfig(
        group_min_session_timeout_ms=config.number("group.min.session.timeout.ms"),
        group_max_session_timeout_ms=config.number("group.max.session.timeout.ms"),
        group_initial_rebalance_delay_ms=config.number("group.initial.rebalance.delay.ms"),
        group_max_size=config.number("group.max.size"),
        offset_metadata_max_bytes=config.number("offset.metadata.max.bytes"),
        offsets_retention_ms=config.number("offsets.retention.minutes") * 60_000,
    )
