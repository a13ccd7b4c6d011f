"""The brokers of a cluster, those included that are registered and not there."""

from typing import NamedTuple

from barnabas.client.admin.doubt import Doubt
from barnabas.client.connect.broker_errors import check
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.wire.acl_codes import AclOperation
from barnabas.wire.endpoint import Address
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.describe_cluster import DescribeClusterRequest
from barnabas.wire.messages.unregister_broker import UnregisterBrokerRequest


class BrokerDescription(NamedTuple):
    """A registered broker; a fenced one leads no partitions, usually because it is down."""

    node_id: int
    address: Address
    rack: str | None
    fenced: bool


class ClusterDescription(NamedTuple):
    """A cluster with its brokers in order."""

    cluster_id: str
    controller_id: int
    brokers: list[BrokerDescription]


async def describe_cluster(cluster: ClusterClient, *, ask_any: bool = False) -> ClusterDescription:
    """Who belongs to the cluster. Old brokers leave the fenced ones out.

    The controller knows best; with `ask_any`, whichever broker answers tells what it has heard.
    """

    async def attempt() -> ClusterDescription:
        connection = await (cluster.any_connection() if ask_any else cluster.controller())
        request = DescribeClusterRequest()
        if connection.version_for(DescribeClusterRequest) >= 2:
            request.include_fenced_brokers = True
        response = await connection.send(request, timeout_ms=cluster.request_timeout_ms)
        check(response.error_code, "the cluster", response.error_message)
        brokers = [
            BrokerDescription(
                broker.broker_id, Address(broker.host, broker.port), broker.rack, broker.is_fenced
            )
            for broker in response.brokers
        ]
        return ClusterDescription(response.cluster_id, response.controller_id, sorted(brokers))

    return await cluster.retrying(attempt)


async def cluster_operations(cluster: ClusterClient) -> frozenset[AclOperation]:
    """What this client may do with the cluster as a whole."""
    request = DescribeClusterRequest(include_cluster_authorized_operations=True)

    async def attempt() -> frozenset[AclOperation]:
        connection = await cluster.any_connection()
        response = await connection.send(request, timeout_ms=cluster.request_timeout_ms)
        check(response.error_code, "the cluster", response.error_message)
        bits = max(0, response.cluster_authorized_operations)
        return frozenset(each for each in AclOperation if bits >> each & 1)

    return await cluster.retrying(attempt)


async def unregister_broker(cluster: ClusterClient, node_id: int) -> None:
    """Forget a broker that is down and will not come back."""
    request = UnregisterBrokerRequest(broker_id=node_id)
    doubt = Doubt()

    async def attempt() -> None:
        with doubt.unless_done(ErrorCode.BROKER_ID_NOT_REGISTERED):
            response = await (await cluster.controller()).send(
                request, timeout_ms=cluster.request_timeout_ms
            )
            check(response.error_code, f"broker {node_id}", response.error_message, needs="alter")

    await cluster.retrying(attempt)
