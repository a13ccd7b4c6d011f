"""Avro with the id of a schema: dicts, or models."""

import json
from collections.abc import Callable
from io import BytesIO
from typing import Any, is_typeddict

from barnabas.errors import InvalidArgument, ValidationFailed
from barnabas.formats.avro import avro_schema_of
from barnabas.formats.conversion import reader_of
from barnabas.formats.libraries import check_kind, python_reader
from barnabas.formats.registered.avro_checks import AvroChecks
from barnabas.formats.registered.parsed import avro_schema
from barnabas.formats.registered.registry import Registry, SubjectVersion
from barnabas.formats.registered.schema import RegisteredSchema
from barnabas.formats.registered.subjects import Part
from barnabas.formats.registered.wire_format import HEADER, header
from barnabas.formats.registered.written import TopicWriter
from barnabas.schemas.models.avro import avro_of
from barnabas.schemas.models.fields import is_model
from barnabas.schemas.schema import InvalidSchemaError, JsonObject

Read = Callable[[bytes], Any]


class AvroModel:
    """A model and its schema: the one that the class has with it, or that of its annotations."""

    def __init__(self, kind: Any) -> None:
        """Raises `InvalidArgument`."""
        given = avro_schema_of(kind)
        try:
            self.schema: Any = avro_of(kind) if given is None else given
        except InvalidSchemaError as error:
            raise InvalidArgument(str(error)) from None
        if isinstance(self.schema, str):
            self.schema = json.loads(self.schema)
        self.has_own_schema = given is not None
        self.check = None if is_typeddict(kind) else check_kind(kind)
        self.from_python = python_reader(kind) or reader_of(kind, converted=True)

    @property
    def text(self) -> str:
        return json.dumps(self.schema)

    @property
    def name(self) -> str:
        name, space = str(self.schema["name"]), self.schema.get("namespace")
        return f"{space}.{name}" if space and "." not in name else name


def avro_model(kind: Any) -> AvroModel | None:
    """None for plain values."""
    if kind is None or kind is dict:
        return None
    if not is_model(kind) and avro_schema_of(kind) is None:
        raise InvalidArgument(
            f"{kind!r} has no fields: Avro takes a dataclass, a TypedDict, a pydantic model or a "
            "msgspec struct"
        )
    return AvroModel(kind)


class AvroTopicWriter(TopicWriter[Any]):
    """Writes with the schema of the model, or with the latest of the subject."""

    kind = "AVRO"

    def __init__(self, registry: Registry, topic: str, part: Part, model: AvroModel | None) -> None:
        super().__init__(registry, topic, part, None if model is None else model.name)
        self._model = model

    def _own_schema(self) -> JsonObject | None:
        return None if self._model is None else {"schema": self._model.text}

    def _writer(self, version: SubjectVersion) -> Callable[[Any], bytes]:
        known = _usable(version.schema)
        check = AvroChecks(known.named).of(known.parsed)
        check_class = None if self._model is None else self._model.check
        start, parsed = header(version.schema.id), known.parsed
        from fastavro import schemaless_writer

        def write(value: Any) -> bytes:
            if check_class is not None:
                check_class(value)
            checked = check(value)
            buffer = BytesIO()
            buffer.write(start)
            try:
                schemaless_writer(buffer, parsed, checked)
            except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
                raise ValidationFailed("", f"does not match the schema: {error}") from None
            return buffer.getvalue()

        return write


def avro_reader(schema: RegisteredSchema, model: AvroModel | None) -> Read:
    """What reads data that was written with this schema. Raises `InvalidArgument`."""
    usable = _usable(schema)
    written, check = usable.parsed, usable.check
    wanted: Any = None
    if model is not None and model.has_own_schema:  # with aliases, and defaults of enums
        import fastavro

        wanted = fastavro.parse_schema(model.schema, {})
    convert = None if model is None else model.from_python
    from fastavro import schemaless_reader
    from fastavro.read import SchemaResolutionError

    def read(data: bytes) -> Any:
        buffer = BytesIO(data)
        buffer.seek(HEADER)
        try:
            if check is not None:
                check(data, HEADER)
            found = schemaless_reader(buffer, written, wanted)
        except SchemaResolutionError as error:
            raise ValidationFailed("", f"schema {schema.id} can't be read as it: {error}") from None
        except (EOFError, IndexError, KeyError, OverflowError, TypeError, ValueError) as error:
            problem = str(error) or "it ends too early"
            raise ValidationFailed("", f"no Avro of schema {schema.id}: {problem}") from None
        if buffer.tell() != len(data):
            raise ValidationFailed("", f"{len(data) - buffer.tell()} bytes after the Avro record")
        if convert is None:
            return found
        try:
            return convert(found)
        except ValidationFailed as error:
            said = f"{error.problem} (written with schema {schema.id})"
            raise ValidationFailed(error.field, said) from None

    return read


def _usable(schema: RegisteredSchema) -> Any:
    try:
        return avro_schema(schema)
    except ValueError as error:
        raise InvalidArgument(f"schema {schema.id}: {error}") from None
