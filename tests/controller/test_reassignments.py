"""Moving replicas: what happens when, and what can be called off."""

import pytest

from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from tests.controller.small_cluster import SmallCluster


@pytest.fixture
def cluster() -> SmallCluster:
    cluster = SmallCluster(6)
    cluster.create([1, 2, 3])
    return cluster


def moving(cluster: SmallCluster) -> tuple[list[int], list[int], list[int]]:
    partition = cluster.partition()
    return partition.replicas, partition.adding_replicas, partition.removing_replicas


def test_a_move_from_here_to_there(cluster: SmallCluster) -> None:
    assert cluster.move([4, 5, 3]) == 0
    assert moving(cluster) == ([4, 5, 3, 1, 2], [4, 5], [1, 2])
    assert cluster.state() == (1, [1, 2, 3])
    cluster.set_isr([4, 3, 1, 2])
    assert moving(cluster) == ([4, 5, 3, 1, 2], [4, 5], [1, 2])
    epoch = cluster.partition().leader_epoch
    result = cluster.set_isr([4, 5, 3, 1, 2])
    assert result.error_code == ErrorCode.NEW_LEADER_ELECTED
    assert moving(cluster) == ([4, 5, 3], [], [])
    assert cluster.state() == (4, [4, 5, 3])
    assert cluster.partition().leader_epoch == epoch + 1


def test_the_leader_may_stay(cluster: SmallCluster) -> None:
    cluster.move([1, 4])
    result = cluster.set_isr([1, 4, 2])
    assert (result.error_code, result.isr) == (0, [1, 4])
    assert moving(cluster) == ([1, 4], [], [])
    assert cluster.partition().leader_epoch == 1  # a broker lost its replica


def test_growing_and_reordering(cluster: SmallCluster) -> None:
    assert cluster.move([1, 2, 3, 4]) == 0
    cluster.set_isr([1, 2, 3, 4])
    assert moving(cluster) == ([1, 2, 3, 4], [], [])
    assert cluster.partition().leader_epoch == 0
    assert cluster.move([3, 2, 1, 4]) == 0
    assert moving(cluster) == ([3, 2, 1, 4], [], [])
    assert cluster.state() == (1, [1, 2, 3, 4])
    assert cluster.move([3, 2, 1, 4]) == 0
    assert cluster.records == []


def test_shrinking_is_over_at_once(cluster: SmallCluster) -> None:
    assert cluster.move([3]) == 0
    assert moving(cluster) == ([3], [], [])
    assert cluster.state() == (3, [3])


def test_the_last_in_sync_stays_until_another_is(cluster: SmallCluster) -> None:
    cluster.set_isr([1])
    assert cluster.move([2, 3]) == 0
    assert moving(cluster) == ([2, 3, 1], [], [1])
    assert cluster.state() == (1, [1])
    cluster.set_isr([1, 3])
    assert moving(cluster) == ([2, 3], [], [])
    assert cluster.state() == (3, [3])


def test_calling_off(cluster: SmallCluster) -> None:
    assert cluster.move(None) == ErrorCode.NO_REASSIGNMENT_IN_PROGRESS
    cluster.move([4, 5, 1])
    cluster.set_isr([4, 1, 2])
    assert cluster.move(None) == 0
    assert moving(cluster) == ([1, 2, 3], [], [])
    assert cluster.state() == (1, [1, 2])


def test_calling_off_when_only_a_new_one_is_in_sync(cluster: SmallCluster) -> None:
    cluster.move([4, 5])
    cluster.set_isr([4, 1])
    cluster.kill(1)
    assert cluster.state() == (4, [4])
    assert cluster.move(None) == ErrorCode.INVALID_REPLICATION_ASSIGNMENT
    assert cluster.move([6]) == ErrorCode.INVALID_REPLICATION_ASSIGNMENT
    assert cluster.records == []
    assert cluster.move([4, 6]) == 0
    assert moving(cluster) == ([4, 6, 1, 2, 3], [4, 6], [1, 2, 3])


def test_calling_off_keeps_as_many_copies_as_an_acknowledgement_needs() -> None:
    cluster = SmallCluster(6)
    cluster.create([1, 2, 3], **{"min.insync.replicas": "2"})
    cluster.move([4, 5, 3])
    cluster.set_isr([1, 2, 3, 4])
    cluster.kill(1)
    cluster.kill(2)
    assert sorted(cluster.partition().isr) == [3, 4]
    assert cluster.move(None) == ErrorCode.INVALID_REPLICATION_ASSIGNMENT
    assert cluster.move([5, 6, 3]) == ErrorCode.INVALID_REPLICATION_ASSIGNMENT
    assert cluster.records == []
    assert cluster.move([4, 6, 3]) == 0  # both stay
    cluster.restart(1)
    cluster.set_isr([3, 4, 1])
    assert cluster.move(None) == 0
    assert sorted(cluster.partition().isr) == [1, 3]


