"""One fetcher for each node that leads partitions which this node follows."""

from asyncio import gather
from collections.abc import Callable

from barnabas.broker.follower.replica_fetcher import FetcherHost, ReplicaFetcher
from barnabas.broker.net.peers import Peers
from barnabas.broker.replica.partition import Partition
from barnabas.broker.settings.config import BrokerConfig
from barnabas.log import DeleteJob


class ReplicaFetchers:
    """Assigns every follower partition to the fetcher of its leader."""

    def __init__(
        self,
        peers: Peers,
        config: BrokerConfig,
        *,
        node_id: int,
        broker_epoch: Callable[[], int],
        flush: Callable[[Partition], None],
        remove: Callable[[DeleteJob], None],
    ) -> None:
        """`flush` starts a flush of a partition, and `remove` deletes files in the background."""
        self._host = FetcherHost(node_id, peers, config, broker_epoch, flush, remove)
        self._fetchers: dict[int, ReplicaFetcher] = {}
        self._following: dict[Partition, ReplicaFetcher] = {}
        self._is_closed = False

    def apply(self, partition: Partition) -> None:
        """The leader epoch of a partition has changed, or it is removed:
        `Partitions.leaders_changed`."""
        former = self._following.pop(partition, None)
        if former is not None:
            former.leave(partition)
        leader_id = partition.leader_id
        if partition.deleted or partition.is_leader or leader_id < 0 or self._is_closed:
            return
        if leader_id == self._host.node_id:
            return  # it is in doubt, and another node is to lead
        if partition.doubt.is_only_hole:
            # Not in a new leader epoch before the controller has answered, and the hole is cut
            # off: its leader would see a log without a gap at its end, and let it join again.
            return
        fetcher = self._fetchers.get(leader_id)
        if fetcher is None:
            # An idle fetcher is kept: it keeps the requests to one leader in order.
            fetcher = self._fetchers[leader_id] = ReplicaFetcher(leader_id, self._host)
        fetcher.follow(partition)
        self._following[partition] = fetcher

    async def close(self) -> None:
        self._is_closed = True
        tasks = [fetcher.stop() for fetcher in self._fetchers.values()]
        self._fetchers.clear()
        self._following.clear()
        await gather(*tasks, return_exceptions=True)
