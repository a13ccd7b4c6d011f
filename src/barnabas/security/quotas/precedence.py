"""Which limit holds for a user and a client id.

The most specific one, the user before the client id:

1. the user with the client id          5. any other user with any other client id
2. the user with any other client id    6. any other user
3. the user                             7. the client id, of any user
4. any other user with the client id    8. any other client id, of any user

Each key has a precedence of its own: a user with a `consumer_byte_rate` may still have the
`producer_byte_rate` of its client id. A limit with a user and a client id is for each such pair,
one with a user for each user, and one with a client id for each client id.
"""

from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple

from barnabas.metadata.client_quotas_image import CLIENT_ID, IP, USER, QuotaEntity
from barnabas.security.quotas.quota_key import QuotaKey


class _Part(Enum):
    ABSENT = 0


_ABSENT = _Part.ABSENT
"""Stands for a part that an entity does not have."""
_Name = str | None | _Part


class QuotaLimit(NamedTuple):
    """A bound, and who shares it."""

    bound: float
    sharing: tuple[str | None, str | None]
    """The user and the client id whose use is counted together; None for any."""


class QuotaLimits:
    """All limits of a cluster, by key."""

    def __init__(self, quotas: Mapping[QuotaEntity, Mapping[str, float]]) -> None:
        self._levels: dict[str, dict[tuple[_Name, _Name], float]] = {}
        self._addresses: dict[str | None, float] = {}
        for entity, limits in quotas.items():
            parts = dict(entity)
            for key, bound in limits.items():
                if IP in parts:
                    if key == QuotaKey.CONNECTION_CREATION_RATE.key:
                        self._addresses[parts[IP]] = bound
                else:
                    level: tuple[_Name, _Name] = (
                        parts.get(USER, _ABSENT),
                        parts.get(CLIENT_ID, _ABSENT),
                    )
                    self._levels.setdefault(key, {})[level] = bound

    @property
    def has_clients(self) -> bool:
        """Whether any client may have a limit."""
        return bool(self._levels)

    @property
    def has_addresses(self) -> bool:
        return bool(self._addresses)

    def of_client(self, key: QuotaKey, user: str, client_id: str) -> QuotaLimit | None:
        levels = self._levels.get(key.key)
        if levels is None:
            return None
        for level, sharing in (
            ((user, client_id), (user, client_id)),
            ((user, None), (user, client_id)),
            ((user, _ABSENT), (user, None)),
            ((None, client_id), (user, client_id)),
            ((None, None), (user, client_id)),
            ((None, _ABSENT), (user, None)),
            ((_ABSENT, client_id), (None, client_id)),
            ((_ABSENT, None), (None, client_id)),
        ):
            bound = levels.get(level)
            if bound is not None:
                return QuotaLimit(bound, sharing)
        return None

    def of_address(self, address: str) -> float | None:
        """How many connections a second an address may make."""
        return self._addresses.get(address, self._addresses.get(None))
