"""Messages with what they say as JSON, in place of their bytes.

Rules that mask paths, searches and downloads then see fields, as of any JSON.
"""

import json
from collections.abc import Iterable
from typing import NamedTuple

from barnabas.console.schemas.registry import SchemaRegistry
from barnabas.formats.registered.reader import Read, plain, reader_of
from barnabas.formats.registered.wire_format import schema_id
from barnabas.records.message import Message

_MAX_READERS = 1_000
_MAX_CHECKED = 16 << 10
"""Other requests wait meanwhile, up to 50 of these in turn."""


class Decoded(NamedTuple):
    """The schema of a key or a value; `problem` says why it is not decoded."""

    schema_id: int
    kind: str
    problem: str | None = None


class DecodedMessage(NamedTuple):
    """A message, and the schemas of its parts, if they have any."""

    message: Message
    key: Decoded | None
    value: Decoded | None


class Schemas:
    """All of a console. Without a registry, nothing is decoded."""

    def __init__(self, registry_url: str | None) -> None:
        """Raises `InvalidArgument`."""
        self._registry = None if registry_url is None else SchemaRegistry(registry_url)
        self._readers: dict[int, Read | str] = {}

    @property
    def registry(self) -> SchemaRegistry | None:
        return self._registry

    async def prepare(self, messages: Iterable[Message]) -> None:
        """Know the schemas of these."""
        if self._registry is None:
            return
        numbers = (schema_id(part) for message in messages for part in (message.key, message.value))
        await self._registry.prepare(each for each in numbers if each is not None)

    def decode(self, message: Message) -> DecodedMessage:
        """With schemas that are known; what can't be read stays as it is."""
        if self._registry is None:
            return DecodedMessage(message, None, None)
        key, of_key = self._part(message.key)
        value, of_value = self._part(message.value)
        if of_key is None and of_value is None:
            return DecodedMessage(message, None, None)
        return DecodedMessage(message._replace(key=key, value=value), of_key, of_value)

    def _part(self, data: bytes | None) -> tuple[bytes | None, Decoded | None]:
        number = schema_id(data)
        if number is None or data is None or self._registry is None:
            return data, None
        schema = self._registry.known(number)
        if schema is None:
            problem = self._registry.problem(number) or "the schema is not known yet"
            return data, Decoded(number, "", problem)
        reader = self._reader(number)
        if isinstance(reader, str):
            return data, Decoded(number, schema.kind.lower(), reader)
        try:
            text = json.dumps(reader(data), default=plain, ensure_ascii=False)
        except (ValueError, RecursionError) as error:
            return data, Decoded(number, schema.kind.lower(), f"it does not match: {error}")
        return text.encode("utf-8", "backslashreplace"), Decoded(number, schema.kind.lower())

    def _reader(self, number: int) -> Read | str:
        found = self._readers.get(number)
        if found is None:
            assert self._registry is not None
            schema = self._registry.known(number)
            assert schema is not None
            try:
                found = reader_of(schema, _MAX_CHECKED)
            except ValueError as error:
                found = str(error)
            if len(self._readers) >= _MAX_READERS:
                self._readers.clear()
            self._readers[number] = found
        return found