def test_a_move_ends_with_as_many_copies_as_an_acknowledgement_needs() -> None:
    cluster = SmallCluster(6)
    cluster.create([1, 2, 3], **{"min.insync.replicas": "2"})
    cluster.kill(1)
    cluster.kill(2)
    cluster.move([1, 2, 4])
    cluster.set_isr([3, 4])
    assert moving(cluster) == ([1, 2, 4, 3], [4], [3])
    assert sorted(cluster.partition().isr) == [3, 4]
    cluster.restart(2)
    cluster.set_isr([3, 4, 2])
    assert moving(cluster) == ([1, 2, 4], [], [])
    assert sorted(cluster.partition().isr) == [2, 4]


def test_shrinking_waits_for_as_many_copies_as_an_acknowledgement_needs() -> None:
    cluster = SmallCluster(6)
    cluster.create([1, 2, 3], **{"min.insync.replicas": "2"})
    cluster.set_isr([1, 3])
    assert cluster.move([1, 2]) == 0
    assert moving(cluster) == ([1, 2, 3], [], [3])
    cluster.set_isr([1])  # 3 may be elected: it has all committed records
    assert moving(cluster) == ([1, 2, 3], [], [3])
    assert cluster.partition().elr == [3]
    cluster.set_isr([1, 2])
    assert moving(cluster) == ([1, 2], [], [])
    assert cluster.state() == (1, [1, 2])


def test_fewer_replicas_than_an_acknowledgement_needs() -> None:
    cluster = SmallCluster(6)
    cluster.create([1, 2, 3], **{"min.insync.replicas": "2"})
    assert cluster.move([3]) == 0
    assert moving(cluster) == ([3], [], [])


def test_changing_ones_mind(cluster: SmallCluster) -> None:
    cluster.move([4, 5])
    assert cluster.move([5, 6]) == 0
    assert moving(cluster) == ([5, 6, 1, 2, 3], [5, 6], [1, 2, 3])


@pytest.mark.parametrize(
    ("replicas", "error"),
    [
        ([], ErrorCode.INVALID_REPLICATION_ASSIGNMENT),
        ([4, 4], ErrorCode.INVALID_REPLICATION_ASSIGNMENT),
        ([4, 9], ErrorCode.INVALID_REPLICATION_ASSIGNMENT),
        ([4, -1], ErrorCode.INVALID_REPLICATION_ASSIGNMENT),
    ],
)
def test_what_is_no_assignment(cluster: SmallCluster, replicas: list[int], error: int) -> None:
    assert cluster.move(replicas) == error
    assert cluster.records == []


def test_what_is_not_there_or_not_allowed(cluster: SmallCluster) -> None:
    assert cluster.move([1], 1) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert cluster.move([1], name="u") == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert cluster.move([4, 5], may_resize=False) == ErrorCode.INVALID_REPLICATION_FACTOR
    assert cluster.move([4, 5, 6], may_resize=False) == 0
    assert cluster.move([1, 5, 6], may_resize=False) == 0


def test_a_new_replica_that_dies(cluster: SmallCluster) -> None:
    cluster.move([4, 1, 2])
    cluster.kill(4)
    assert moving(cluster) == ([4, 1, 2, 3], [4], [3])
    cluster.restart(4)
    cluster.set_isr([1, 4])
    assert moving(cluster) == ([4, 1, 2], [], [])


def test_what_is_going_on(cluster: SmallCluster) -> None:
    cluster.create([1], [2], name="u")
    cluster.move([4, 2, 3])
    cluster.move([5], 1, "u")

    def listed(topics: list[ListPartitionReassignmentsTopics] | None) -> list[tuple[object, ...]]:
        request = ListPartitionReassignmentsRequest(topics=topics)
        answer = cluster.controller.list_partition_reassignments(request).answer
        return [
            (t.name, p.partition_index, p.replicas, p.adding_replicas, p.removing_replicas)
            for t in answer.topics
            for p in t.partitions
        ]

    first, second = ("t", 0, [4, 2, 3, 1], [4], [1]), ("u", 1, [5, 2], [5], [2])
    assert listed(None) == [first, second]
    assert listed([ListPartitionReassignmentsTopics("u", [0, 1, 9])]) == [second]
    assert listed([ListPartitionReassignmentsTopics("v", [0])]) == []
