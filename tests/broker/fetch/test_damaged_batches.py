"""A damaged batch is sent to nobody, and the node looks at once how much is damaged."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

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
