"""Which entities a request to describe quotas asks for."""

from collections.abc import Iterable
from enum import IntEnum
from typing import NamedTuple

from barnabas.metadata.client_quotas_image import IP, QuotaEntity
from barnabas.security.quotas.quota_key import ENTITY_TYPES
from barnabas.wire.errors import ErrorCode


class MatchType(IntEnum):
    """How a component of the filter matches the part of an entity with its type."""

    EXACT = 0
    DEFAULT = 1
    SPECIFIED = 2
    """Any name, and the default."""


class InvalidFilter(ValueError):  # noqa: N818 - an expected outcome
    def __init__(self, error_code: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.error_code = error_code


class Component(NamedTuple):
    entity_type: str
    match_type: int
    match: str | None = None


class EntityFilter:
    """Entities that have all parts that the components ask for; if `strict`, and no others."""

    def __init__(self, components: Iterable[Component], *, strict: bool) -> None:
        """Raises `InvalidFilter`."""
        self._strict = strict
        self._names: dict[str, str | None] = {}
        self._any: set[str] = set()
        for component in components:
            self._add(component)
        types = {*self._names, *self._any}
        if IP in types and len(types) > 1:
            raise _invalid(
                "Invalid entity filter component combination. IP filter component should not be "
                "used with user or clientId filter component."
            )

    def _add(self, component: Component) -> None:
        entity_type, match_type, match = component
        if not entity_type:
            raise _invalid("Invalid empty entity type.")
        if entity_type in self._names or entity_type in self._any:
            raise _invalid(f"Entity type {entity_type} cannot appear more than once in the filter.")
        if entity_type not in ENTITY_TYPES:
            raise InvalidFilter(
                ErrorCode.UNSUPPORTED_VERSION, f"Unsupported entity type {entity_type}"
            )
        if match_type not in tuple(MatchType):
            raise _invalid(f"Unknown match type {match_type}")
        name = f"MATCH_TYPE_{MatchType(match_type).name}"
        if match_type == MatchType.EXACT and match is None:
            raise _invalid(f"Request specified {name}, but set match string to null.")
        if match_type != MatchType.EXACT and match is not None:
            raise _invalid(f"Request specified {name}, but also specified a match string.")
        if match_type == MatchType.SPECIFIED:
            self._any.add(entity_type)
        else:
            self._names[entity_type] = match

    def matches(self, entity: QuotaEntity) -> bool:
        parts = dict(entity)
        if self._strict and len(parts) != len(self._names) + len(self._any):
            return False
        return self._any <= parts.keys() and all(
            entity_type in parts and parts[entity_type] == name
            for entity_type, name in self._names.items()
        )


def _invalid(message: str) -> InvalidFilter:
    return InvalidFilter(ErrorCode.INVALID_REQUEST, message)
