"""AlterPartition: what a leader may change, and what it may not."""

from collections.abc import Callable

import pytest

from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.alter_partition import AlterPartitionRequest, PartitionData
from tests.controller.small_cluster import SmallCluster


@pytest.fixture
def cluster() -> SmallCluster:
    cluster = SmallCluster(4)
    cluster.create([1, 2, 3])
    return cluster


def only(request: AlterPartitionRequest) -> PartitionData:
    return request.topics[0].partitions[0]


def test_shrinking_and_growing(cluster: SmallCluster) -> None:
    result = cluster.set_isr([1, 3])
    assert (result.error_code, result.leader_id, result.isr) == (0, 1, [1, 3])
    assert (result.leader_epoch, result.partition_epoch) == (0, 1)
    result = cluster.set_isr([3, 2, 1])
    assert (result.error_code, result.isr) == (0, [1, 2, 3])
    assert (result.leader_epoch, result.partition_epoch) == (0, 2)
    assert cluster.set_isr([1, 2, 3]).partition_epoch == 2
    assert cluster.records == []


def change(**fields: object) -> Callable[[AlterPartitionRequest], None]:
    def apply(request: AlterPartitionRequest) -> None:
        for name, value in fields.items():
            setattr(only(request), name, value)

    return apply


def forge_sender(request: AlterPartitionRequest) -> None:
    request.broker_id, request.broker_epoch = 2, 1


def forget_epoch(request: AlterPartitionRequest) -> None:
    only(request).new_isr_with_epochs[1].broker_epoch = -1


@pytest.mark.parametrize(
    ("isr", "distort", "error"),
    [
        ([1, 2], change(), ErrorCode.NONE),
        ([1, 2], change(partition_index=1), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ([1, 2], change(partition_index=-1), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ([1, 2], change(leader_epoch=0), ErrorCode.FENCED_LEADER_EPOCH),
        ([1, 2], change(leader_epoch=9), ErrorCode.NOT_CONTROLLER),
        ([1, 2], change(partition_epoch=0), ErrorCode.INVALID_UPDATE_VERSION),
        ([1, 2], change(partition_epoch=9), ErrorCode.NOT_CONTROLLER),
        ([1, 2], change(leader_recovery_state=1), ErrorCode.INVALID_REQUEST),
        ([1, 2], change(leader_recovery_state=5), ErrorCode.INVALID_REQUEST),
        ([1, 2], forge_sender, ErrorCode.INVALID_REQUEST),
        ([2, 3], change(), ErrorCode.INVALID_REQUEST),
        ([], change(), ErrorCode.INVALID_REQUEST),
        ([1, 4], change(), ErrorCode.INVALID_REQUEST),
        ([1, 9], change(), ErrorCode.INVALID_REQUEST),
        ([1, 2], forget_epoch, ErrorCode.INELIGIBLE_REPLICA),
        ([1, 2], change(new_isr_with_epochs=[], new_isr=[1, 2]), ErrorCode.NONE),
    ],
)
def test_what_is_refused(
    cluster: SmallCluster,
    isr: list[int],
    distort: Callable[[AlterPartitionRequest], None],
    error: ErrorCode,
) -> None:
    cluster.kill(1)
    cluster.restart(1)
    cluster.set_isr([2, 3, 1])
    assert cluster.elect(0) == 0
    cluster.set_isr([1])
    request = cluster.isr_request(isr)
    distort(request)
    assert cluster.alter(request).error_code == error
    assert bool(cluster.records) == (error == ErrorCode.NONE)


def test_a_request_that_is_one_change_behind_is_refused(cluster: SmallCluster) -> None:
    """Another replica may have left the set with that change, and must not come back unseen."""
    outdated = cluster.isr_request([1, 2, 3])
    cluster.set_isr([1, 3])
    assert cluster.alter(outdated).error_code == ErrorCode.INVALID_UPDATE_VERSION
    outdated = cluster.isr_request([1])
    cluster.kill(1)
    cluster.restart(1)
    outdated.broker_epoch = cluster.epoch(1)
    assert only(outdated).leader_epoch == cluster.partition().leader_epoch - 1
    assert cluster.alter(outdated).error_code == ErrorCode.FENCED_LEADER_EPOCH
    assert cluster.state() == (3, [3])


def test_by_id_and_by_name(cluster: SmallCluster) -> None:
    request = cluster.isr_request([1])
    request.topics[0].topic_id = b"?" * 16
    assert cluster.alter(request).error_code == ErrorCode.UNKNOWN_TOPIC_ID
    request.topics[0].topic_id = bytes(16)
    request.topics[0].topic_name = "u"
    assert cluster.alter(request).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    request.topics[0].topic_name = "t"
    assert cluster.alter(request).error_code == 0


def test_a_sender_that_is_another_now(cluster: SmallCluster) -> None:
    request = cluster.isr_request([1, 2])
    for broker_id, epoch, error in (
        (1, 77, ErrorCode.STALE_BROKER_EPOCH),
        (9, 0, ErrorCode.BROKER_ID_NOT_REGISTERED),
    ):
        request.broker_id, request.broker_epoch = broker_id, epoch
        answer = cluster.agree(cluster.controller.alter_partition(request))
        assert (answer.error_code, answer.topics) == (error, [])


def test_who_may_not_be_in_sync(cluster: SmallCluster) -> None:
    """The fenced, those about to leave, and who is not the one that was seen to catch up."""
    cluster.kill(2)
    assert cluster.state() == (1, [1, 3])
    assert cluster.set_isr([1, 2, 3]).error_code == ErrorCode.INELIGIBLE_REPLICA
    before = cluster.epoch(2)
    cluster.restart(2)
    stale = cluster.isr_request([1, 2, 3])
    only(stale).new_isr_with_epochs[1].broker_epoch = before
    assert cluster.alter(stale).error_code == ErrorCode.INELIGIBLE_REPLICA
    assert cluster.set_isr([1, 2, 3]).error_code == 0
    cluster.beat(3, want_shut_down=True)
    assert cluster.state() == (1, [1, 2])
    assert cluster.set_isr([1, 2, 3]).error_code == ErrorCode.INELIGIBLE_REPLICA


def test_a_leader_recovers_until_it_says_that_all_have_followed(cluster: SmallCluster) -> None:
    cluster.set_isr([1])
    cluster.kill(1)
    assert cluster.elect(1) == 0
    assert cluster.state() == (2, [2])
    assert cluster.partition().leader_recovery_state == 1
    request = cluster.isr_request([2, 3])
    only(request).leader_recovery_state = 1
    result = cluster.alter(request)
    assert (result.error_code, result.isr, result.leader_recovery_state) == (0, [2, 3], 1)
    result = cluster.set_isr([2, 3])
    assert (result.error_code, result.isr, result.leader_recovery_state) == (0, [2, 3], 0)
    request = cluster.isr_request([2, 3])
    only(request).leader_recovery_state = 1
    assert cluster.alter(request).error_code == ErrorCode.INVALID_REQUEST
