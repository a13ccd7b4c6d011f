"""Values whose schemas a registry has, as JSON: what `consume` prints and `produce` reads."""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from barnabas.cli.base.command import UsageError
from barnabas.cli.records.deserializers import Deserializer, Texts, UndecodableError
from barnabas.cli.records.input_format import LineError
from barnabas.errors import InvalidArgument, ValidationFailed

if TYPE_CHECKING:
    from barnabas.formats.registered.formats import RegisteredName
    from barnabas.formats.registered.registry import Registry


def registered_texts(url: str) -> Texts:
    """Data with the id of a schema to a line of JSON, by the registry at this URL.

    They raise `SchemaNotLoadedError`. Nothing is asked if no deserializer needs it.
    """
    registries: list[Registry] = []

    def texts(deserializer: Deserializer) -> Callable[[bytes], str]:
        if not registries:
            from barnabas.formats.registered.registry import Registry

            registries.append(Registry(url))
        name: Any = deserializer.value
        return _text_of(name, registries[0])

    return texts


def _text_of(name: "RegisteredName", registry: "Registry") -> Callable[[bytes], str]:
    from barnabas.formats.registered.formats import RegistryFormat
    from barnabas.formats.registered.reader import plain

    decode = RegistryFormat[Any](name, None, registry, refuses_null=False).decode

    def text(data: bytes) -> str:
        try:
            return json.dumps(
                decode(data), default=plain, ensure_ascii=False, separators=(",", ":")
            )
        except (ValueError, RecursionError) as error:
            raise UndecodableError(str(error)) from None

    return text


def value_writer(
    name: "RegisteredName", registry: "Registry", topic: str
) -> Callable[[Any], bytes]:
    """Writes what JSON says with the latest schema of the topic's values. Blocks at first."""
    from barnabas.formats.registered.json_values import json_validator
    from barnabas.formats.registered.writer import writer_of

    version = registry.latest(f"{topic}-value")
    registry.load(version.schema.id)  # of Protobuf, compiled
    schema = registry.schema(version.schema.id)
    where = f"version {version.number} of {version.subject}"
    kind = {"avro": "AVRO", "json-schema": "JSON", "protobuf": "PROTOBUF"}[name]
    if schema.kind != kind:
        found = {"JSON": "json-schema"}.get(schema.kind, schema.kind.lower())
        raise UsageError(f"--format {name}: {where} is {schema.kind}; use --format {found}")
    try:
        write = writer_of(schema)
        check = json_validator(schema) if kind == "JSON" else None
    except ValueError as error:
        raise InvalidArgument(f"--format {name}: {where}: {error}") from None

    def encode(value: Any) -> bytes:
        try:
            if check is not None:
                check(value)
            return write(value)
        except ValidationFailed as error:
            raise LineError(f"{error} ({where})") from None

    return encode
