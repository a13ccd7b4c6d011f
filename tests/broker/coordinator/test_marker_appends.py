"""Markers are appended for the leadership that they were sent to, and for no later one."""

import asyncio

from barnabas.broker.coordinator.marker_appends import MarkerAppends
from barnabas.broker.replica.partition import Partition
from barnabas.broker.runtime.clock import Clock
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from tests.broker.replica.test_partition_transactions import PRODUCER, Replica


class One:
    """A node with one partition."""

    def __init__(self, partition: Partition) -> None:
        self.partition = partition

    def find(self, _topic: str, _index: int) -> Partition:
        return self.partition


def ask(replica: Replica, *leader_epochs: int) -> int:
    """The error code for the marker of a transaction, which is committed at once if it is taken."""
    loop = replica.partition.host.loop
    marker = WritableTxnMarker(
        PRODUCER, 0, True, [WritableTxnMarkerTopic("t", [0], list(leader_epochs))]
    )
    appends = MarkerAppends(loop, Clock(), One(replica.partition))  # type: ignore[arg-type]
    answer = appends.write(WriteTxnMarkersRequest([marker]))
    replica.replicate()
    response = loop.run_until_complete(asyncio.wait_for(answer, 60))
    return response.markers[0].topics[0].partitions[0].error_code


def test_a_late_marker_does_not_end_the_next_transaction() -> None:
    loop = asyncio.new_event_loop()
    replica = Replica(loop)
    replica.assign(leader=1)
    sent_to = replica.partition.leader_epoch
    replica.write()
    replica.assign(leader=2)
    replica.assign(leader=1)
    now = replica.partition.leader_epoch
    assert ask(replica, now) == ErrorCode.NONE  # it was asked for again, and has ended
    replica.write(1)
    end = replica.log.log_end_offset
    assert ask(replica, sent_to) == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert ask(replica, now + 1) == ErrorCode.NOT_LEADER_OR_FOLLOWER, "it has to hear of it first"
    assert replica.log.log_end_offset == end
    assert ask(replica) == ErrorCode.NONE, "operators name no leadership"
    assert replica.log.log_end_offset == end + 1
    loop.close()
