"""The connections of a server: strangers who hold many, or large requests, keep nobody else out.

A new connection takes the place of one that waits for a request, and a new body that of others that
are being received: of the address that holds the most, the oldest.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass


@dataclass(eq=False)
class OpenConnection:
    """One connection."""

    peer: str
    abort: Callable[[], object]
    waits: bool = True
    """For a request, or for the rest of one: nothing is lost if it ends."""
    body_bytes: int = 0
    """Of the request that it sends, or whose answer it waits for."""


class OpenConnections:
    """All of a server."""

    def __init__(self, most: int, most_body_bytes: int) -> None:
        self._most = most
        self._most_body_bytes = most_body_bytes
        self._open: dict[OpenConnection, None] = {}  # in the order in which they came

    def __iter__(self) -> Iterator[OpenConnection]:
        return iter(self._open)

    def add(self, new: OpenConnection) -> bool:
        """False if all others are being answered."""
        if len(self._open) >= self._most and not self._end_one(lambda _: 1):
            return False
        self._open[new] = None
        return True

    def remove(self, connection: OpenConnection) -> None:
        self._open.pop(connection, None)

    def admit_body(self, connection: OpenConnection, length: int) -> bool:
        """Before it is received; False if there is no room."""
        others = [each for each in self._open if each is not connection]
        while sum(each.body_bytes for each in others) + length > self._most_body_bytes:
            if not self._end_one(lambda each: 0 if each is connection else each.body_bytes):
                return False
            others = [each for each in self._open if each is not connection]
        connection.body_bytes = length
        return True

    def _end_one(self, weight: Callable[[OpenConnection], int]) -> bool:
        held: Counter[str] = Counter()
        for each in self._open:
            held[each.peer] += weight(each)
        found = [each for each in self._open if each.waits and weight(each)]
        if not found:
            return False
        chosen = max(found, key=lambda each: held[each.peer])  # the first of equals
        del self._open[chosen]
        chosen.abort()
        return True
