"""Groups are loaded, served and given up as the leadership of their partition comes and goes."""

import asyncio
from asyncio import Future, sleep
from collections.abc import Callable, Coroutine
from functools import wraps
from random import Random
from typing import Any

import pytest

from barnabas.broker.coordinator import group_coordinator_shard
from barnabas.broker.coordinator.group_coordinator import GroupCoordinator
from barnabas.broker.coordinator.group_coordinator_shard import GroupCoordinatorShard
from barnabas.broker.runtime.clock import Clock
from barnabas.broker.settings.config import BrokerConfig
from barnabas.coordination.decision import CoordinatorRecord
from barnabas.groups.records import offset_record
from barnabas.log import StorageError
from barnabas.metadata.image import MetadataImage
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.group_records import OffsetCommitKey, OffsetCommitValue
from barnabas.wire.messages.heartbeat import HeartbeatRequest
from barnabas.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from barnabas.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from barnabas.wire.messages.offset_fetch import OffsetFetchRequestGroup, OffsetFetchRequestTopics
from barnabas.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from tests.broker.fake_partition import NOW_MS, FakePartition, offsets_image
from tests.log.compaction.compacting import compacted

SESSION_MS = 10_000


class FakeClock(Clock):
    def __init__(self) -> None:
        self.ms = 5_000_000

    def now_ms(self) -> int:
        return self.ms

    def steady_ms(self) -> int:
        return self.ms


class Stage:
    """A coordinator, its clock, and what clients ask of it."""

    def __init__(self, partitions: int = 1, **settings: str) -> None:
        self.clock = FakeClock()
        self.image: MetadataImage = offsets_image(partitions, "t")
        config = {"group.initial.rebalance.delay.ms": "0"}
        config |= {name.replace("_", "."): value for name, value in settings.items()}
        self.groups = GroupCoordinator(
            asyncio.get_running_loop(),
            BrokerConfig(config),
            self.clock,
            Random(1),
            lambda: self.image,
        )

    def refusal(self, group: str = "g") -> ErrorCode:
        found = self.groups.find(group)
        return found if isinstance(found, ErrorCode) else ErrorCode.NONE

    def shard(self, group: str = "g") -> GroupCoordinatorShard:
        found = self.groups.find(group)
        assert isinstance(found, GroupCoordinatorShard), found
        return found

    def committed(self, group: str = "g") -> int:
        asked = [OffsetFetchRequestTopics("t", partition_indexes=[0])]
        answer = self.shard(group).groups.offset_fetch(OffsetFetchRequestGroup(group, topics=asked))
        return answer.topics[0].partitions[0].committed_offset

    def commit(
        self, offset: int, member_id: str = "", generation_id: int = -1, group: str = "g"
    ) -> "Future[Any]":
        partitions = [OffsetCommitRequestPartition(0, offset)]
        request = OffsetCommitRequest(
            group,
            generation_id,
            member_id,
            topics=[OffsetCommitRequestTopic("t", partitions=partitions)],
        )
        shard = self.shard(group)
        return shard.decide(
            lambda token: shard.groups.offset_commit(request, token=token, now_ms=self.clock.ms)
        )

    def join(self, member_id: str = "") -> "Future[Any]":
        request = JoinGroupRequest(
            "g",
            SESSION_MS,
            SESSION_MS,
            member_id,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol("range", b"")],
        )
        shard = self.shard()
        return shard.decide(
            lambda token: shard.groups.classic.join_group(
                request,
                token=token,
                client_id="c",
                client_host="/h",
                api_version=3,
                now_ms=self.clock.ms,
            )
        )

    def sync(self, member_id: str, generation_id: int, assign: bool) -> "Future[Any]":
        plan = [SyncGroupRequestAssignment(member_id, b"all")] if assign else []
        request = SyncGroupRequest("g", generation_id, member_id, assignments=plan)
        shard = self.shard()
        return shard.decide(
            lambda token: shard.groups.classic.sync_group(
                request, token=token, now_ms=self.clock.ms
            )
        )

    def heartbeat(self, member_id: str, generation_id: int) -> int:
        request = HeartbeatRequest("g", generation_id, member_id)
        return self.shard().groups.classic.heartbeat(request, now_ms=self.clock.ms).error_code

    async def form(self) -> str:
        """A stable group of one member, in generation 1."""
        member_id = (await self.join()).member_id
        assert (await self.sync(member_id, 1, assign=True)).assignment == b"all"
        return str(member_id)


