"""Records by the newest schema of their topic: subjects are TOPIC-key and TOPIC-value."""

import asyncio
import json
from typing import Any, NamedTuple

from barnabas.console.schemas.registry import RegistryError, SchemaRegistry, Version
from barnabas.errors import InvalidArgument, ValidationFailed
from barnabas.formats.registered.schema import RegisteredSchema
from barnabas.formats.registered.writer import messages_of, writer_of

PARTS = ("key", "value")


class Offer(NamedTuple):
    """A schema that a form offers; `problem` says why it can't be used."""

    version: Version
    messages: list[str]
    problem: str | None = None

    def shown(self) -> dict[str, Any]:
        version = self.version
        return {
            "subject": version.subject,
            "version": version.number,
            "id": version.schema_id,
            "kind": version.kind.lower(),
            "definition": version.text,
            "messages": self.messages,
            "checks_fields": version.kind != "JSON",
            "problem": self.problem,
        }


class RecordEncoder:
    """Without a registry, nothing is offered and nothing encoded."""

    def __init__(self, registry: SchemaRegistry | None) -> None:
        self._registry = registry

    async def offer(self, topic: str, part: str) -> Offer | None:
        """None if there is no such subject. Raises `RegistryError`."""
        if self._registry is None:
            return None
        version = await self._registry.newest(f"{topic}-{part}")
        if version is None:
            return None
        try:
            return Offer(version, messages_of(await self._schema(version)))
        except (RegistryError, ValueError) as error:
            return Offer(version, [], str(error))

    async def encode(self, topic: str, part: str, text: str, message: str | None) -> bytes:
        """JSON to data with the id of its schema. Raises `InvalidArgument`, which names a field."""
        if self._registry is None:
            raise InvalidArgument(f"{part}: this console has no schema registry; use --registry")
        try:
            value = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InvalidArgument(f"{part}: it is not JSON: {error}") from None
        try:
            version = await self._registry.newest(f"{topic}-{part}")
            if version is None:
                raise InvalidArgument(f"{part}: the registry has no subject {topic}-{part}")
            schema = await self._schema(version)
            return await asyncio.to_thread(_written, schema, message, value)
        except ValidationFailed as error:
            field = f".{error.field}" if error.field and error.field[0] != "[" else error.field
            raise InvalidArgument(f"{part}{field}: {error.problem}") from None
        except (RegistryError, RecursionError, ValueError) as error:
            if isinstance(error, InvalidArgument):
                raise
            raise InvalidArgument(f"{part}: {error}") from None

    async def _schema(self, version: Version) -> RegisteredSchema:
        assert self._registry is not None
        return await self._registry.schema(version.schema_id)


def _written(schema: RegisteredSchema, message: str | None, value: Any) -> bytes:
    return writer_of(schema, message)(value)
