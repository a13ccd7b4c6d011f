"""Looking after a cluster: its topics, configurations, groups and offsets."""

from barnabas.aio.waiting import Client
from barnabas.client.brokers import ClusterDescription, describe_cluster
from barnabas.client.cluster import Cluster
from barnabas.client.connection import DEFAULT_REQUEST_TIMEOUT_MS


class Admin(Client):
    """Looks after a cluster.

        async with barnabas.aio.Admin("localhost:9092") as admin:
            print(await admin.cluster())

    One may be used by many threads or tasks at once.
    """

    def __init__(
        self,
        bootstrap_servers: str = "localhost:9092",
        *,
        request_timeout_ms: int = DEFAULT_REQUEST_TIMEOUT_MS,
        client_id: str = "barnabas",
    ) -> None:
        self._cluster = Cluster(
            bootstrap_servers, client_id=client_id, request_timeout_ms=request_timeout_ms
        )
        super().__init__(self._cluster)

    async def cluster(self) -> ClusterDescription:
        """The brokers of the cluster, and which of them is the controller."""
        return await self._wait(describe_cluster(self._cluster))
