"""Offsets that are committed in transactions, as the leadership of their partition comes and goes.

A marker is told of when it is appended, and takes its turn in the order of the log.
"""

from asyncio import Future, sleep
from typing import Any

import pytest

from barnabas.coordination.decision import CoordinatorRecord, ProducerIdAndEpoch
from barnabas.records.batch import parse_header
from barnabas.records.control import ControlType
from barnabas.records.encode import encode_batch
from barnabas.records.errors import InvalidBatch
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.offset_fetch import OffsetFetchRequestGroup, OffsetFetchRequestTopics
from barnabas.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from tests.broker.coordinator.test_group_coordinator import (
    Stage,
    error_of,
    offset_of,
    on_loop,
    settle,
)
from tests.broker.fake_partition import FakePartition

PRODUCER = ProducerIdAndEpoch(7, 0)
OTHER = ProducerIdAndEpoch(8, 3)


def txn_commit(stage: Stage, offset: int, producer: ProducerIdAndEpoch = PRODUCER) -> "Future[Any]":
    partitions = [TxnOffsetCommitRequestPartition(0, offset)]
    topics = [TxnOffsetCommitRequestTopic("t", partitions)]
    request = TxnOffsetCommitRequest("id", "g", *producer, topics=topics)
    shard = stage.shard()
    return shard.decide(
        lambda token: shard.groups.txn_offset_commit(request, token=token, now_ms=stage.clock.ms)
    )


def end(
    stage: Stage,
    partition: FakePartition,
    producer: ProducerIdAndEpoch = PRODUCER,
    *,
    is_commit: bool = True,
) -> None:
    """The marker is appended, as the partition's leader does."""
    next_offset = partition.store_marker(producer, is_commit=is_commit)
    if partition.commits_at_once:
        partition.commit()
    stage.groups.transaction_ended(
        partition, next_offset, producer.producer_id, is_commit=is_commit
    )


def is_stable(stage: Stage) -> bool:
    asked = [OffsetFetchRequestTopics("t", partition_indexes=[0])]
    request = OffsetFetchRequestGroup("g", topics=asked)
    answer = stage.shard().groups.offset_fetch(request, require_stable=True)
    return answer.topics[0].partitions[0].error_code == ErrorCode.NONE


# -- deciding ----------------------------------------------------------------------------------


@on_loop
async def test_a_commit_is_stored_as_part_of_the_transaction() -> None:
    stage, partition = Stage(), FakePartition()
    stage.groups.became_leader(partition)
    assert error_of(txn_commit(stage, 5, OTHER)) == ErrorCode.NONE
    header = parse_header(bytes(partition.log.read(0, 1 << 16)))
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (*OTHER, -1)
    assert header.is_transactional
    assert not header.is_control
    assert error_of(stage.commit(6)) == ErrorCode.NONE
    header = parse_header(bytes(partition.log.read(1, 1 << 16)))
    assert (header.producer_id, header.is_transactional) == (-1, False)


@on_loop
async def test_it_shows_when_the_marker_is_committed() -> None:
    stage, partition = Stage(), FakePartition()
    stage.groups.became_leader(partition)
    txn_commit(stage, 5)
    partition.commits_at_once = False
    end(stage, partition)
    await settle()
    assert (stage.committed(), is_stable(stage)) == (-1, False)
    partition.commit()
    await settle()
    assert (stage.committed(), is_stable(stage)) == (5, True)


@pytest.mark.parametrize("is_commit", [True, False])
def test_a_marker_has_its_turn_behind_what_came_before_it(is_commit: bool) -> None:
    """All of it becomes committed at once."""

    @on_loop
    async def test() -> None:
        stage, partition = Stage(), FakePartition()
        stage.groups.became_leader(partition)
        partition.commits_at_once = False
        txn_commit(stage, 5)
        end(stage, partition, is_commit=is_commit)
        await settle()
        partition.commit()
        await settle()
        assert (stage.committed(), is_stable(stage)) == (5 if is_commit else -1, True)

    test()


@on_loop
async def test_what_comes_behind_a_marker_is_of_the_next_transaction() -> None:
    stage, partition = Stage(), FakePartition()
    stage.groups.became_leader(partition)
    partition.commits_at_once = False
    txn_commit(stage, 5)
    end(stage, partition)
    txn_commit(stage, 6)
    partition.commit()
    await settle()
    assert (stage.committed(), is_stable(stage)) == (5, False)


@on_loop
async def test_a_marker_of_another_partition_is_nothing_to_the_groups() -> None:
    stage, partition = Stage(), FakePartition()
    stage.groups.became_leader(partition)
    txn_commit(stage, 5)
    other, former = FakePartition(), FakePartition()
    other.topic = "t"
    end(stage, other)
    end(stage, former)  # a deleted topic of the same name had it
    end(stage, FakePartition(index=3))
    assert not is_stable(stage)
    end(stage, partition)
    assert stage.committed() == 5


@on_loop
async def test_the_partition_refuses_the_producer() -> None:
    stage, partition = Stage(), FakePartition()
    stage.groups.became_leader(partition)
    partition.refusal = InvalidBatch(ErrorCode.INVALID_PRODUCER_EPOCH, "fenced")
    assert error_of(txn_commit(stage, 5)) == ErrorCode.INVALID_PRODUCER_EPOCH
    assert is_stable(stage)
    partition.refusal = None
    assert error_of(txn_commit(stage, 6)) == ErrorCode.NONE