def on_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Run a coroutine as a test."""

    @wraps(test)
    def run(**fixtures: Any) -> None:
        asyncio.run(test(**fixtures))

    return run


def offset_of(number: int, group: str = "g", topic: str = "t") -> CoordinatorRecord:
    return offset_record(OffsetCommitKey(group, topic, 0), OffsetCommitValue(number))


def error_of(answer: "Future[Any]") -> ErrorCode:
    """Of an answer that must be there."""
    response = answer.result()
    if hasattr(response, "topics"):
        return ErrorCode(response.topics[0].partitions[0].error_code)
    return ErrorCode(response.error_code)


async def settle() -> None:
    """Let everything happen that can happen without anything new."""
    for _ in range(20):
        await sleep(0)


# -- coming to lead ------------------------------------------------------------------------------


@on_loop
async def test_groups_are_not_served_before_there_is_a_topic_and_a_leader() -> None:
    stage = Stage()
    assert stage.refusal() == ErrorCode.NOT_COORDINATOR
    stage.image = MetadataImage()
    assert stage.refusal() == ErrorCode.COORDINATOR_NOT_AVAILABLE


@on_loop
async def test_an_empty_partition_is_served_at_once() -> None:
    stage = Stage()
    stage.groups.became_leader(FakePartition())
    assert stage.refusal() == ErrorCode.NONE


@on_loop
async def test_what_is_stored_is_loaded_first() -> None:
    stage, partition = Stage(), FakePartition()
    partition.store(offset_of(7))
    partition.commit()
    stage.groups.became_leader(partition)
    assert stage.refusal() == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    await settle()
    assert stage.committed() == 7


@on_loop
async def test_others_have_their_turn_while_much_is_loaded() -> None:
    stage = Stage(partitions=2)
    partitions = [FakePartition(0), FakePartition(1)]
    for partition in partitions:
        for number in range(3_000):
            partition.store(offset_of(number, f"group-{number % 500}"))
        partition.commit()
        stage.groups.became_leader(partition)
    slices = -(-sum(partition.log.size_bytes for partition in partitions) // (1 << 16))
    turns = 0
    while any(shard.error for shard in stage.groups.shards):
        await sleep(0)
        turns += 1
    assert slices > 5
    assert turns >= slices


@on_loop
async def test_what_may_still_be_lost_is_not_shown() -> None:
    stage, partition = Stage(), FakePartition()
    partition.store(offset_of(7))
    partition.commit()
    partition.store(offset_of(8))
    stage.groups.became_leader(partition)
    await settle()
    assert stage.refusal() == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    partition.commit()
    await settle()
    assert stage.committed() == 8


@on_loop
async def test_a_group_goes_on_at_its_next_coordinator() -> None:
    stage, partition = Stage(), FakePartition()
    stage.groups.became_leader(partition)
    member_id = await stage.form()
    assert error_of(stage.commit(7, member_id, 1)) == ErrorCode.NONE
    stage.groups.resigned(0)
    partition.lead(3)
    stage.clock.ms += 10 * SESSION_MS
    stage.groups.became_leader(partition)
    await settle()
    stage.clock.ms += SESSION_MS - 1
    assert stage.heartbeat(member_id, 1) == ErrorCode.NONE
    assert error_of(stage.commit(8, member_id, 1)) == ErrorCode.NONE
    assert stage.committed() == 8


# -- losing it while loading -----------------------------------------------------------------------


@on_loop
async def test_a_load_ends_with_the_leadership() -> None:
    stage, partition = Stage(), FakePartition()
    partition.store(offset_of(7))
    stage.groups.became_leader(partition)
    await sleep(0)
    partition.follow()
    assert stage.refusal() == ErrorCode.NOT_COORDINATOR
    stage.groups.resigned(0)
    partition.commit()
    await settle()
    assert stage.refusal() == ErrorCode.NOT_COORDINATOR


@pytest.mark.parametrize("turns", range(6))
def test_a_newer_epoch_begins_the_load_anew(turns: int) -> None:
    """Wherever the former load was, nothing of it is left; with or without word of its end."""

    @on_loop
    async def test() -> None:
        for hears_of_it in (False, True):
            stage, partition = Stage(), FakePartition()
            partition.store(offset_of(7), offset_of(1, "other"))
            if turns % 2:
                partition.commit()
            stage.groups.became_leader(partition)
            for _ in range(turns):
                await sleep(0)
            partition.follow()
            if hears_of_it:
                stage.groups.resigned(0)
            partition.truncate(0)
            partition.lead(3)
            partition.store(offset_of(5))
            stage.groups.became_leader(partition)
            await settle()
            assert stage.refusal() == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
            partition.commit()
            await settle()
            assert (stage.committed(), stage.committed("other")) == (5, -1)

    test()


@on_loop
async def test_the_same_epoch_again_changes_nothing() -> None:
    stage, partition = Stage(), FakePartition()
    stage.groups.became_leader(partition)
    shard = stage.shard()
    stage.groups.became_leader(partition)
    assert stage.shard() is shard


@on_loop
async def test_partitions_wait_for_each_other_but_not_for_each_others_followers() -> None:
    stage = Stage(partitions=2)
    slow, quick = FakePartition(0), FakePartition(1)
    for partition in (slow, quick):
        partition.store(offset_of(7))
        stage.groups.became_leader(partition)
    quick.commit()
    await settle()
    assert [shard.error for shard in stage.groups.shards] == [
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.NONE,
    ]


@on_loop
async def test_a_compaction_in_the_middle_of_a_load() -> None:
    """It takes the tombstone away that was not read yet, and what it deleted, which was."""
    stage, partition = Stage(), FakePartition(segment_bytes=100_000)
    log = partition.log
    partition.store(offset_of(7))
    for number in range(1_000):
        partition.store(offset_of(number, f"group-{number}"))
    partition.store(CoordinatorRecord(offset_of(7).key, None))
    for number in range(1_000):
        partition.store(offset_of(number, f"other-{number}"))
    partition.commit()
    stage.groups.became_leader(partition)
    await sleep(0)  # the first slice
    for now_ms in (NOW_MS, NOW_MS + 2 * log.config.delete_retention_ms):
        assert compacted(log, partition.disk, now_ms)
    while stage.refusal() != ErrorCode.NONE:
        await sleep(0)
    assert stage.committed("group-3") == 3
    assert stage.committed() == -1


# -- losing it while serving -----------------------------------------------------------------------


@on_loop
async def test_everybody_who_waits_is_sent_on() -> None:
    stage, partition = Stage(), FakePartition()
    stage.groups.became_leader(partition)
    member_id = await stage.form()
    partition.commits_at_once = False
    commits = [stage.commit(1, member_id, 1), stage.commit(2, member_id, 1)]
    newcomer = stage.join()
    partition.follow()
    stage.groups.resigned(0)
    for answer in (*commits, newcomer):
        assert error_of(answer) == ErrorCode.NOT_COORDINATOR
    partition.commit()
    await settle()
    assert stage.refusal() == ErrorCode.NOT_COORDINATOR


@on_loop
async def test_a_sync_that_waits_is_sent_on() -> None:
    stage, partition = Stage(), FakePartition()
    stage.groups.became_leader(partition)
    member_id = (await stage.join()).member_id
    partition.commits_at_once = False
    answer = stage.sync(member_id, 1, assign=True)
    await settle()
    assert not answer.done()
    stage.groups.resigned(0)
    assert error_of(answer) == ErrorCode.NOT_COORDINATOR


@on_loop
async def test_offsets_of_another_leader_confirm_nothing() -> None:
    """The partition follows already, and the coordinator has not heard of it yet."""
    stage, partition = Stage(), FakePartition()
    stage.groups.became_leader(partition)
    member_id = await stage.form()
    shard = stage.shard()
    partition.commits_at_once = False
    end = partition.log.log_end_offset
    answer = stage.commit(9, member_id, 1)
    partition.leads = False
    partition.truncate(end)
    partition.store(offset_of(5), offset_of(6))
    partition.commit()
    assert stage.refusal() == ErrorCode.NOT_COORDINATOR
    shard.topics_deleted({bytes(16): "t"})
    await settle()
    assert not answer.done()
    stage.groups.resigned(0)
    assert error_of(answer) == ErrorCode.NOT_COORDINATOR


@on_loop
async def test_a_newer_epoch_voids_what_was_known() -> None:
    stage, partition = Stage(), FakePartition()
    stage.groups.became_leader(partition)
    assert error_of(stage.commit(1)) == ErrorCode.NONE
    partition.commits_at_once = False
    lost = stage.commit(9)
    partition.truncate(1)
    partition.lead(2)
    partition.store(offset_of(5))
    partition.commit()
    partition.lead(3)
    stage.groups.became_leader(partition)
    assert error_of(lost) == ErrorCode.NOT_COORDINATOR
    await settle()
    assert stage.committed() == 5


@on_loop
async def test_a_deleted_topic_is_nobodys() -> None:
    stage, partition = Stage(), FakePartition()
    stage.groups.became_leader(partition)
    stage.groups.resigned(0)
    again = FakePartition(leader_epoch=0)
    stage.groups.became_leader(again)
    assert stage.shard().partition is again


@on_loop
async def test_closing_answers_everybody() -> None:
    stage = Stage(partitions=2)
    serving, loading = FakePartition(0), FakePartition(1)
    loading.store(offset_of(1))
    for partition in (serving, loading):
        stage.groups.became_leader(partition)
    serving.commits_at_once = False
    name = next(name for name in "abcdef" if stage.refusal(name) == ErrorCode.NONE)
    answer = stage.commit(1, group=name)
    stage.groups.close()
    await settle()
    assert error_of(answer) == ErrorCode.NOT_COORDINATOR
    assert list(stage.groups.shards) == []


@on_loop
async def test_word_of_a_partition_that_is_gone_does_not_reach_its_successor() -> None:
    stage, former, successor = Stage(), FakePartition(), FakePartition(leader_epoch=0)
    stage.groups.leader_changed(former)
    assert stage.shard().partition is former
    stage.groups.leader_changed(successor)
    former.follow()
    stage.groups.leader_changed(former)
    assert stage.shard().partition is successor
    successor.follow()
    stage.groups.leader_changed(successor)
    assert list(stage.groups.shards) == []
    other = FakePartition()
    other.topic = "t"
    stage.groups.leader_changed(other)
    assert list(stage.groups.shards) == []


# -- persisting ------------------------------------------------------------------------------------


@on_loop
async def test_what_is_committed_is_replayed_in_the_order_of_the_log() -> None:
    """One commit has just been confirmed, the next one is at once."""
    stage, partition = Stage(), FakePartition()
    stage.groups.became_leader(partition)
    partition.commits_at_once = False
    first = stage.commit(1)
    partition.commit()
    partition.commits_at_once = True
    second = stage.commit(2)
    assert (error_of(first), error_of(second)) == (ErrorCode.NONE, ErrorCode.NONE)
    await settle()
    assert stage.committed() == 2


@on_loop
async def test_commits_are_confirmed_one_by_one() -> None:
    stage, partition = Stage(), FakePartition()
    stage.groups.became_leader(partition)
    partition.commits_at_once = False
    answers = [stage.commit(number) for number in range(4)]
    partition.commit(2)
    await settle()
    assert [answer.done() for answer in answers] == [True, True, False, False]
    assert stage.committed() == 1
    partition.commit()
    await settle()
    assert stage.committed() == 3


@on_loop
async def test_a_disk_that_refuses() -> None:
    stage, partition = Stage(), FakePartition()
    stage.groups.became_leader(partition)
    partition.refusal = StorageError("full")
    assert error_of(stage.commit(1)) == ErrorCode.COORDINATOR_NOT_AVAILABLE
    partition.refusal = None
    assert error_of(stage.commit(2)) == ErrorCode.NONE


@on_loop
async def test_a_wait_that_is_given_up_while_leading() -> None:
    stage, partition = Stage(), FakePartition()
    stage.groups.became_leader(partition)
    partition.commits_at_once = False
    answers = [stage.commit(1), stage.commit(2)]
    partition.give_up()
    await settle()
    assert [error_of(answer) for answer in answers] == [ErrorCode.COORDINATOR_NOT_AVAILABLE] * 2
    assert stage.committed() == -1


@on_loop
async def test_who_waits_for_too_long_is_told_and_what_it_waits_for_still_counts() -> None:
    stage, partition = Stage(offsets_commit_timeout_ms="5"), FakePartition()
    stage.groups.became_leader(partition)
    partition.commits_at_once = False
    answer = stage.commit(1)
    stage.clock.ms += 5
    await sleep(0.02)
    assert error_of(answer) == ErrorCode.COORDINATOR_NOT_AVAILABLE
    partition.commit()
    await settle()
    assert stage.committed() == 1


# -- damage ----------------------------------------------------------------------------------------


@on_loop
async def test_a_damaged_partition_does_not_take_the_others_along() -> None:
    stage = Stage(partitions=2)
    damaged, sound = FakePartition(0), FakePartition(1)
    for partition in (damaged, sound):
        partition.store(offset_of(7))
        partition.commit()
    damaged.log.active.log.file().node.data[-1] ^= 0xFF  # type: ignore[union-attr, attr-defined]
    for partition in (damaged, sound):
        stage.groups.became_leader(partition)
    await settle()
    assert [shard.error for shard in stage.groups.shards] == [
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NONE,
    ]


@pytest.mark.parametrize(
    "record",
    [
        CoordinatorRecord(b"\x00", b""),
        CoordinatorRecord(b"\x00\x01\x00\x09g", b""),
        CoordinatorRecord(b"\x00\x02\x00\x01\xff", b""),
        CoordinatorRecord(offset_of(1).key, b"\x00"),
        CoordinatorRecord(offset_of(1).key, b"\x00\x63" + bytes(40)),
    ],
)
def test_a_record_that_makes_no_sense(record: CoordinatorRecord) -> None:
    @on_loop
    async def test() -> None:
        stage, partition = Stage(), FakePartition()
        partition.store(record)
        partition.commit()
        stage.groups.became_leader(partition)
        await settle()
        assert stage.refusal() == ErrorCode.COORDINATOR_NOT_AVAILABLE

    test()


# -- deleted topics --------------------------------------------------------------------------------


@on_loop
async def test_offsets_go_with_their_topic() -> None:
    stage, partition = Stage(), FakePartition()
    stage.groups.became_leader(partition)
    assert error_of(stage.commit(1)) == ErrorCode.NONE
    stage.groups.topics_deleted({stage.image.topics["t"].topic_id: "t"})
    assert stage.committed() == -1


@on_loop
async def test_a_topic_that_is_deleted_while_its_offsets_are_loaded() -> None:
    stage, partition = Stage(), FakePartition()
    partition.store(offset_of(1), offset_of(2, "h", "kept"), offset_of(3, "g", "kept"))
    stage.groups.became_leader(partition)
    stage.groups.topics_deleted({bytes(16): "t"})
    await settle()
    partition.commit()
    await settle()
    assert stage.shard().groups.committed_topics() == {"kept"}
    partition.lead(2)
    stage.groups.became_leader(partition)
    await settle()
    assert stage.shard().groups.committed_topics() == {"kept"}


@on_loop
async def test_a_topic_that_was_deleted_while_nobody_led(monkeypatch: pytest.MonkeyPatch) -> None:
    """It goes after a while; a node that has just started may not have heard of all topics."""
    monkeypatch.setattr(group_coordinator_shard, "_SWEEP_AFTER_S", 0.5)
    stage, partition = Stage(), FakePartition()
    partition.store(offset_of(1), offset_of(2, "g", "late"), offset_of(3, "g", "gone"))
    partition.commit()
    stage.groups.became_leader(partition)
    await settle()
    assert stage.shard().groups.committed_topics() == {"t", "late", "gone"}
    stage.image = offsets_image(1, "t", "late")
    await sleep(0.6)
    assert stage.shard().groups.committed_topics() == {"t", "late"}
