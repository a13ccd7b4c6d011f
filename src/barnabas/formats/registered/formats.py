"""Formats with a registry, by name."""

import json
from collections.abc import Callable
from typing import Any, Generic, Literal, TypeAlias, TypeVar

from barnabas.errors import InvalidArgument, ValidationFailed
from barnabas.formats.registered.avro import (
    AvroModel,
    AvroTopicWriter,
    Read,
    avro_model,
    avro_reader,
)
from barnabas.formats.registered.json_values import JsonModel, JsonTopicWriter
from barnabas.formats.registered.protobuf import ProtobufModel, ProtobufTopicWriter
from barnabas.formats.registered.reader import reader_of
from barnabas.formats.registered.registry import Registry
from barnabas.formats.registered.schema import RegisteredSchema
from barnabas.formats.registered.subjects import Part
from barnabas.formats.registered.wire_format import HEADER, message_indexes, schema_id
from barnabas.formats.registered.written import TopicWriter

T = TypeVar("T")
RegisteredName: TypeAlias = Literal["avro", "json-schema", "protobuf"]
NAMES: tuple[RegisteredName, ...] = ("avro", "json-schema", "protobuf")
_KINDS = {"AVRO": "avro", "JSON": "json-schema", "PROTOBUF": "protobuf"}
_MAX_READERS = 1_000


class RegistryFormat(Generic[T]):
    """A format whose data begins with the id of a schema.

    `decode` raises `SchemaNotLoadedError` for an id that is not known yet.
    """

    def __init__(
        self, name: RegisteredName, kind: Any, registry: Registry, *, refuses_null: bool
    ) -> None:
        """`kind` is a model, or None. Raises `InvalidArgument`."""
        self._name = name
        self._kind = kind
        self._registry = registry
        self._readers: dict[int, Read] = {}
        self.refuses_null = refuses_null
        registry.keep(self)
        self._topic_writer: Callable[[str, Part], TopicWriter[Any]]
        if name == "avro":
            self._use_avro(avro_model(kind))
        elif name == "json-schema":
            self._use_json(None if kind is None or kind is dict else JsonModel(kind))
        else:
            self._use_protobuf(None if kind is None else ProtobufModel(kind))

    def _use_avro(self, model: AvroModel | None) -> None:
        self._topic_writer = lambda topic, part: AvroTopicWriter(self._registry, topic, part, model)
        self._reader: Callable[[RegisteredSchema], Read] = lambda schema: avro_reader(schema, model)
        self._reads_itself = False

    def _use_json(self, model: JsonModel | None) -> None:
        self._topic_writer = lambda topic, part: JsonTopicWriter(self._registry, topic, part, model)
        decode = json.loads if model is None else model.decode
        self._reader = lambda _: lambda data: decode(data[HEADER:])
        self._reads_itself = True

    def _use_protobuf(self, model: ProtobufModel | None) -> None:
        self._reads_itself = model is not None
        if model is None:
            self._reader = reader_of
            return
        self._topic_writer = lambda topic, part: ProtobufTopicWriter(
            self._registry, topic, part, model
        )
        self._reader = lambda _: lambda data: model.decode(data[message_indexes(data)[1] :])

    def for_topic(self, topic: str, part: Part, /) -> TopicWriter[T]:
        """What encodes the values of a topic."""
        if self._name == "protobuf" and self._kind is None:
            raise InvalidArgument(
                f'{part}_format="protobuf" sends objects of a class: add {part}=CLASS'
            )
        return self._topic_writer(topic, part)

    def encode(self, _: T, /) -> bytes:
        """Not without a topic."""
        raise TypeError(f"{self!r} needs the topic of a record, as Producer.send has it")

    def forget(self) -> None:
        """The registry is another one."""
        self._readers.clear()

    def decode(self, data: bytes, /) -> T:
        """By the schema whose id the data begins with."""
        number = schema_id(data)
        if number is None:
            raise ValidationFailed(
                "",
                "it does not begin with the id of a schema (a zero byte and 4 others), but with "
                f"{data[:8]!r}",
            )
        read = self._readers.get(number)
        if read is None:
            read = self._new_reader(number)
        found: T = read(data)
        return found

    def _new_reader(self, number: int) -> Read:
        if self._reads_itself:
            schema = RegisteredSchema(number, "", "")
        else:
            schema = self._registry.schema(number)
            if _KINDS.get(schema.kind) != self._name:
                raise ValidationFailed("", f"schema {number} is {schema.kind}, not {self._name}")
        if len(self._readers) >= _MAX_READERS:
            self._readers.clear()
        read = self._readers[number] = self._reader(schema)
        return read

    def __repr__(self) -> str:
        return self._name if self._kind is None else f"{self._name}({self._kind.__name__})"
