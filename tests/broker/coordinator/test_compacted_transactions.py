"""What a group's next coordinator reads does not depend on whether its partition was compacted.

Two partitions get the same: commits, deletions, commits in transactions and their ends. One of
them is compacted now and then, so that superseded and aborted records go, then tombstones, then
markers. Every run is decided by its seed.
"""

import asyncio
from random import Random

import pytest

from barnabas.coordination.decision import CoordinatorRecord, ProducerIdAndEpoch
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.offset_fetch import OffsetFetchRequestGroup, OffsetFetchRequestTopics
from tests.broker.coordinator.test_group_coordinator import Stage, offset_of, settle
from tests.broker.fake_partition import NOW_MS, FakePartition
from tests.log.compaction.compacting import compacted

GROUPS = "abcdef"
PRODUCERS = [ProducerIdAndEpoch(producer_id, 0) for producer_id in (7, 8, 9)]
STEPS = 400


async def read(partition: FakePartition) -> dict[str, tuple[int, int]]:
    """What a new coordinator tells of each group: the offset, and whether it is stable."""
    stage = Stage()
    partition.commit()
    stage.groups.became_leader(partition)
    while stage.refusal() is not ErrorCode.NONE:
        await settle()
    asked = [OffsetFetchRequestTopics("t", partition_indexes=[0])]
    told = {}
    for group in GROUPS:
        request = OffsetFetchRequestGroup(group, topics=asked)
        answer = stage.shard(group).groups.offset_fetch(request, require_stable=True)
        told[group] = (stage.committed(group), answer.topics[0].partitions[0].error_code)
    stage.groups.close()
    return told


def step(random: Random, number: int, partitions: list[FakePartition]) -> None:
    group = random.choice(GROUPS)
    producer = random.choice(PRODUCERS)
    what = random.choices(["commit", "delete", "in transaction", "end"], [3, 1, 5, 2])[0]
    is_commit = random.random() < 0.6
    for partition in partitions:
        if what == "commit":
            partition.store(offset_of(number, group))
        elif what == "delete":
            partition.store(CoordinatorRecord(offset_of(0, group).key, None))
        elif what == "in transaction":
            partition.store(offset_of(number, group), producer=producer)
        else:
            partition.store_marker(producer, is_commit=is_commit)


@pytest.mark.parametrize("seed", range(8))
def test_compaction_changes_nothing(seed: int) -> None:
    async def run() -> None:
        random = Random(seed)
        kept, cleaned = FakePartition(), FakePartition(segment_bytes=1_500)
        log = cleaned.log
        now_ms = NOW_MS
        runs = 0
        for number in range(STEPS):
            step(random, number, [kept, cleaned])
            if random.random() < 0.05:
                now_ms += random.choice([1, 2 * log.config.delete_retention_ms])
                runs += compacted(log, cleaned.disk, now_ms, upto_offset=log.log_end_offset)
                assert await read(cleaned) == await read(kept)
        for producer in PRODUCERS:
            for partition in (kept, cleaned):
                partition.store_marker(producer, is_commit=True)
        assert await read(cleaned) == await read(kept)
        assert runs > 3
        assert log.size_bytes < kept.log.size_bytes * 0.8

    asyncio.run(run())
