"""Which clients `request.log.clients` means."""

import re
from fnmatch import translate

from barnabas.broker.net.connection import Connection
from barnabas.broker.net.throttling import client_id_of

_MAX_REMEMBERED = 10_000


class ClientFilter:
    """`text` is a list of `client-id=NAME`, `principal=TYPE:NAME`, `address=IP` and `*`."""

    def __init__(self, text: str) -> None:
        self._all = False
        patterns: dict[str, list[str]] = {"client-id": [], "principal": [], "address": []}
        for item in filter(None, text.split(",")):
            kind, _, name = item.partition("=")
            if kind == "*":
                self._all = True
            else:
                patterns[kind].append(translate(_only_stars(name)))
        self._client_ids, self._principals, self._addresses = (
            re.compile("|".join(each)) if each else None for each in patterns.values()
        )
        self._is_meant: dict[tuple[bytes, str, str], bool] = {}

    def matches(self, frame: memoryview, connection: Connection) -> bool:
        key = (client_id_of(frame), str(connection.principal), connection.client_host)
        found = self._is_meant.get(key)
        if found is None:
            if len(self._is_meant) >= _MAX_REMEMBERED:  # client ids are the clients' choice
                self._is_meant.clear()
            found = self._is_meant[key] = self._matches(*key)
        return found

    def _matches(self, client_id: bytes, principal: str, address: str) -> bool:
        pairs = (
            (self._client_ids, client_id.decode(errors="replace")),
            (self._principals, principal),
            (self._addresses, address),
        )
        return self._all or any(
            pattern is not None and pattern.match(text) is not None for pattern, text in pairs
        )


def _only_stars(name: str) -> str:
    """As a pattern of `fnmatch` in which nothing but `*` is special."""
    return re.sub(r"([\[?])", r"[\1]", name)
