"""Quotas: the limits of users, client ids and addresses, listed, set and removed."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from barnabas.client.connect.broker_errors import check
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.errors import InvalidArgument
from barnabas.metadata.client_quotas_image import CLIENT_ID, IP, USER
from barnabas.wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    EntityData,
    EntryData,
    OpData,
)
from barnabas.wire.messages.describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
)

DEFAULT: Final = "<default>"
"""The name of all users, client ids or addresses without a quota of their own."""

_EXACT, _DEFAULT = 0, 1


class QuotaEntity(NamedTuple):
    """Whom a quota is for: a user, a client id, a client id of a user, or an address.

    `"<default>"` stands for all that have no quota of their own.
    """

    user: str | None = None
    client_id: str | None = None
    address: str | None = None

    @property
    def parts(self) -> list[tuple[str, str | None]]:
        """Type and name of each part; a default has no name. Raises `InvalidArgument`."""
        named = zip((USER, CLIENT_ID, IP), self, strict=True)
        parts = [(kind, None if name == DEFAULT else name) for kind, name in named if name]
        if not parts:
            raise InvalidArgument("a quota needs a user, a client id or an address")
        if self.address and len(parts) > 1:
            raise InvalidArgument("a quota is for an address, or for a user and a client id")
        return parts

    def __str__(self) -> str:
        named = zip(("user", "client id", "address"), self, strict=True)
        return ", ".join(f"{kind} {name}" for kind, name in named if name)


class QuotaDescription(NamedTuple):
    entity: QuotaEntity
    limits: Mapping[str, float]
    """By key, such as `producer_byte_rate`."""


async def describe_quotas(
    cluster: ClusterClient, entity: QuotaEntity | None = None
) -> list[QuotaDescription]:
    """All quotas, or those of entities that have the parts of `entity`."""
    components = [
        ComponentData(kind, _DEFAULT if name is None else _EXACT, name)
        for kind, name in (entity.parts if entity is not None and any(entity) else [])
    ]
    request = DescribeClientQuotasRequest(components, False)

    async def attempt() -> list[QuotaDescription]:
        response = await (await cluster.any_connection()).send(request)
        check(response.error_code, "quotas", response.error_message, needs="describe_configs")
        return [
            QuotaDescription(
                _entity({part.entity_type: part.entity_name for part in entry.entity}),
                {value.key: value.value for value in entry.values},
            )
            for entry in response.entries or []
        ]

    return sorted(await cluster.retrying(attempt), key=lambda found: str(found.entity))


def _entity(parts: Mapping[str, str | None]) -> QuotaEntity:
    def name(kind: str) -> str | None:
        return (parts[kind] or DEFAULT) if kind in parts else None

    return QuotaEntity(name(USER), name(CLIENT_ID), name(IP))


async def alter_quotas(
    cluster: ClusterClient,
    entity: QuotaEntity,
    limits: Mapping[str, float | None],
    *,
    validate_only: bool = False,
) -> None:
    """Set limits; None removes one."""
    ops = [OpData(key, value or 0.0, value is None) for key, value in limits.items()]
    entry = EntryData([EntityData(*part) for part in entity.parts], ops)
    request = AlterClientQuotasRequest([entry], validate_only)

    async def attempt() -> None:
        response = await (await cluster.controller()).send(request)
        for result in response.entries:
            check(
                result.error_code, f"quota of {entity}", result.error_message, needs="alter_configs"
            )

    await cluster.retrying(attempt)
