"""Schemas of a registry, in workers: which ones a reader is told, and where it finds others."""

import json
from collections.abc import Sequence
from functools import lru_cache

from barnabas.formats.registered.address import RegistryAddress
from barnabas.formats.registered.registry import Registry
from barnabas.formats.registered.schema import RegisteredSchema


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
