"""Committed offsets of many groups: one request for each coordinator, and what has moved."""

import pytest

from barnabas.client.admin.group_offsets import committed_of_groups
from barnabas.client.admin.groups import GroupListing
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)
from tests.client.fake_cluster import FakeCluster
from tests.client.virtual_time import run

MOVED, FORBIDDEN = "moved", "forbidden"
COMMITTED = {TopicPartition("t", 0): 5}


@pytest.mark.parametrize(
    "error", [ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS]
)
def test_groups_whose_coordinator_has_moved_are_asked_again(error: ErrorCode) -> None:
    """Node 2 has listed them; node 1 coordinates them by now."""

    def answer(node_id: int, request: OffsetFetchRequest) -> OffsetFetchResponse:
        return OffsetFetchResponse(groups=[_of(node_id, each.group_id) for each in request.groups])

    def _of(node_id: int, group_id: str) -> OffsetFetchResponseGroup:
        group = OffsetFetchResponseGroup(group_id)
        if group_id == FORBIDDEN:
            group.error_code = ErrorCode.GROUP_AUTHORIZATION_FAILED
        elif group_id == MOVED and node_id == 2:
            group.error_code = error
        else:
            partitions = [OffsetFetchResponsePartitions(0, 5)]
            group.topics = [OffsetFetchResponseTopics(name="t", partitions=partitions)]
        return group

    async def main() -> None:
        fake = FakeCluster()
        fake.handlers[OffsetFetchRequest] = answer
        listings = [GroupListing(name, "Empty", "consumer", 2) for name in ("a", MOVED, FORBIDDEN)]
        async with fake.client() as cluster:
            assert await committed_of_groups(cluster, listings) == {
                "a": COMMITTED,
                MOVED: COMMITTED,
            }
        asked = [
            [each.group_id for each in r.groups]
            for *_, r in fake.seen
            if isinstance(r, OffsetFetchRequest)
        ]
        assert asked == [["a", MOVED, FORBIDDEN], [MOVED]]

    run(main())
