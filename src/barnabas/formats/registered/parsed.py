"""Schemas as fastavro and protobuf know them, with those that they refer to."""

import json
from base64 import b64decode
from binascii import Error as Base64Error
from typing import Any, NamedTuple

from barnabas.formats.avro_bounds import Check, avro_check
from barnabas.formats.registered.schema import RegisteredSchema


class AvroSchema(NamedTuple):
    """What fastavro has parsed, and the types by their full names."""

    parsed: Any
    named: dict[str, Any]
    check: Check | None
    """Data has to pass it before fastavro reads it."""


class ProtobufFile(NamedTuple):
    """A descriptor of a file, in a pool that has its imports."""

    descriptor: Any
    pool: Any


def avro_schema(schema: RegisteredSchema) -> AvroSchema:
    """Raises ValueError for a schema that can't be used, and says what is missing."""
    try:
        import fastavro
        from fastavro.schema import SchemaParseException, UnknownType
    except ImportError:
        raise ValueError("Avro needs fastavro: pip install 'barnabas[schemas]'") from None
    try:
        named: dict[str, Any] = {}
        for _, definition in schema.references:
            fastavro.parse_schema(json.loads(definition), named)
        parsed = fastavro.parse_schema(json.loads(schema.definition), named)
        check = avro_check(parsed, named)
    except (
        *(SchemaParseException, UnknownType),
        *(ValueError, KeyError, TypeError, RecursionError),
    ) as error:
        raise ValueError(f"the schema can't be read: {error}") from None
    return AvroSchema(parsed, named, check)


def protobuf_file(schema: RegisteredSchema) -> ProtobufFile:
    """Raises ValueError as above."""
    try:
        from google.protobuf import descriptor_pb2, descriptor_pool
        from google.protobuf.message import DecodeError
    except ImportError:
        raise ValueError("Protobuf needs protobuf: pip install 'barnabas[schemas]'") from None
    pool = descriptor_pool.DescriptorPool()

    def add(name: str, definition: str) -> Any:
        file = descriptor_pb2.FileDescriptorProto.FromString(b64decode(definition, validate=True))
        file.name = name
        for dependency in file.dependency:
            _add_well_known(pool, dependency)
        pool.Add(file)
        return pool.FindFileByName(name)

    try:
        for name, definition in schema.references:
            add(name, definition)
        file = add(f"schema-{schema.id}.proto", schema.definition)
    except (Base64Error, DecodeError, TypeError, KeyError, ValueError) as error:
        raise ValueError(f"the schema can't be read: {error}") from None
    return ProtobufFile(file, pool)


def _add_well_known(pool: Any, name: str) -> None:
    """Files such as google/protobuf/timestamp.proto, which no registry has."""
    if not name.startswith("google/protobuf/"):
        return
    from importlib import import_module

    from google.protobuf import descriptor_pb2

    stem = name.removeprefix("google/protobuf/").removesuffix(".proto")
    if not stem.isidentifier():
        return
    try:
        module = import_module(f"google.protobuf.{stem}_pb2")
    except ImportError:
        return
    file = descriptor_pb2.FileDescriptorProto()
    module.DESCRIPTOR.CopyToProto(file)
    pool.Add(file)