@on_loop
async def test_a_marker_outlives_waits_that_are_given_up() -> None:
    """What was to be committed has failed; the marker is in the log and may still be."""
    stage, partition = Stage(), FakePartition()
    stage.groups.became_leader(partition)
    txn_commit(stage, 5)
    partition.commits_at_once = False
    plain = stage.commit(3)
    end(stage, partition)
    partition.give_up()
    await settle()
    assert error_of(plain) == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert not is_stable(stage)
    partition.commit()
    await settle()
    assert (stage.committed(), is_stable(stage)) == (5, True)


@on_loop
async def test_markers_end_with_the_leadership() -> None:
    stage, partition = Stage(), FakePartition()
    stage.groups.became_leader(partition)
    txn_commit(stage, 5)
    partition.commits_at_once = False
    end(stage, partition)
    partition.follow()
    stage.groups.resigned(0)
    partition.truncate(1)  # the next leader's log has no marker yet
    partition.lead(3)
    partition.commit()
    stage.groups.became_leader(partition)
    await settle()
    assert (stage.committed(), is_stable(stage)) == (-1, False)
    partition.commits_at_once = True
    end(stage, partition, is_commit=False)
    assert (stage.committed(), is_stable(stage)) == (-1, True)


# -- loading -----------------------------------------------------------------------------------


async def loaded(partition: FakePartition) -> Stage:
    stage = Stage()
    partition.commit()
    stage.groups.became_leader(partition)
    await settle()
    return stage


@on_loop
async def test_transactions_that_are_over_are_loaded_as_they_ended() -> None:
    partition = FakePartition()
    partition.store(offset_of(1), offset_of(2, "h"), producer=PRODUCER)
    partition.store(offset_of(3, "i"), producer=OTHER)
    partition.store_marker(PRODUCER, is_commit=True)
    partition.store_marker(OTHER, is_commit=False)
    stage = await loaded(partition)
    assert [stage.committed(group) for group in "ghi"] == [1, 2, -1]
    assert is_stable(stage)


@on_loop
async def test_a_transaction_that_goes_on_is_loaded_and_ends() -> None:
    partition = FakePartition()
    partition.store(offset_of(1))
    partition.store(offset_of(2), producer=PRODUCER)
    stage = await loaded(partition)
    assert (stage.committed(), is_stable(stage)) == (1, False)
    end(stage, partition)
    assert (stage.committed(), is_stable(stage)) == (2, True)


@on_loop
async def test_an_idempotent_producer_has_no_transaction() -> None:
    """No client writes like that here; but a plain commit does not wait for a marker."""
    partition = FakePartition()
    rows = [(0, *offset_of(4), ())]
    batch = encode_batch(rows, producer_id=7, producer_epoch=0, base_sequence=0)
    partition.log.append(memoryview(batch), [(0, parse_header(batch))], 1, 0)
    stage = await loaded(partition)
    assert (stage.committed(), is_stable(stage)) == (4, True)


@pytest.mark.parametrize("turns", range(8))
@pytest.mark.parametrize("next_begins", [False, True])
def test_a_marker_that_comes_while_its_partition_is_loaded(turns: int, next_begins: bool) -> None:
    """Whether it is read from the log, or told of, or both, it ends one transaction."""

    @on_loop
    async def test() -> None:
        stage, partition = Stage(), FakePartition()
        partition.store(offset_of(2), producer=PRODUCER)
        stage.groups.became_leader(partition)
        for _ in range(turns):
            await sleep(0)
        partition.commits_at_once = False
        end(stage, partition)
        if next_begins and stage.refusal() is ErrorCode.NONE:
            txn_commit(stage, 3)
        elif next_begins:
            partition.store(offset_of(3), producer=PRODUCER)
        await settle()
        partition.commit()
        await settle()
        assert stage.committed() == 2

    test()


@on_loop
async def test_a_loaded_marker_does_not_end_the_next_transaction() -> None:
    """It was appended before the load began, which then found it and the next one's records."""
    stage, partition = Stage(), FakePartition()
    partition.store(offset_of(2), producer=PRODUCER)
    stage.groups.became_leader(partition)
    end(stage, partition)
    partition.store(offset_of(3), producer=PRODUCER)
    partition.commit()
    await settle()
    assert (stage.committed(), is_stable(stage)) == (2, False)
    end(stage, partition, is_commit=False)
    assert (stage.committed(), is_stable(stage)) == (2, True)


@on_loop
async def test_other_control_records_end_nothing() -> None:
    partition = FakePartition()
    partition.store(offset_of(2), producer=PRODUCER)
    rows = [(0, b"\x00\x00\x00\x05", b"\x00\x00", ())]
    batch = encode_batch(rows, producer_id=7, producer_epoch=0, transactional=True, control=True)
    header = parse_header(batch)
    assert 5 not in list(ControlType)
    partition.log.append(memoryview(batch), [(0, header)], 1, 0)
    stage = await loaded(partition)
    assert (stage.committed(), is_stable(stage)) == (-1, False)


@on_loop
async def test_a_damaged_record_of_a_transaction() -> None:
    partition = FakePartition()
    partition.store(CoordinatorRecord(offset_of(1).key, b"\x00"), producer=PRODUCER)
    stage = await loaded(partition)
    assert stage.refusal() == ErrorCode.COORDINATOR_NOT_AVAILABLE
