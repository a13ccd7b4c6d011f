"""The brokers of the cluster, and where each is found: by clients, and by other nodes."""

from collections.abc import Iterator, Mapping

from barnabas.broker.control.departures import Departures
from barnabas.broker.net.connection import Connection
from barnabas.broker.net.listener import OPEN, Listener
from barnabas.broker.quorum.quorum import Quorum
from barnabas.metadata.image import BrokerImage, MetadataImage
from barnabas.wire.endpoint import Address, Endpoint


class ClusterView:
    def __init__(
        self,
        node_id: int,
        image: MetadataImage,
        quorum: Quorum,
        departures: Departures,
        voters: Mapping[int, Address],
        inter_broker: Listener = OPEN,
    ) -> None:
        """`voters` are those that the settings name."""
        self._node_id = node_id
        self._image = image
        self._quorum = quorum
        self._departures = departures
        self._voters = voters
        self._inter_broker = inter_broker
        self.advertised: Mapping[str, Endpoint] = {
            inter_broker.name: Endpoint(inter_broker.name, "localhost", 0, inter_broker.protocol)
        }
        """This node's listeners by name, with their advertised addresses, else those that they are
        bound to; set once it listens."""

    @property
    def controller_id(self) -> int:
        """The node that clients may use as the controller: any node forwards their requests."""
        leader_id = self._quorum.leader_id
        leader = None if leader_id is None else self._image.brokers.get(leader_id)
        return self._node_id if leader is None or leader.fenced else leader.id

    # -- for clients -----------------------------------------------------------------------------

    def brokers(self, connection: Connection) -> Iterator[tuple[BrokerImage, Address]]:
        """Every broker that has the listener of `connection`, and the address that is advertised
        to clients of that listener."""
        name = connection.listener.name
        own = self.advertised.get(name)
        for broker in self._image.brokers.values():
            if broker.id == self._node_id and own is not None and own.address.is_wildcard:
                yield broker, Address(connection.local_host, own.port)
                continue
            for endpoint in broker.endpoints:
                if endpoint.name == name:
                    yield broker, endpoint.address

    def brokers_without(self, listener: Listener) -> frozenset[int]:
        """Brokers that clients of a listener can't reach, because they lack it."""
        return frozenset(
            broker.id
            for broker in self._image.brokers.values()
            if all(endpoint.name != listener.name for endpoint in broker.endpoints)
        )

    def listed_brokers(self, connection: Connection) -> list[tuple[BrokerImage, Address]]:
        """Brokers that are up, or were a moment ago."""
        return [found for found in self.brokers(connection) if self._departures.is_listed(found[0])]

    def endpoint_of(self, broker_id: int, connection: Connection) -> Address | None:
        """A broker's address for a client; None if the broker is not up."""
        found = self.listed_brokers(connection)
        return next((address for broker, address in found if broker.id == broker_id), None)

    # -- for nodes -------------------------------------------------------------------------------

    def addresses_of(self, node_id: int) -> list[tuple[str, int]]:
        """A node's addresses for other nodes: as it registered, then from the voters.

        It can't register a new one while no controller is elected, which may be because the
        controllers look for each other where they were.
        """
        broker = self._image.brokers.get(node_id)
        endpoint = None if broker is None else _reached(broker, self._inter_broker)
        registered = [] if endpoint is None else [endpoint.address]
        return list(dict.fromkeys([*registered, *self._quorum.addresses_of(node_id)]))

    def own_endpoints(self) -> list[Endpoint]:
        """The endpoints that this node registers: clients and nodes elsewhere need a host."""
        named = self._voters.get(self._node_id)
        host = "localhost" if named is None else named.host
        return [
            own._replace(host=host) if own.address.is_wildcard else own
            for own in self.advertised.values()
        ]


def _reached(broker: BrokerImage, by: Listener) -> Endpoint | None:
    """The broker's endpoint for nodes: of the same listener, else of one with the same protocol.

    So nodes find each other while a listener is renamed by a rolling restart.
    """
    for endpoint in broker.endpoints:
        if endpoint.name == by.name:
            return endpoint
    for endpoint in broker.endpoints:
        if endpoint.protocol == by.protocol:
            return endpoint
    return None
