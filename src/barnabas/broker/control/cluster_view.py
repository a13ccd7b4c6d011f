"""The brokers of the cluster, and where each is found: by clients, and by other nodes."""

from collections.abc import Iterator, Mapping

from barnabas.broker.control.departures import Departures
from barnabas.broker.net.connection import Connection
from barnabas.broker.quorum.quorum import Quorum
from barnabas.metadata.image import BrokerImage, MetadataImage
from barnabas.wire.endpoint import Address


class ClusterView:
    def __init__(
        self,
        node_id: int,
        image: MetadataImage,
        quorum: Quorum,
        departures: Departures,
        voters: Mapping[int, Address],
    ) -> None:
        """`voters` are those that the settings name."""
        self._node_id = node_id
        self._image = image
        self._quorum = quorum
        self._departures = departures
        self._voters = voters
        self.advertised = Address("localhost", 0)
        """This node's listening or advertised address; set once it listens."""

    @property
    def controller_id(self) -> int:
        """The node that clients may use as the controller: any node forwards their requests."""
        leader_id = self._quorum.leader_id
        leader = None if leader_id is None else self._image.brokers.get(leader_id)
        return self._node_id if leader is None or leader.fenced else leader.id

    # -- for clients -----------------------------------------------------------------------------

    def brokers(self, connection: Connection) -> Iterator[tuple[BrokerImage, Address]]:
        """Every broker, and the address that is advertised to the client of `connection`."""
        for broker in self._image.brokers.values():
            if broker.id == self._node_id and self.advertised.is_wildcard:
                yield broker, Address(connection.local_host, self.advertised.port)
            else:
                yield broker, _address(broker)

    def listed_brokers(self, connection: Connection) -> list[tuple[BrokerImage, Address]]:
        """Brokers that are up, or were a moment ago."""
        return [found for found in self.brokers(connection) if self._departures.is_listed(found[0])]

    def endpoint_of(self, broker_id: int, connection: Connection) -> Address | None:
        """A broker's address for a client; None if the broker is not up."""
        found = self.listed_brokers(connection)
        return next((address for broker, address in found if broker.id == broker_id), None)

    # -- for nodes -------------------------------------------------------------------------------

    def address_of(self, node_id: int) -> tuple[str, int] | None:
        """A node's address for other nodes: as it registered, otherwise from the voters."""
        broker = self._image.brokers.get(node_id)
        if broker is not None:
            address = _address(broker)
            return address.host, address.port
        return self._quorum.address_of(node_id)

    @property
    def own_address(self) -> Address:
        """The address that this node advertises."""
        if not self.advertised.is_wildcard:
            return self.advertised
        named = self._voters.get(self._node_id)
        return Address("localhost" if named is None else named.host, self.advertised.port)


def _address(broker: BrokerImage) -> Address:
    _, host, port = broker.endpoints[0]
    return Address(host, port)
