"""The decisions about all clients, as many as a node can afford to remember."""

from barnabas.security.authorizer.access import Access
from barnabas.security.authorizer.standard_authorizer import StandardAuthorizer
from barnabas.security.principal import Principal

_MAX_CLIENTS = 10_000
_MAX_DECISIONS = 100_000
"""Of all clients together. They choose the names, so a name may be there for the room it takes."""


class AccessCache:
    def __init__(self, authorizer: StandardAuthorizer) -> None:
        self._authorizer = authorizer
        self.known: dict[tuple[Principal, str], Access] = {}
        """By principal and host; never another dictionary, so that it can be asked directly."""
        self._decisions = 0
        """Remembered since the cache was last emptied."""

    def add(self, principal: Principal, host: str) -> Access:
        """A client that is not known yet."""
        if len(self.known) >= _MAX_CLIENTS:
            self._empty()
        access = Access(self._authorizer, principal, host, self._count)
        self.known[principal, host] = access
        return access

    def _count(self) -> None:
        self._decisions += 1
        if self._decisions >= _MAX_DECISIONS:
            self._empty()

    def _empty(self) -> None:
        """Requests under way keep the decisions of their client until they are answered."""
        self.known.clear()
        self._decisions = 0
