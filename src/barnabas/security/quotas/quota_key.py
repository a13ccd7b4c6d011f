"""The limits that a client quota can set, and the values that each may have."""

from enum import Enum
from math import isnan

from barnabas.metadata.client_quotas_image import CLIENT_ID, IP, USER

_LARGEST = {"INT": 2.0**31 - 1, "LONG": 2.0**63}
_FRACTION = 1e-6


class InvalidQuota(ValueError):  # noqa: N818 - an expected outcome
    """A limit that no entity, or not this one, can have; says why."""


class QuotaKey(Enum):
    """The name of a limit, and the type of its value as Kafka declares it."""

    PRODUCER_BYTE_RATE = ("producer_byte_rate", "LONG")
    CONSUMER_BYTE_RATE = ("consumer_byte_rate", "LONG")
    REQUEST_PERCENTAGE = ("request_percentage", "DOUBLE")
    CONTROLLER_MUTATION_RATE = ("controller_mutation_rate", "DOUBLE")
    CONNECTION_CREATION_RATE = ("connection_creation_rate", "INT")

    def __init__(self, key: str, value_type: str) -> None:
        self.key = key
        self._type = value_type

    def check(self, value: float) -> None:
        """Raises `InvalidQuota`."""
        if isnan(value) or value <= 0:
            raise InvalidQuota(f"Quota {self.key} must be greater than 0")
        if self._type == "DOUBLE":
            return
        if value > _LARGEST[self._type]:
            article = "an" if self._type == "INT" else "a"
            raise InvalidQuota(
                f"Proposed value for {self.key} is too large for {article} {self._type}."
            )
        if value % 1.0 > _FRACTION:
            raise InvalidQuota(f"{self.key} cannot be a fractional value.")


OF_CLIENTS = {
    key.key: key
    for key in (
        QuotaKey.PRODUCER_BYTE_RATE,
        QuotaKey.CONSUMER_BYTE_RATE,
        QuotaKey.REQUEST_PERCENTAGE,
        QuotaKey.CONTROLLER_MUTATION_RATE,
    )
}
OF_ADDRESSES = {QuotaKey.CONNECTION_CREATION_RATE.key: QuotaKey.CONNECTION_CREATION_RATE}

ENTITY_TYPES = (USER, CLIENT_ID, IP)


def allowed_keys(entity_types: frozenset[str] | set[str]) -> dict[str, QuotaKey]:
    """The limits that an entity with parts of these types can have."""
    return OF_ADDRESSES if IP in entity_types else OF_CLIENTS
