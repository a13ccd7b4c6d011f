"""Schemas of a registry: which ones a reader is told, and where it finds others."""

import json
from collections.abc import Sequence
from functools import lru_cache
from os import environ

from barnabas.errors import InvalidArgument
from barnabas.formats.registered.address import RegistryAddress
from barnabas.formats.registered.registry import Registry
from barnabas.formats.registered.schema import RegisteredSchema

REGISTRY = "registry"
"""What is given instead of a schema."""
VARIABLE = "BARNABAS_REGISTRY"


@lru_cache(maxsize=16)
def registry_at(address: RegistryAddress) -> Registry:
    """One for all readers of a process, so that each schema is asked for once."""
    return Registry(address.url, certificates=address.certificates, timeout_s=address.timeout_s)


def schemas_text(schemas: Sequence[RegisteredSchema]) -> str:
    """As readers are told them."""
    return json.dumps(schemas)


def schemas_from(text: str) -> list[RegisteredSchema]:
    return [
        RegisteredSchema(number, kind, definition, tuple((name, each) for name, each in references))
        for number, kind, definition, references in json.loads(text)
    ]


def registry_address(
    given: str | Registry | None, needed_by: str = f'schema="{REGISTRY}"'
) -> RegistryAddress:
    """Raises `InvalidArgument`."""
    if isinstance(given, Registry):
        return given.address
    url = given or environ.get(VARIABLE)
    if not url:
        raise InvalidArgument(
            f'{needed_by} needs registry="http://HOST:8081", or {VARIABLE} in the environment'
        )
    return Registry(url).address  # which checks it
