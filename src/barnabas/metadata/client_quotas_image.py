"""The quotas of a cluster: limits by entity.

An entity is a user, a client id, a client id of a user, or an address. A part without a name stands
for all that have no quota of their own: the default.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from barnabas.wire.messages.metadata_records import ClientQuotaRecord, EntityData

USER: Final = "user"
CLIENT_ID: Final = "client-id"
IP: Final = "ip"

QuotaEntity = tuple[tuple[str, str | None], ...]
"""The parts of an entity, each a type and a name, sorted by type."""


def quota_entity(parts: Iterable[tuple[str, str | None]]) -> QuotaEntity:
    return tuple(sorted(dict(parts).items()))


@dataclass(slots=True)
class ClientQuotasImage:
    """Limits by entity and key; an entity without limits is not kept."""

    quotas: dict[QuotaEntity, dict[str, float]] = field(default_factory=dict)

    def replay(self, record: ClientQuotaRecord) -> None:
        entity = quota_entity((part.entity_type, part.entity_name) for part in record.entity)
        if not record.remove:
            self.quotas.setdefault(entity, {})[record.key] = record.value
            return
        limits = self.quotas.get(entity, {})
        limits.pop(record.key, None)
        if not limits:
            self.quotas.pop(entity, None)

    def clear(self) -> None:
        self.quotas.clear()

    def records(self) -> list[ClientQuotaRecord]:
        return [
            ClientQuotaRecord([EntityData(*part) for part in entity], key, value)
            for entity, limits in self.quotas.items()
            for key, value in limits.items()
        ]

    def copy(self) -> "ClientQuotasImage":
        return ClientQuotasImage({entity: limits.copy() for entity, limits in self.quotas.items()})
