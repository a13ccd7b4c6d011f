"""Groups of all types seen from outside: listed, described, deleted."""

from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import NamedTuple

from barnabas.client.admin.classic_groups import describe_classic_group
from barnabas.client.admin.consumer_groups import describe_consumer_group
from barnabas.client.admin.doubt import Doubt
from barnabas.client.admin.group_members import GroupMembers, GroupType
from barnabas.client.admin.share_groups import describe_share_group
from barnabas.client.connect.broker_connection import BrokerConnection
from barnabas.client.connect.broker_errors import broker_error, check
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.errors import BarnabasError, BrokerError, UnknownGroup
from barnabas.wire.errors import ErrorCode
from barnabas.wire.message import Request, Response
from barnabas.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from barnabas.wire.messages.delete_groups import DeleteGroupsRequest
from barnabas.wire.messages.describe_groups import DescribeGroupsRequest
from barnabas.wire.messages.list_groups import ListGroupsRequest
from barnabas.wire.messages.share_group_describe import ShareGroupDescribeRequest

_SINCE_TYPES = 5  # ListGroups: before, all groups are classic


class GroupListing(NamedTuple):
    """A group in a list; brokers before version 4 of the request do not tell its state."""

    group_id: str
    state: str
    protocol_type: str
    coordinator: int
    group_type: GroupType = GroupType.UNKNOWN


class _Describer(NamedTuple):
    """How groups of one type are described, where the broker serves the request."""

    request: type[Request[Response]]
    describe: Callable[[BrokerConnection, str], Awaitable[GroupMembers]]


_DESCRIBERS: tuple[_Describer, ...] = (
    _Describer(ConsumerGroupDescribeRequest, describe_consumer_group),
    _Describer(DescribeGroupsRequest, describe_classic_group),
    _Describer(ShareGroupDescribeRequest, describe_share_group),
)
"""One for each type, in the order in which they are tried: another type is one line here."""


async def list_groups(
    cluster: ClusterClient, types: Collection[GroupType] = ()
) -> list[GroupListing]:
    """All groups of all coordinators, or those of some types."""

    async def attempt() -> list[GroupListing]:
        listings = []
        for node_id in cluster.brokers:
            connection = await cluster.connection(node_id)
            response = await connection.send(ListGroupsRequest())
            check(response.error_code, f"groups of broker {node_id}", needs="describe")
            is_typed = connection.version_for(ListGroupsRequest) >= _SINCE_TYPES
            listings += [
                GroupListing(
                    group.group_id,
                    group.group_state,
                    group.protocol_type,
                    node_id,
                    GroupType.of(group.group_type) if is_typed else GroupType.CLASSIC,
                )
                for group in response.groups
            ]
        return sorted(each for each in listings if not types or each.group_type in types)

    return await cluster.retrying(attempt)


async def describe_group(cluster: ClusterClient, group_id: str) -> GroupMembers:
    """One group of any type. Raises `UnknownGroup` if there is none of that name."""

    async def attempt() -> GroupMembers:
        connection = await cluster.coordinator(group_id)
        unknown = broker_error(ErrorCode.GROUP_ID_NOT_FOUND, f"group {group_id}")
        for request, describe in _DESCRIBERS:
            if not connection.serves(request):
                continue
            try:
                return await describe(connection, group_id)
            except UnknownGroup:
                continue  # it is of another type, or of none
            except BrokerError as error:
                if error.code is not ErrorCode.UNSUPPORTED_VERSION:
                    raise
        raise unknown

    return await cluster.retrying(attempt)


async def delete_groups(
    cluster: ClusterClient, group_ids: Sequence[str]
) -> dict[str, BarnabasError | None]:
    """Delete groups without members; says for each why it could not be, if so."""
    results: dict[str, BarnabasError | None] = {}
    for group_id in group_ids:
        try:
            await _delete_group(cluster, group_id)
            results[group_id] = None
        except BarnabasError as error:
            results[group_id] = error
    return results


async def _delete_group(cluster: ClusterClient, group_id: str) -> None:
    request = DeleteGroupsRequest(groups_names=[group_id])
    doubt = Doubt()

    async def attempt() -> None:
        with doubt.unless_done(ErrorCode.GROUP_ID_NOT_FOUND):
            response = await (await cluster.coordinator(group_id)).send(request)
            for result in response.results:
                check(result.error_code, f"group {result.group_id}")

    await cluster.retrying(attempt)
