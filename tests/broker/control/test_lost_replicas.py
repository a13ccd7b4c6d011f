"""A node trusts its disk only once that keeps what the controller knows of lost records."""

import asyncio

import pytest

from barnabas.broker.control import lost_replicas
from barnabas.broker.control.lost_replicas import LostReplicas
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsResponse,
    DirectoryResult,
    PartitionResult,
    TopicResult,
)
from tests.broker.replica.test_replica_opener import OLD, Node
from tests.broker.replica.test_suspect_records import FLUSHED, suspect_replica
from tests.support.wait import wait_until_async


class Controller:
    """Gives the same answer to every report."""

    def __init__(self, error: ErrorCode = ErrorCode.NONE) -> None:
        self._error = error

    async def call(
        self, request: AssignReplicasToDirsRequest, *, lane: str
    ) -> AssignReplicasToDirsResponse:
        return AssignReplicasToDirsResponse(
            directories=[
                DirectoryResult(
                    directory.directory_id,
                    [
                        TopicResult(
                            topic.topic_id,
                            [
                                PartitionResult(each.partition_index, self._error)
                                for each in topic.partitions
                            ],
                        )
                        for topic in directory.topics
                    ],
                )
                for directory in request.directories
            ]
        )


def reports_of_node(controller: Controller | None = None) -> LostReplicas:
    return LostReplicas(
        asyncio.get_running_loop(),
        controller or Controller(),  # type: ignore[arg-type]
        node_id=1,
        broker_epoch=lambda: 1,
        refetch=lambda _: None,
        reapply=lambda _: None,
    )


def test_a_disk_that_refuses_to_keep_a_doubt_is_not_trusted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The node does not vouch for it: a power loss stays the reason to doubt at the next start."""
    monkeypatch.setattr(lost_replicas, "_ASK_AGAIN_S", 0.01)
    node = Node()
    partition = suspect_replica(node)
    node.disk.capacity = node.disk.used()

    async def run() -> None:
        reports = reports_of_node()
        reports.start()
        reports.doubt(partition)
        assert reports.has_unsettled, "the controller has not heard of it"
        await wait_until_async(lambda: reports.is_settled)
        assert reports.has_unsettled
        assert partition.doubt
        node.disk.capacity = 1 << 30
        await wait_until_async(lambda: reports.is_settled and not reports.has_unsettled)
        assert not partition.doubt
        reports.close()

    asyncio.run(run())
    partition.log.abandon()
    node.is_suspect = False
    assert node.opened(OLD).doubt.suspect_from == FLUSHED


def test_a_full_disk_that_is_reported_settles_no_doubt(monkeypatch: pytest.MonkeyPatch) -> None:
    """The replica's fetcher reports it when it can't truncate, and the controller knows no more of
    the doubt for that."""
    monkeypatch.setattr(lost_replicas, "_ASK_AGAIN_S", 3600.0)
    node = Node()
    partition = suspect_replica(node)
    node.disk.capacity = node.disk.used()

    async def run() -> None:
        reports = reports_of_node()
        reports.start()
        reports.doubt(partition)
        assert reports.has_unsettled, "the controller has not heard of it"
        await wait_until_async(lambda: reports.is_settled)
        assert reports.has_unsettled
        reports.unwritable(partition.topic, partition.topic_id, partition.index)
        assert not reports.is_settled
        await wait_until_async(lambda: reports.is_settled)
        assert reports.has_unsettled
        assert partition.doubt
        reports.close()

    asyncio.run(run())


def test_a_doubt_that_can_wait_outlasts_the_process() -> None:
    """No other replica can replace this one yet. Others may be back at the next start."""
    node = Node()
    partition = suspect_replica(node)

    async def run() -> None:
        reports = reports_of_node(Controller(ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE))
        reports.start()
        reports.doubt(partition)
        await wait_until_async(lambda: reports.is_settled)
        assert partition.doubt
        assert not reports.has_unsettled
        reports.close()

    asyncio.run(run())
    partition.log.abandon()
    node.is_suspect = False
    assert node.opened(OLD).doubt.suspect_from == FLUSHED
