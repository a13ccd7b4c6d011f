"""Conversion of keys and values: by name, by type, or with a custom object.

By name, with `key_format` and `value_format` of the clients:

| name | values | bytes |
|---|---|---|
| `"bytes"` | bytes | the same |
| `"str"` | str | UTF-8 |
| `"int"` | int | 8 bytes, big-endian and signed, as Java's Long |
| `"json"` | what `json` knows | JSON without spaces, names in order: equal objects, equal bytes |

By type, with `key` and `value` of producers and consumers (`value=Order`), which type checkers
follow to `message.value`:

| type | bytes |
|---|---|
| `bytes`, `str`, `int` | as by name |
| dataclasses, TypedDicts, `list[...]`, `dict[str, ...]` | JSON, checked field by field |
| pydantic models, msgspec structs | JSON, with that library |
| generated protobuf classes | protobuf |
| classes with an Avro schema: `avro_schema()` or `__avro_schema__` | Avro without a header |

A record that does not match raises `UndecodableRecord`, which names the field. Null does not match
a type; `optional(Order)` accepts it. Any object with the two methods of `Format` is a format.

    named        the formats by name, and what encodes and decodes with any format
    typed        formats by type: which library a type comes from
    conversion   JSON to dataclasses and TypedDicts, and back
    libraries    pydantic, msgspec and protobuf, imported when a type of theirs is used
    avro         Avro records, with fastavro
    registered   formats whose schemas a registry has
    arrow        batches of Avro values as Arrow columns, and back

With a schema registry, `value_format="avro"`, `"json-schema"` or `"protobuf"` with `registry=` is
for producers, consumers and applications; `Registry` has its options.
"""

from typing import TYPE_CHECKING, Any

from barnabas.formats.avro import avro
from barnabas.formats.named import (
    BYTES,
    INT,
    JSON,
    STR,
    Format,
    FormatName,
    decoder,
    encoder,
    format_of,
)
from barnabas.formats.registered.choice import registry_of
from barnabas.formats.registered.not_loaded import SchemaNotLoadedError
from barnabas.formats.typed import choose, of, optional

if TYPE_CHECKING:
    from barnabas.formats.registered.registry import Registry

__all__ = [
    "BYTES",
    "INT",
    "JSON",
    "STR",
    "Format",
    "FormatName",
    "Registry",
    "SchemaNotLoadedError",
    "avro",
    "choose",
    "decoder",
    "encoder",
    "format_of",
    "of",
    "optional",
    "registry_of",
]

if not TYPE_CHECKING:  # loaded by those who use it: it needs an HTTP client

    def __getattr__(name: str) -> Any:
        if name != "Registry":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from barnabas.formats.registered.registry import Registry

        return Registry
