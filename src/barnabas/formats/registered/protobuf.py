"""Protobuf with the id of a schema: generated classes."""

from base64 import b64encode
from collections.abc import Callable
from typing import Any

from barnabas.errors import InvalidArgument
from barnabas.formats.libraries import Codec, library_codec
from barnabas.formats.registered.registry import Registry, SubjectVersion
from barnabas.formats.registered.subjects import Part
from barnabas.formats.registered.wire_format import header, index_bytes
from barnabas.formats.registered.written import TopicWriter
from barnabas.schemas.schema import Json, JsonObject


class ProtobufModel:
    """A generated class."""

    def __init__(self, kind: Any) -> None:
        """Raises `InvalidArgument`."""
        codec: Codec | None = library_codec(kind) if isinstance(kind, type) else None
        if codec is None or not hasattr(kind, "DESCRIPTOR"):
            raise InvalidArgument(
                f"{kind!r} is not a class of protobuf: give one that protoc has generated"
            )
        self.encode, self.decode = codec
        self.descriptor = kind.DESCRIPTOR
        self.name = str(self.descriptor.full_name)

    @property
    def indexes(self) -> list[int]:
        """Which message of its file it is."""
        found: list[int] = []
        at = self.descriptor
        while at is not None:
            above = at.containing_type
            beside = at.file.message_types_by_name.values() if above is None else above.nested_types
            found.insert(0, [each.full_name for each in beside].index(at.full_name))
            at = above
        return found


class ProtobufTopicWriter(TopicWriter[Any]):
    """Writes with the file of the class, or as the latest version of the subject."""

    kind = "PROTOBUF"

    def __init__(self, registry: Registry, topic: str, part: Part, model: ProtobufModel) -> None:
        super().__init__(registry, topic, part, model.name)
        self._model = model

    def _own_schema(self) -> JsonObject | None:
        return self._file(self._model.descriptor.file)

    def _file(self, file: Any) -> JsonObject:
        """A compiled file. Those that it imports are under subjects with their names."""
        references: list[Json] = []
        for each in file.dependencies:
            if each.name.startswith("google/protobuf/"):
                continue
            body = {"schemaType": self.kind, **self._file(each)}
            found = self._registry.version_of(each.name, body, each.name)
            references.append({"name": each.name, "subject": each.name, "version": found.number})
        text = b64encode(file.serialized_pb).decode()
        return {"schema": text, "references": references}

    def _writer(self, version: SubjectVersion) -> Callable[[Any], bytes]:
        start = header(version.schema.id) + index_bytes(self._model.indexes)
        encode = self._model.encode

        def write(value: Any) -> bytes:
            return start + encode(value)

        return write
