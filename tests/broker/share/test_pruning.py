"""The log of states is pruned: what every state has behind it is deleted, the rest is read."""

from pathlib import Path

import pytest

from barnabas.broker.coordinator import share_coordinator_shard
from barnabas.broker.node import Node
from barnabas.broker.replica.partition import Partition
from barnabas.metadata.image import SHARE_GROUP_STATE
from barnabas.share.state import SharePartitionKey
from barnabas.share.state_write import NO_START_OFFSET
from tests.broker.conftest import running_node
from tests.broker.share.share_client import Member, acquired, begin, loaded, produce, run, topic_id
from tests.broker.share.test_share_fetch import ACCEPT, RELEASE
from tests.support.wait import wait_until_async

SETTINGS = {
    "log.segment.bytes": "16384",
    "share.coordinator.snapshot.update.records.per.snapshot": "5",
    "share.coordinator.state.topic.num.partitions": "1",
}
JOBS = 60
WAIT_MS = 20_000


@pytest.fixture(autouse=True)
def small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(share_coordinator_shard, "_PRUNE_RECORDS", 10)
    monkeypatch.setattr(share_coordinator_shard, "_LONG_AGO_RECORDS", 30)


def states_partition(node: Node) -> Partition:
    partition = node.partitions.find(SHARE_GROUP_STATE, 0)
    assert isinstance(partition, Partition)
    return partition


def put_jobs(node: Node) -> None:
    for number in range(JOBS):
        produce(node, b"%d" % number)


def joined(node: Node, group_id: str) -> Member:
    begin(node, group_id, 0, start=0)
    member = Member(node, group_id)
    loaded(member, 0)
    return member


def work(member: Member, count: int) -> None:
    """Accept so many jobs, each with a change of the state."""
    for _ in range(count):
        ((first, last, _),) = acquired(member.fetch(max_records=1, mode=1))
        assert first == last
        assert not member.acknowledge((first, first, ACCEPT)).error_code


def prune(node: Node) -> None:
    """As the timer does, until nothing is left to be pruned."""
    (shard,) = node.share_coordinator.shards
    for _ in range(2):
        shard._prune()
        end_offset = states_partition(node).log.log_end_offset
        run(node, wait_until_async(lambda end=end_offset: shard.replayed_offset >= end))


def test_old_states_are_deleted_and_the_rest_is_read_after_a_restart(tmp_path: Path) -> None:
    with running_node(tmp_path, SETTINGS) as node:
        assert run(node, node.topic_creation.create(["t"])) == {"t": 0}
        quiet, gone, busy = (joined(node, name) for name in ("quiet", "gone", "busy"))
        put_jobs(node)
        assert acquired(quiet.fetch(max_records=3, mode=1)) == [(0, 2, 1)]
        quiet.acknowledge((0, 0, ACCEPT), (1, 1, RELEASE), (2, 2, ACCEPT))
        work(gone, 2)
        key = SharePartitionKey("gone", topic_id(node), 0)
        assert run(node, node.share_states.delete(key)).error_code == 0
        work(busy, JOBS - 1)
        before = states_partition(node).log.log_end_offset
        assert states_partition(node).log.log_start_offset == 0
        prune(node)
        assert states_partition(node).log.log_start_offset > before - 10

    with running_node(tmp_path, SETTINGS) as node:
        log = states_partition(node).log
        assert log.log_start_offset > before - 10
        busy, quiet = Member(node, "busy"), Member(node, "quiet")
        found = busy.fetch(0, max_wait_ms=WAIT_MS)
        assert acquired(found) == [(JOBS - 1, JOBS - 1, 1)]
        found = quiet.fetch(0, max_records=2, mode=1, max_wait_ms=WAIT_MS)
        assert acquired(found) == [(1, 1, 2), (3, 3, 1)]
        key = SharePartitionKey("gone", topic_id(node), 0)
        assert run(node, node.share_states.summary(key)).start_offset == NO_START_OFFSET


def test_nothing_is_deleted_that_a_state_needs(tmp_path: Path) -> None:
    with running_node(tmp_path, SETTINGS) as node:
        assert run(node, node.topic_creation.create(["t"])) == {"t": 0}
        busy = joined(node, "busy")
        put_jobs(node)
        work(busy, 20)
        needed = states_partition(node).log.log_end_offset
        joined(node, "quiet")
        work(busy, 20)
        (shard,) = node.share_coordinator.shards
        shard._prune()
        assert 0 < states_partition(node).log.log_start_offset <= needed
