"""A damaged batch is sent to nobody, and the node looks at once how much is damaged."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from barnabas.broker.net.dispatcher import RequestContext
from barnabas.metadata.image import PartitionImage
from barnabas.wire.errors import ErrorCode
from tests.broker.fetch.leader import FOLLOWER, Leader

CONSUMER = -1


@pytest.fixture
def leader() -> Iterator[Leader]:
    leader = Leader(1)
    leader.write(0)
    yield leader
    leader.loop.close()


@pytest.mark.parametrize("reader", [CONSUMER, FOLLOWER])
def test_who_finds_a_damaged_batch_has_it_looked_into(leader: Leader, reader: int) -> None:
    """The leader then steps aside for a replica that has the batch."""
    partition = leader.led[0]
    looked_into: list[tuple[str, int]] = []
    partition.host = replace(
        partition.host, on_rejected=lambda each, offset: looked_into.append((each.name, offset))
    )
    (segment,) = partition.log.segments
    segment.check_on_read()  # as after a clean stop
    disk: Any = partition.log.files.disk
    disk.nodes[segment.log.path].data[-1] ^= 1
    answer = leader.received(leader.send({0: 0}, (0, -1), replica_id=reader))
    (data,) = answer.responses[0].partitions
    assert (data.error_code, data.records) == (ErrorCode.KAFKA_STORAGE_ERROR, b"")
    assert looked_into == [("t-0", 0)]


@pytest.mark.parametrize(
    ("is_leader", "is_cut_off", "error"),
    [
        (True, False, ErrorCode.CORRUPT_MESSAGE),
        (True, True, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (False, False, ErrorCode.NOT_LEADER_OR_FOLLOWER),
    ],
)
def test_only_a_leader_in_contact_says_that_records_are_lost(
    leader: Leader,
    monkeypatch: pytest.MonkeyPatch,
    error: ErrorCode,
    *,
    is_leader: bool,
    is_cut_off: bool,
) -> None:
    """Clients end with this error. Another replica may have what a follower has lost."""
    monkeypatch.setattr(RequestContext, "disconnect_after_response", lambda *_: None)
    partition = leader.led[0]
    if not is_leader:
        partition.apply(PartitionImage(0, [1, FOLLOWER], [1, FOLLOWER], FOLLOWER, 6, 6))
    leader.lifecycle.is_cut_off = is_cut_off
    partition.log.damage.mark_lost(0, 1, "its checksum is wrong")
    epoch = partition.leader_epoch
    asked = leader.send({0: 0}, (0, -1), replica_id=CONSUMER, leader_epoch=epoch)
    (data,) = leader.received(asked).responses[0].partitions
    assert (data.error_code, data.records) == (error, b"")
