"""Consumer groups seen from outside: listed, described, deleted."""

from collections.abc import Sequence
from typing import NamedTuple

from barnabas.client.connect.broker_errors import broker_error, check
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.group.consumer_protocol import decode_assignment
from barnabas.errors import BarnabasError
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.delete_groups import DeleteGroupsRequest
from barnabas.wire.messages.describe_groups import DescribedGroupMember, DescribeGroupsRequest
from barnabas.wire.messages.list_groups import ListGroupsRequest

_CONSUMER = "consumer"
_DEAD = "Dead"  # what brokers used to say of a group that they do not know


class GroupListing(NamedTuple):
    """A group in a list; brokers before version 4 of the request do not tell its state."""

    group_id: str
    state: str
    protocol_type: str
    coordinator: int


class MemberDescription(NamedTuple):
    """A member and what it reads."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    host: str
    partitions: list[TopicPartition]


class GroupMembers(NamedTuple):
    """A group with its members."""

    group_id: str
    state: str
    protocol_type: str
    assignor: str
    members: list[MemberDescription]


async def list_groups(cluster: ClusterClient) -> list[GroupListing]:
    """All groups of all coordinators."""

    async def attempt() -> list[GroupListing]:
        listings = []
        for node_id in cluster.brokers:
            response = await (await cluster.connection(node_id)).send(ListGroupsRequest())
            check(response.error_code, f"groups of broker {node_id}")
            listings += [
                GroupListing(group.group_id, group.group_state, group.protocol_type, node_id)
                for group in response.groups
            ]
        return sorted(listings)

    return await cluster.retrying(attempt)


async def describe_group(cluster: ClusterClient, group_id: str) -> GroupMembers:
    """One group. Raises `BrokerError` if there is none of that name."""
    request = DescribeGroupsRequest(groups=[group_id])

    async def attempt() -> GroupMembers:
        response = await (await cluster.coordinator(group_id)).send(request)
        (group,) = response.groups
        check(group.error_code, f"group {group_id}")
        if group.group_state == _DEAD:
            raise broker_error(ErrorCode.GROUP_ID_NOT_FOUND, f"group {group_id}")
        is_consumer = group.protocol_type in (_CONSUMER, "")
        return GroupMembers(
            group_id,
            group.group_state,
            group.protocol_type,
            group.protocol_data,
            sorted(_member_of(member, is_consumer) for member in group.members),
        )

    return await cluster.retrying(attempt)


async def delete_groups(
    cluster: ClusterClient, group_ids: Sequence[str]
) -> dict[str, BarnabasError | None]:
    """Delete groups without members; says for each why it could not be, if so."""
    results: dict[str, BarnabasError | None] = {}
    for group_id in group_ids:

        async def attempt(group_id: str = group_id) -> None:
            request = DeleteGroupsRequest(groups_names=[group_id])
            response = await (await cluster.coordinator(group_id)).send(request)
            for result in response.results:
                check(result.error_code, f"group {result.group_id}")

        try:
            await cluster.retrying(attempt)
            results[group_id] = None
        except BarnabasError as error:
            results[group_id] = error
    return results


def _member_of(member: DescribedGroupMember, is_consumer: bool) -> MemberDescription:
    return MemberDescription(
        member.member_id,
        member.group_instance_id,
        member.client_id,
        member.client_host,
        sorted(decode_assignment(member.member_assignment)) if is_consumer else [],
    )
