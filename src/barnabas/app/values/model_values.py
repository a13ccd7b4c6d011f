"""Values as their types say, and models with the schemas of a registry."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from barnabas.app.outgoing import encode_anything
from barnabas.app.values.memory_registry import MemoryRegistryClient
from barnabas.errors import InvalidArgument
from barnabas.formats import (
    Format,
    FormatName,
    SchemaNotLoadedError,
    choose,
    decoder,
    encoder,
    optional,
    registry_of,
)
from barnabas.formats.registered.by_topic import TopicEncoder, is_by_topic
from barnabas.formats.registered.not_loaded import loading
from barnabas.formats.registered.wire_format import schema_id
from barnabas.schemas.models.fields import is_model

if TYPE_CHECKING:
    from barnabas.formats import Registry

T = TypeVar("T")
Decode = Callable[[bytes | None], Any]
Encode = Callable[[str, Any], bytes | None]
"""Topic and value to bytes. Raises `SchemaNotLoadedError`."""


class ModelValues:
    """How an application reads and writes values.

    With a registry, models are in the format that has this name, and classes of protobuf are
    Protobuf. All other types are as without one.
    """

    def __init__(
        self, registry: "str | Registry | None" = None, value_format: FormatName | None = None
    ) -> None:
        """Raises `InvalidArgument`."""
        if registry is None and value_format is not None:
            raise InvalidArgument(
                f'value_format="{value_format}" of an App needs registry="http://localhost:8081"'
            )
        self._name: FormatName = value_format or "avro"
        self._registry = registry_of(registry, self._name)
        self._by_type: dict[type, Encode] = {}

    def decoder(self, hint: Any, what: str, *, null: bool = False) -> Decode:
        """May block for the first record of a schema that nobody has asked for before."""
        chosen = self._choose(optional(hint) if null else hint, hint, what)
        decode = decoder(chosen, what)
        if not is_by_topic(chosen):
            return decode
        return lambda data: loading(lambda: decode(data))

    def encoder(self, hint: Any, what: str) -> Encode:
        """For values of a type."""
        by_topic = self.topic_encoder(hint, what)
        if by_topic is not None:
            return by_topic.encode
        encode = encoder(choose(hint, "bytes", what), what)
        return lambda _, value: encode(value)

    def topic_encoder(self, hint: Any, what: str) -> TopicEncoder | None:
        """None for types that have no schema in the registry."""
        chosen = self._choose(hint, hint, what)
        return TopicEncoder(chosen, "value", what) if is_by_topic(chosen) else None

    def encode(self, topic: str, value: Any) -> bytes | None:
        """By the type that a value has. Raises `SchemaNotLoadedError`."""
        kind = type(value)
        if not self._is_registered(kind):
            return encode_anything(value)
        encode = self._by_type.get(kind)
        if encode is None:
            encode = self._by_type[kind] = self.encoder(kind, "return")
        return encode(topic, value)

    def _choose(self, kind: Any, hint: Any, what: str) -> FormatName | Format:
        if not self._is_registered(hint):
            return choose(kind, "bytes", what)
        return choose(kind, self._format_of(hint), what, self._registry)

    def _format_of(self, hint: Any) -> FormatName:
        return "protobuf" if hasattr(hint, "DESCRIPTOR") else self._name

    def _is_registered(self, hint: Any) -> bool:
        if self._registry is None:
            return False
        return is_model(hint) or (isinstance(hint, type) and hasattr(hint, "DESCRIPTOR"))

    def schemas(self, hint: Any) -> Format | None:
        """For a consumer of values of this type: values as they are, once their schema is known.

        None for a type that is read without a schema: whatever its data begins with is no id.
        """
        if self._registry is None or not self._is_registered(hint):
            return None
        return KnownSchemas(self._registry) if self._format_of(hint) == "avro" else None

    @contextmanager
    def in_memory(self) -> Iterator[None]:
        """Without a registry: for tests."""
        registry = self._registry
        if registry is None:
            yield
            return
        client, uses_latest = registry.client, registry.uses_latest
        registry.forget()
        registry.client, registry.uses_latest = MemoryRegistryClient(), False
        try:
            yield
        finally:
            registry.client, registry.uses_latest = client, uses_latest
            registry.forget()


class KnownSchemas:
    """Data as it is, once its schema is known: so that decoding it later holds up no one."""

    def __init__(self, registry: "Registry") -> None:
        self._registry = registry

    def encode(self, value: Any) -> bytes:
        """Nothing is written."""
        raise NotImplementedError

    def decode(self, data: bytes) -> bytes:
        """Raises `SchemaNotLoadedError`."""
        number = schema_id(data)
        if number is not None and not self._registry.is_known(number):
            raise SchemaNotLoadedError(lambda: self._registry.load(number))
        return data


async def loaded(function: Callable[[], T]) -> T:
    """What the function returns, once all it needs is loaded; the event loop goes on."""
    while True:
        try:
            return function()
        except SchemaNotLoadedError as needed:
            load = needed.load
        await asyncio.to_thread(load)
