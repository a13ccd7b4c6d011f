"""A node trusts its disk only once that keeps what the controller knows of lost records."""

import asyncio

import pytest

from barnabas.broker.control import lost_replicas
from barnabas.broker.control.lost_replicas import LostReplicas
from barnabas.wire.messages.assign_replicas_to_dirs import AssignReplicasToDirsResponse
from tests.broker.replica.test_replica_opener import OLD, Node
from tests.broker.replica.test_suspect_records import FLUSHED, suspect_replica
from tests.support.wait import wait_until_async


class Controller:
    """Accepts every report."""

    async def call(self, request: object, *, lane: str) -> AssignReplicasToDirsResponse:
        return AssignReplicasToDirsResponse()


def test_a_disk_that_refuses_to_keep_a_doubt_is_not_trusted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The node does not vouch for it: a power loss stays the reason to doubt at the next start."""
    monkeypatch.setattr(lost_replicas, "_ASK_AGAIN_S", 0.01)
    node = Node()
    partition = suspect_replica(node)
    node.disk.capacity = node.disk.used()

    async def run() -> None:
        reports = LostReplicas(
            asyncio.get_running_loop(),
            Controller(),  # type: ignore[arg-type]
            node_id=1,
            broker_epoch=lambda: 1,
            refetch=lambda _: None,
            reapply=lambda _: None,
        )
        reports.start()
        reports.doubt(partition)
        await wait_until_async(lambda: reports.has_unsettled)
        assert partition.doubt
        node.disk.capacity = 1 << 30
        await wait_until_async(lambda: reports.is_settled and not reports.has_unsettled)
        assert not partition.doubt
        reports.close()

    asyncio.run(run())
    partition.log.abandon()
    node.is_suspect = False
    assert node.opened(OLD).doubt.suspect_from == FLUSHED
