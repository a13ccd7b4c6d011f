"""What leaders tell of records in flight, with our own field of DescribeShareGroupOffsets."""

from asyncio import sleep
from typing import Any

from barnabas.broker.handlers import describe_share_group_offsets
from barnabas.broker.net.connection import Connection
from barnabas.broker.net.dispatcher import RequestContext
from barnabas.broker.node import Node
from barnabas.wire.errors import ErrorCode
from barnabas.wire.framing import RequestHeader
from barnabas.wire.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
)
from tests.broker.share.share_client import Member, acquired, begin, loaded, produce, run

SETTINGS: dict[str, str] = {}


def ask(node: Node, group_id: str, topics: list[tuple[str, list[int]]] | None) -> Any:
    asked = (
        None
        if topics is None
        else [DescribeShareGroupOffsetsRequestTopic(*topic) for topic in topics]
    )
    request = DescribeShareGroupOffsetsRequest(
        [DescribeShareGroupOffsetsRequestGroup(group_id, asked)], of_leader=True
    )
    connection: Any = Connection(lambda *_: None, node.connections)
    context = RequestContext(RequestHeader(90, 1, 1, "test"), connection)
    (group,) = run(node, describe_share_group_offsets.handle(node, request, context)).groups
    return group


def described(node: Node, group_id: str) -> Any:
    (topic,) = ask(node, group_id, [("t", [0])]).topics
    (partition,) = topic.partitions
    return partition


def counts(node: Node, group_id: str) -> tuple[int, int, int, dict[int, int]]:
    in_flight = described(node, group_id).in_flight
    deliveries = {each.delivery_count: each.record_count for each in in_flight.deliveries}
    return in_flight.acquired, in_flight.released, in_flight.done, deliveries


def test_the_leader_counts_records_by_what_became_of_them(local_node: Node) -> None:
    begin(local_node, "counted", 0)
    member = Member(local_node, "counted")
    loaded(member, 0)
    assert counts(local_node, "counted") == (0, 0, 0, {})
    first = produce(local_node, *[b"x"] * 10)
    assert acquired(member.fetch()) == [(first, first + 9, 1)]
    assert counts(local_node, "counted") == (10, 0, 0, {1: 10})
    # Released, rejected, accepted, and three that stay with the member.
    member.acknowledge((first + 1, first + 2, [2]), (first + 3, first + 3, [3]))
    member.acknowledge((first + 4, first + 6, [1]))
    assert counts(local_node, "counted") == (4, 2, 4, {1: 6})
    assert acquired(member.fetch()) == [(first + 1, first + 2, 2)]
    assert counts(local_node, "counted") == (6, 0, 4, {1: 4, 2: 2})
    partition = described(local_node, "counted")
    assert (partition.start_offset, partition.error_code) == (first, 0)
    member.acknowledge((first, first + 2, [1]))
    assert counts(local_node, "counted") == (3, 0, 0, {1: 3})


def test_without_consumers_the_stored_state_is_told(local_node: Node) -> None:
    begin(local_node, "stored", 0)
    member = Member(local_node, "stored")
    loaded(member, 0)
    first = produce(local_node, *[b"x"] * 4)
    assert acquired(member.fetch()) == [(first, first + 3, 1)]
    member.acknowledge((first + 1, first + 1, [1]))
    member.leave()
    member.disconnect()

    async def stored() -> None:
        while local_node.share_partitions.of_group("stored"):
            await sleep(0)

    run(local_node, stored())
    assert counts(local_node, "stored") == (0, 3, 1, {1: 3})
    # It was only looked at: nothing is kept here.
    assert local_node.share_partitions.of_group("stored") == []


def test_what_is_not_led_here_is_an_error(local_node: Node) -> None:
    (unknown,) = ask(local_node, "nobody", [("missing", [0])]).topics
    assert unknown.partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    begin(local_node, "somebody", 0)
    assert described(local_node, "nobody").error_code == ErrorCode.INVALID_REQUEST
    assert described(local_node, "nobody").in_flight is None
    assert ask(local_node, "nobody", None).error_code == ErrorCode.INVALID_REQUEST
