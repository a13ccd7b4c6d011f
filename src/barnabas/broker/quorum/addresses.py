"""The addresses of voters."""

from collections.abc import Sequence
from typing import NamedTuple

from barnabas.raft import ReplicaKey, Voter, VoterSet
from barnabas.wire.endpoint import Endpoint


class NamedVoter(NamedTuple):
    """A voter as the settings name it: `controller.quorum.voters`."""

    node_id: int
    host: str
    port: int
    listener: str
    """The name of the inter-broker listener."""

    def voter(self, directory_id: bytes) -> Voter:
        endpoint = Endpoint(self.listener, self.host, self.port)
        return Voter(ReplicaKey(self.node_id, directory_id), (endpoint,))


class Addresses:
    """The settings come first: operators change those. Then the voters in the log, and last what
    other nodes have reported of a leader."""

    def __init__(self, named: Sequence[NamedVoter], listener: str) -> None:
        """`listener` is the name of the inter-broker listener."""
        self._listener = listener
        self._named = {voter.node_id: (voter.host, voter.port) for voter in named}
        self._heard: dict[int, tuple[str, int]] = {}

    def hear(self, node_id: int, host: str, port: int) -> None:
        self._heard[node_id] = (host, port)

    def hear_of(self, node_id: int, endpoints: Sequence[Endpoint]) -> None:
        """The node has sent all of its endpoints."""
        if endpoints:
            self._heard[node_id] = self._choose(endpoints)

    def of(self, node_id: int, voters: VoterSet) -> list[tuple[str, int]]:
        stored = next((v.endpoints for v in voters.voters if v.key.node_id == node_id), ())
        found = [
            self._named.get(node_id),
            self._choose(stored) if stored else None,
            self._heard.get(node_id),
        ]
        return [address for address in found if address is not None]

    def _choose(self, endpoints: Sequence[Endpoint]) -> tuple[str, int]:
        own = [at for at in endpoints if at.name == self._listener]
        return (own or endpoints)[0].address
