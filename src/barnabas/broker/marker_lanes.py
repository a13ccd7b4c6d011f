"""Which connection each coordinator of transactions uses for its markers now."""

from typing import Protocol


class Aged(Protocol):
    @property
    def age_s(self) -> float: ...


class MarkerLanes:
    def __init__(self) -> None:
        self._newest: dict[str, Aged] = {}

    def is_newest(self, client_id: str, connection: Aged) -> bool:
        """Whether no younger connection of this client has been heard of."""
        newest = self._newest.get(client_id)
        if newest is not None and newest is not connection and newest.age_s < connection.age_s:
            return False
        self._newest[client_id] = connection
        return True
