"""Replication between nodes: real logs, real handlers, real fetchers."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from barnabas.broker.fetch.replica_entry import ReplicaEntry
from barnabas.log import OsDisk
from barnabas.log.reader import LogReader
from barnabas.log.storage import File
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.fetch import (
    EpochEndOffset,
    FetchPartition,
    FetchRequest,
    FetchTopic,
)
from barnabas.wire.messages.metadata_records import RemoveTopicRecord
from tests.broker.verbs import values_of
from tests.replication.cluster import TOPIC, TOPIC_ID, Cluster, HeldLine, run
from tests.support.wait import wait_until_async


def ends(cluster: Cluster, index: int = 0) -> list[int]:
    return [n.partition(index).log.log_end_offset for n in cluster.nodes.values()]


def marks(cluster: Cluster, index: int = 0) -> list[int]:
    return [n.partition(index).high_watermark for n in cluster.nodes.values()]


@pytest.mark.parametrize("version", [7, 12, 13])
@pytest.mark.parametrize("acks", [1, -1])
def test_records_reach_everybody(tmp_path: Path, version: int, acks: int) -> None:
    async def test(cluster: Cluster) -> None:
        cluster.create([1, 2, 3])
        for number in range(20):
            answer = await cluster.produce(1, b"%d" % number, acks=acks, version=version)
            assert (answer.error_code, answer.base_offset) == (0, number)
            if acks == -1:
                assert ends(cluster) == [number + 1] * 3
        await wait_until_async(lambda: marks(cluster) == [20] * 3)
        for node_id in (1, 2, 3):
            assert await cluster.stored(node_id) == [b"%d" % number for number in range(20)]
        logs = {bytes(n.partition().log.read(0, 1 << 20)) for n in cluster.nodes.values()}
        assert len(logs) == 1

    run(tmp_path, test)


def test_who_does_not_lead_says_who_does(tmp_path: Path) -> None:
    async def test(cluster: Cluster) -> None:
        cluster.create([1, 2], [2, 3])
        answer = await cluster.produce(2, b"v")
        assert answer.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert answer.current_leader is not None
        assert (answer.current_leader.leader_id, answer.current_leader.leader_epoch) == (1, 0)
        answer = await cluster.produce(1, b"v", index=1, version=7)
        assert answer.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER, "no replica at all"
        data = await cluster.consume(1, index=1)
        assert data.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert data.current_leader is not None
        assert data.current_leader.leader_id == 2
        assert (await cluster.consume(2, version=10)).error_code == (
            ErrorCode.NOT_LEADER_OR_FOLLOWER
        ), "an old consumer reads at the leader only"

    run(tmp_path, test)


def test_nothing_is_shown_before_all_in_sync_have_it(tmp_path: Path) -> None:
    async def test(cluster: Cluster) -> None:
        cluster.create([1, 2, 3])
        await cluster.produce(1, b"a")
        cluster.cuts |= {(3, 1)}
        cluster.nodes[3].wires.lines[1].cut()
        answer = await cluster.produce(1, b"b", timeout_ms=100)
        assert answer.error_code == ErrorCode.REQUEST_TIMED_OUT
        assert await cluster.stored(1) == [b"a"]
        between = await cluster.consume(1, 2)
        assert (between.error_code, between.high_watermark, between.records) == (0, 1, b"")
        assert (await cluster.consume(1, 3)).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
        waiting = asyncio.ensure_future(cluster.produce(1, b"c"))
        await wait_until_async(lambda: cluster.isr() == [1, 2])
        assert (await waiting).error_code == 0
        assert await cluster.stored(1) == [b"a", b"b", b"c"]
        cluster.cuts.clear()
        await wait_until_async(lambda: cluster.isr() == [1, 2, 3])
        await wait_until_async(lambda: marks(cluster) == [3] * 3)

    run(tmp_path, test)


def test_a_quiet_follower_stays_in_sync_without_traffic(tmp_path: Path) -> None:
    async def test(cluster: Cluster) -> None:
        cluster.create([1, 2, 3])
        await cluster.produce(1, b"a")
        await wait_until_async(lambda: marks(cluster) == [1] * 3)
        calls = cluster.nodes[2].wires.calls
        await asyncio.sleep(1.6)
        assert cluster.isr() == [1, 2, 3]
        assert cluster.alterations == 0
        assert cluster.nodes[2].wires.calls - calls <= 12, "a long poll after the other"
        assert (await cluster.produce(1, b"b")).error_code == 0
        assert cluster.alterations == 0

    run(tmp_path, test)


def test_a_new_leader_goes_on_and_the_old_one_follows(tmp_path: Path) -> None:
    async def test(cluster: Cluster) -> None:
        cluster.create([1, 2, 3])
        await cluster.produce(1, b"a")
        cluster.deaf = {1}
        cluster.cuts = {(2, 1), (3, 1), (1, 2), (1, 3)}
        for node_id in (2, 3):
            cluster.nodes[node_id].wires.lines[1].cut()
        lost = asyncio.ensure_future(cluster.produce(1, b"lost", b"lost too", timeout_ms=20_000))
        await asyncio.sleep(0.02)
        cluster.fail_over(2, [2, 3])
        for number in range(3):
            answer = await cluster.produce(2, b"b%d" % number)
            assert (answer.error_code, answer.base_offset) == (0, 1 + number)
        cluster.deaf = set()
        cluster.cuts.clear()
        cluster.nodes[1].learn(cluster.agreed[-1:])
        assert (await lost).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        await wait_until_async(lambda: cluster.isr() == [1, 2, 3])
        await wait_until_async(lambda: marks(cluster) == [4] * 3)
        for node_id in (1, 2, 3):
            assert await cluster.stored(node_id) == [b"a", b"b0", b"b1", b"b2"]

    run(tmp_path, test)


def test_leadership_goes_round_under_load(tmp_path: Path) -> None:
    """Every acknowledged record is there at the end, once, in the order of the acknowledgements."""

    async def test(cluster: Cluster) -> None:
        cluster.create([1, 2, 3])
        acknowledged: list[tuple[int, bytes]] = []
        stopping = False

        async def load() -> None:
            number = 0
            while not stopping:
                number += 1
                leader = cluster.image.topics[TOPIC].partitions[0].leader
                answer = await cluster.produce(leader, b"%d" % number, timeout_ms=500)
                if answer.error_code == 0:
                    acknowledged.append((answer.base_offset, b"%d" % number))
                await asyncio.sleep(0.001)  # time passes only when all wait

        loading = asyncio.ensure_future(load())
        for turn in range(12):
            enough = len(acknowledged) + 5
            await wait_until_async(lambda enough=enough: len(acknowledged) >= enough)
            leader = cluster.image.topics[TOPIC].partitions[0].leader
            others = [member for member in cluster.isr() if member != leader]
            if others:
                isr = others if turn % 2 else cluster.isr()
                cluster.fail_over(others[turn % len(others)], isr)
        stopping = True
        await loading
        await wait_until_async(lambda: cluster.isr() == [1, 2, 3])
        await wait_until_async(lambda: len(set(marks(cluster))) == len(set(ends(cluster))) == 1)
        for node_id in (1, 2, 3):
            stored = await cluster.stored(node_id)
            assert all(stored[offset] == value for offset, value in acknowledged)
        assert len(acknowledged) > 50

    run(tmp_path, test)


@pytest.mark.parametrize("cleanly", [True, False])
def test_a_node_comes_back(tmp_path: Path, cleanly: bool) -> None:
    async def test(cluster: Cluster) -> None:
        cluster.create([1, 2, 3])
        await cluster.produce(1, b"a")
        await cluster.stop(1, cleanly=cleanly)
        cluster.fail_over(2, [2, 3])
        await cluster.produce(2, b"b")
        cluster.start(1)
        await wait_until_async(lambda: cluster.isr() == [1, 2, 3])
        await wait_until_async(lambda: marks(cluster) == [2] * 3)
        assert await cluster.stored(1) == [b"a", b"b"]

    run(tmp_path, test)


def test_all_nodes_come_back(tmp_path: Path) -> None:
    async def test(cluster: Cluster) -> None:
        cluster.create([1, 2, 3])
        await cluster.produce(1, b"a")
        await wait_until_async(lambda: marks(cluster) == [1] * 3)
        for node_id in (1, 2, 3):
            await cluster.stop(node_id, cleanly=node_id != 3)
        cluster.fail_over(2, [1, 2, 3])
        cluster.start(2)
        assert await cluster.stored(2) == [b"a"], "what was committed stays so"
        cluster.start(1, 3)
        assert (await cluster.produce(2, b"b")).error_code == 0
        await wait_until_async(lambda: marks(cluster) == [2] * 3)

    run(tmp_path, test)


def test_too_few_replicas(tmp_path: Path) -> None:
    async def test(cluster: Cluster) -> None:
        cluster.create([1, 2, 3], min_insync_replicas="2")
        await cluster.produce(1, b"a")
        await cluster.stop(2)
        await cluster.stop(3)
        cluster.is_controller_there = False
        waiting = asyncio.ensure_future(cluster.produce(1, b"b"))
        await asyncio.sleep(0.02)
        cluster.fence(2, 3)
        cluster.change(isr=[1])
        answer = await waiting
        assert answer.error_code == ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
        answer = await cluster.produce(1, b"c")
        assert (answer.error_code, answer.base_offset) == (ErrorCode.NOT_ENOUGH_REPLICAS, -1)
        assert (await cluster.produce(1, b"d", acks=1)).error_code == 0
        assert await cluster.stored(1) == [b"a", b"b", b"d"]

    run(tmp_path, test)


def test_a_controller_that_is_not_there_is_asked_again(tmp_path: Path) -> None:
    async def test(cluster: Cluster) -> None:
        cluster.create([1, 2, 3])
        await cluster.produce(1, b"a")
        cluster.is_controller_there = False
        await cluster.stop(3)
        answer = await cluster.produce(1, b"b", timeout_ms=2_000)
        assert answer.error_code == ErrorCode.REQUEST_TIMED_OUT
        cluster.is_controller_there = True
        await wait_until_async(lambda: cluster.isr() == [1, 2])
        await wait_until_async(lambda: marks(cluster) == [2] * 2)

    run(tmp_path, test)


def test_flushed_topics_count_what_is_on_the_disk(tmp_path: Path) -> None:
    async def test(cluster: Cluster) -> None:
        cluster.create([1, 2, 3], flush_messages="1")
        for number in range(5):
            assert (await cluster.produce(1, b"%d" % number)).error_code == 0
            for node in cluster.nodes.values():
                assert node.partition().log.flushed_offset == number + 1
        await wait_until_async(lambda: marks(cluster) == [5] * 3)

    run(tmp_path, test)


def test_a_follower_far_behind_begins_where_the_leader_does(tmp_path: Path) -> None:
    async def test(cluster: Cluster) -> None:
        cluster.create([1, 2, 3], segment_bytes="1024")
        await cluster.produce(1, b"a")
        await cluster.stop(3)
        cluster.change(isr=[1, 2])
        for number in range(50):
            await cluster.produce(1, b"%050d" % number)
        job = cluster.nodes[1].partition().log.retention.delete_records_before(40)
        assert job is not None
        job.run()
        cluster.start(3)
        await wait_until_async(lambda: cluster.isr() == [1, 2, 3])
        log = cluster.nodes[3].partition().log
        assert (log.log_start_offset, log.log_end_offset) == (40, 51)
        await wait_until_async(lambda: cluster.nodes[2].partition().log.log_start_offset == 40)
        assert values_of(await cluster.consume(3, 40))[0] == b"%050d" % 39
        assert values_of(await cluster.consume(3, 50))[-1] == b"%050d" % 49

    run(tmp_path, test)


def test_deleted_records_are_deleted_everywhere(tmp_path: Path) -> None:
    async def test(cluster: Cluster) -> None:
        cluster.create([1, 2, 3])
        for number in range(6):
            await cluster.produce(1, b"%d" % number)
        low, error = await cluster.delete_records(1, 4)
        assert (low, error) == (4, 0)
        starts = [n.partition().log.log_start_offset for n in cluster.nodes.values()]
        assert starts == [4, 4, 4]
        assert await cluster.delete_records(2, 5) == (-1, ErrorCode.NOT_LEADER_OR_FOLLOWER)
        cluster.cuts = {(3, 1)}
        cluster.nodes[3].wires.lines[1].cut()
        assert await cluster.delete_records(1, 5, 100) == (-1, ErrorCode.REQUEST_TIMED_OUT)
        cluster.fence(3)
        assert await cluster.delete_records(1, 6) == (6, 0)

    run(tmp_path, test, settings={"replica.fetch.wait.max.ms": "20000"})


def test_a_deletion_is_answered_when_eligible_leaders_have_made_it(tmp_path: Path) -> None:
    """One of them may be elected as soon as it is back, and would bring the records back."""

    async def test(cluster: Cluster) -> None:
        cluster.create([1, 2, 3])
        for number in range(6):
            await cluster.produce(1, b"%d" % number)
        cluster.cuts = {(3, 1)}
        cluster.nodes[3].wires.lines[1].cut()
        cluster.fence(3)
        cluster.change(isr=[1, 2], eligible_leader_replicas=[3])
        assert await cluster.delete_records(1, 5, 1_000) == (-1, ErrorCode.REQUEST_TIMED_OUT)
        cluster.cuts.clear()
        assert await cluster.delete_records(1, 5) == (5, 0)
        starts = [n.partition().log.log_start_offset for n in cluster.nodes.values()]
        assert starts == [5, 5, 5]

    run(tmp_path, test)


@pytest.mark.parametrize("leader", [1, 2])
def test_a_replica_joins_when_it_has_deleted_what_clients_were_told_is_deleted(
    tmp_path: Path, leader: int
) -> None:
    """It was down when the request was answered; the leader may be another one since."""

    async def test(cluster: Cluster) -> None:
        cluster.create([1, 2, 3])
        for number in range(6):
            await cluster.produce(1, b"%d" % number)
        line = HeldLine()
        cluster.cuts = {(3, 1)}
        cluster.nodes[3].wires.lines[1].cut()
        cluster.nodes[3].wires.lines[leader] = line
        cluster.fence(3)
        cluster.change(isr=[1, 2])
        assert await cluster.delete_records(1, 4) == (4, 0)
        if leader == 2:
            cluster.fail_over(2, [1, 2])
        cluster.unfence(3)
        cluster.cuts.clear()
        leading = cluster.nodes[leader].partition().leading
        assert leading is not None
        await wait_until_async(lambda: leading.followers[3].log_end_offset == 6)
        await asyncio.sleep(2)
        assert cluster.nodes[3].partition().log.log_start_offset == 0
        assert cluster.isr() == [1, 2], "it has all records, and some that are deleted"
        line.let_go()
        await wait_until_async(lambda: cluster.isr() == [1, 2, 3])
        assert cluster.nodes[3].partition().log.log_start_offset == 4

    run(tmp_path, test)


def test_replicas_move(tmp_path: Path) -> None:
    async def test(cluster: Cluster) -> None:
        cluster.create([1, 2], [2, 1])
        await cluster.produce(1, b"a")
        await cluster.produce(2, b"b", index=1)
        cluster.change(replicas=[1, 2, 3])
        await wait_until_async(lambda: cluster.isr() == [1, 2, 3])
        cluster.change(replicas=[3, 1], isr=[3, 1], leader=3)
        assert (await cluster.produce(3, b"c")).error_code == 0
        await wait_until_async(
            lambda: (
                not (tmp_path / "2" / "t-0").exists()
                and not list((tmp_path / "2").glob("*-delete"))
            )
        )
        assert cluster.nodes[2].partitions.get(TOPIC, 0) is None
        assert (tmp_path / "2" / "t-1").exists()
        assert (await cluster.consume(2)).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert await cluster.stored(3) == [b"a", b"c"]
        assert await cluster.stored(2, index=1) == [b"b"]

    run(tmp_path, test)


def test_a_topic_made_anew_while_a_node_was_away(tmp_path: Path) -> None:
    async def test(cluster: Cluster) -> None:
        cluster.create([1, 2, 3])
        for _ in range(5):
            await cluster.produce(1, b"old")
        await cluster.stop(3)
        cluster.change(isr=[1, 2])
        cluster.agree(RemoveTopicRecord(TOPIC_ID))
        new_id = bytes(reversed(TOPIC_ID))
        cluster.create([1, 2, 3], topic_id=new_id)
        # What was agreed before is not brought about again, as a snapshot would not.
        cluster.agreed = cluster.image.snapshot()
        cluster.start(3)
        assert cluster.nodes[3].partition().log.log_end_offset == 0
        assert cluster.nodes[3].partition().topic_id == new_id
        assert list((tmp_path / "3").glob("t-0.*-stray"))

    run(tmp_path, test)


def test_consumers_are_sent_to_the_closest_replica(tmp_path: Path) -> None:
    async def test(cluster: Cluster) -> None:
        cluster.create([1, 2, 3])
        await cluster.produce(1, b"a")
        await wait_until_async(lambda: marks(cluster) == [1] * 3)
        near = await cluster.consume(1, rack="b", max_wait_ms=5000)
        assert (near.preferred_read_replica, near.records) == (2, b"")
        assert values_of(await cluster.consume(2, rack="b")) == [b"a"]
        assert (await cluster.consume(1, rack="a")).preferred_read_replica == -1
        assert (await cluster.consume(1, rack="elsewhere")).preferred_read_replica == -1
        assert (await cluster.consume(1)).preferred_read_replica == -1
        cluster.change(isr=[1, 3])
        far = await cluster.consume(1, rack="b")
        assert (far.preferred_read_replica, values_of(far)) == (-1, [b"a"])

    run(tmp_path, test, racks={1: "a", 2: "b", 3: "c"})


def test_a_consumer_that_does_not_go_to_the_closest_replica_is_served(tmp_path: Path) -> None:
    async def test(cluster: Cluster) -> None:
        cluster.create([1, 2, 3])
        await cluster.produce(1, b"a")
        await wait_until_async(lambda: marks(cluster) == [1] * 3)
        asked = FetchPartition(0, fetch_offset=0, partition_max_bytes=1 << 20)
        topics = [FetchTopic(TOPIC, TOPIC_ID, [asked])]
        first = FetchRequest(session_epoch=0, topics=topics, rack_id="b", max_bytes=1 << 20)
        answer = await cluster.ask(1, first, 18)
        near = answer.responses[0].partitions[0]
        assert (near.preferred_read_replica, near.records) == (2, b"")
        again = FetchRequest(
            session_id=answer.session_id, session_epoch=1, rack_id="b", max_bytes=1 << 20
        )
        here = (await cluster.ask(1, again, 18)).responses[0].partitions[0]
        assert (here.preferred_read_replica, values_of(here)) == (-1, [b"a"])

    run(tmp_path, test, racks={1: "a", 2: "b", 3: "c"})


def test_a_follower_wakes_its_consumers(tmp_path: Path) -> None:
    async def test(cluster: Cluster) -> None:
        cluster.create([1, 2, 3])
        await cluster.produce(1, b"a")
        waiting = asyncio.ensure_future(cluster.consume(2, 1, max_wait_ms=20_000))
        await asyncio.sleep(0.05)
        await cluster.produce(1, b"b")
        assert values_of(await asyncio.wait_for(waiting, 15)) == [b"b"]
        assert (await cluster.consume(2, 5)).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert (await cluster.consume(2, 0, epoch=3)).error_code == (ErrorCode.UNKNOWN_LEADER_EPOCH)

    run(tmp_path, test, settings={"replica.fetch.wait.max.ms": "20000"})


def test_many_partitions_and_a_new_one_do_not_wait_for_a_long_poll(tmp_path: Path) -> None:
    async def test(cluster: Cluster) -> None:
        cluster.create(*([1, 2, 3] for _ in range(50)))
        await asyncio.sleep(0.1)
        started = cluster.loop.time()
        for index in range(0, 50, 10):
            assert (await cluster.produce(1, b"v", index=index)).error_code == 0
        cluster.fail_over(2, [1, 2, 3], index=1)
        assert (await cluster.produce(2, b"v", index=1)).error_code == 0
        cluster.fail_over(3, [1, 2, 3], index=2)
        assert (await cluster.produce(3, b"v", index=2)).error_code == 0
        assert cluster.loop.time() - started < 15

    run(tmp_path, test, settings={"replica.fetch.wait.max.ms": "20000"})


def test_a_new_leader_does_not_know_yet_what_is_committed(tmp_path: Path) -> None:
    async def test(cluster: Cluster) -> None:
        cluster.create([1, 2, 3])
        await cluster.produce(1, b"a")
        await wait_until_async(lambda: marks(cluster) == [1] * 3)
        cluster.cuts = {(2, 1), (3, 1)}
        for node_id in (2, 3):
            cluster.nodes[node_id].wires.lines[1].cut()
        await cluster.produce(1, b"b", acks=1)
        cluster.fail_over(1, [1, 2, 3])  # in another epoch
        assert await cluster.latest(1) == (ErrorCode.OFFSET_NOT_AVAILABLE, -1)
        assert await cluster.latest(1, version=4) == (ErrorCode.LEADER_NOT_AVAILABLE, -1)
        cluster.cuts.clear()
        await wait_until_async(lambda: marks(cluster) == [2] * 3)
        assert await cluster.latest(1) == (0, 2)
        assert await cluster.latest(2) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)

    run(tmp_path, test)


class Full(OsDisk):
    """A disk on which logs do not grow."""

    is_full = False

    def open(self, path: str, *, create: bool = False) -> File:
        file = super().open(path, create=create)
        write = file.write

        def guarded(data: bytes, at: int) -> None:
            if self.is_full:
                raise OSError(28, "No space left on device")
            write(data, at)

        class Guarded:
            def __getattr__(self, name: str) -> Any:
                return getattr(file, name)

        guard: Any = Guarded()
        guard.write = guarded
        return guard  # type: ignore[no-any-return]


def test_a_follower_with_a_full_disk_leaves_and_returns(tmp_path: Path) -> None:
    async def test(cluster: Cluster) -> None:
        disk = Full()
        await cluster.stop(3)
        cluster.start(3, disk=disk)
        cluster.create([1, 2, 3], [1, 3, 2])
        await cluster.produce(1, b"a")
        disk.is_full = True
        answer = await cluster.produce(1, b"b")
        assert answer.error_code == 0, "without the third, after a while"
        assert cluster.isr() == [1, 2]
        calls = cluster.nodes[3].wires.calls
        await asyncio.sleep(0.3)
        assert cluster.nodes[3].wires.calls - calls < 10, "it does not try without a pause"
        disk.is_full = False
        await wait_until_async(lambda: cluster.isr() == [1, 2, 3])
        assert await cluster.stored(3) == [b"a", b"b"]

    run(tmp_path, test)


def test_a_leader_that_sends_garbage_is_not_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = LogReader.read
    broken = False

    def damaged(*args: Any, **kwargs: Any) -> memoryview:
        data = bytearray(read(*args, **kwargs))
        if data and broken:
            data[-1] ^= 1
        return memoryview(data)

    monkeypatch.setattr(LogReader, "read", damaged)

    async def test(cluster: Cluster) -> None:
        nonlocal broken
        cluster.create([1, 2])
        await cluster.produce(1, b"a")
        broken = True
        await cluster.produce(1, b"b", acks=1)
        await asyncio.sleep(0.1)
        assert ends(cluster) == [2, 1]
        broken = False
        await wait_until_async(lambda: ends(cluster) == [2, 2])

    run(tmp_path, test, nodes=2)


@pytest.mark.parametrize("version", [7, 12])
def test_an_answer_that_waits_ends_with_the_leadership_or_the_topic(
    tmp_path: Path, version: int
) -> None:
    async def test(cluster: Cluster) -> None:
        cluster.create([1, 2, 3])
        await cluster.stop(3)
        waiting = asyncio.ensure_future(cluster.produce(1, b"a", version=version))
        await asyncio.sleep(0.02)
        cluster.fail_over(2, [2])
        assert (await waiting).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        cluster.fail_over(1, [1, 2, 3])
        waiting = asyncio.ensure_future(cluster.produce(1, b"a", version=version))
        await asyncio.sleep(0.02)
        cluster.agree(RemoveTopicRecord(TOPIC_ID))
        answer = await waiting
        assert answer.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert answer.base_offset == -1

    run(tmp_path, test)


def test_replicas_that_moved_while_a_node_was_away(tmp_path: Path) -> None:
    async def test(cluster: Cluster) -> None:
        cluster.create([1, 2], [2, 1])
        await cluster.produce(1, b"a")
        await cluster.stop(2)
        cluster.change(isr=[1], replicas=[1, 3], leader=1)
        cluster.agreed = cluster.image.snapshot()
        cluster.start(2)
        partitions = cluster.nodes[2].partitions
        assert partitions.get(TOPIC, 0) is None
        assert partitions.get(TOPIC, 1) is not None
        partitions.set_strays_aside(keep=set())
        await wait_until_async(lambda: not list((tmp_path / "2").glob("t-0*")))
        assert (tmp_path / "2" / "t-1").exists()

    run(tmp_path, test)


def test_a_replica_on_a_disk_that_refuses_is_opened_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("barnabas.broker.replica.partitions._TRY_AGAIN_S", 0.05)

    async def test(cluster: Cluster) -> None:
        blocked = tmp_path / "3" / "t-0"
        blocked.write_text("in the way")
        cluster.create([1, 2, 3])
        assert cluster.nodes[3].partitions.get(TOPIC, 0) is None
        cluster.nodes[3].partitions.set_strays_aside(keep=set())
        blocked.unlink()
        await wait_until_async(lambda: cluster.nodes[3].partitions.get(TOPIC, 0) is not None)
        assert (await cluster.produce(1, b"a")).error_code == 0

    run(tmp_path, test)


def test_who_asks_a_leader_that_does_not_know_it_yet_keeps_what_it_has(tmp_path: Path) -> None:
    """It has more than the new leader, and asks before that one has heard that it leads.

    What was asked stays in the session; when it is read again, the logs were not compared.
    """

    async def test(cluster: Cluster) -> None:
        cluster.create([1, 2, 3])
        await cluster.produce(1, b"a")
        for node_id in (2, 3):
            await wait_until_async(
                lambda n=node_id: cluster.nodes[n].partition().high_watermark == 1
            )
        await cluster.stop(3)
        await cluster.produce(1, b"b", acks=1)
        await wait_until_async(lambda: ends(cluster) == [2, 2])
        cluster.start(3)
        follower, leader = cluster.nodes[2].partition(), cluster.nodes[3].partition()
        assert (follower.log.log_end_offset, leader.log.log_end_offset) == (2, 1)
        entry = ReplicaEntry((TOPIC_ID, 0), leader, 2, cluster.nodes[2].epoch)
        asked = FetchPartition(0, 1, 2, 0, 0, 1 << 20)
        entry.update(asked)
        assert entry.error is ErrorCode.UNKNOWN_LEADER_EPOCH
        cluster.fail_over(3, [3, 2])
        assert entry.error is not ErrorCode.OFFSET_OUT_OF_RANGE
        entry.update(asked)
        assert entry.read(1 << 20, min_one=True).diverging_epoch == EpochEndOffset(0, 1)
        assert follower.log.log_end_offset >= 1
        await wait_until_async(lambda: ends(cluster)[1:] == [1, 1])

    run(tmp_path, test)


def test_an_offset_alone_makes_nobody_throw_records_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def test(cluster: Cluster) -> None:
        cluster.create([1, 2])
        await cluster.produce(1, b"a")
        await cluster.produce(1, b"b")
        monkeypatch.setattr(ReplicaEntry, "error", ErrorCode.OFFSET_OUT_OF_RANGE)
        await cluster.produce(1, b"c", acks=1)
        await asyncio.sleep(0.1)
        assert ends(cluster) == [3, 2]
        monkeypatch.undo()
        await wait_until_async(lambda: ends(cluster) == [3, 3])

    run(tmp_path, test, nodes=2)


class Synced(OsDisk):
    """A disk that notes what is synced."""

    def __init__(self) -> None:
        self.synced: list[str] = []

    def open(self, path: str, *, create: bool = False) -> File:
        file = super().open(path, create=create)

        def noted() -> None:
            file.sync()
            self.synced.append(path)

        class Noting:
            def __getattr__(self, name: str) -> Any:
                return getattr(file, name)

        noting: Any = Noting()
        noting.sync = noted
        return noting  # type: ignore[no-any-return]

    def sync_directory(self, path: str) -> None:
        super().sync_directory(path)
        self.synced.append(path)


def test_a_clean_stop_syncs_the_state_of_each_log(tmp_path: Path) -> None:
    async def test(cluster: Cluster) -> None:
        disk = Synced()
        await cluster.stop(1)
        cluster.start(1, disk=disk)
        cluster.create([1], [1])
        await cluster.produce(1, b"v")
        await cluster.produce(1, b"v", index=1)
        node = cluster.nodes[1]
        directories = [node.partition(index).log.directory for index in range(2)]
        disk.synced.clear()
        await cluster.stop(1)
        for directory in directories:
            behind = disk.synced[disk.synced.index(f"{directory}/log.state") :]
            assert directory in behind, "the name of the file is synced after its content"

    run(tmp_path, test, nodes=1)
