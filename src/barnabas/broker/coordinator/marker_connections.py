"""Which connection each transaction coordinator currently uses for its markers."""

from typing import Protocol


class Aged(Protocol):
    @property
    def age_s(self) -> float: ...


class MarkerConnections:
    def __init__(self) -> None:
        self._newest: dict[int, Aged] = {}

    def is_newest(self, node_id: int, connection: Aged) -> bool:
        """Whether no newer connection of this node is known."""
        newest = self._newest.get(node_id)
        if newest is not None and newest is not connection and newest.age_s < connection.age_s:
            return False
        self._newest[node_id] = connection
        return True
