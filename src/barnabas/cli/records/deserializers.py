"""Keys and values from bytes to what is shown.

string  UTF-8; other bytes are shown as \\xNN
long    a signed big-endian integer of 8 bytes, as Java's LongSerializer writes it
json    UTF-8, parsed, and printed in one line
hex     two digits a byte
raw     the bytes unchanged; in JSON like string
avro, json-schema, protobuf: data whose schema a registry has, as JSON
"""

import json
import struct
from collections.abc import Callable
from enum import StrEnum
from typing import TypeAlias

JsonValue = str | int | float | bool | None | list["JsonValue"] | dict[str, "JsonValue"]

_LONG = struct.Struct(">q")


class Deserializer(StrEnum):
    """How to read a key or a value."""

    STRING = "string"
    LONG = "long"
    JSON = "json"
    HEX = "hex"
    RAW = "raw"
    AVRO = "avro"
    JSON_SCHEMA = "json-schema"
    PROTOBUF = "protobuf"

    @property
    def is_registered(self) -> bool:
        """Whether a registry has the schemas."""
        return self in (self.AVRO, self.JSON_SCHEMA, self.PROTOBUF)


class UndecodableError(ValueError):
    """Bytes that are not in the expected format."""


Texts: TypeAlias = Callable[[Deserializer], Callable[[bytes], str]]
"""Data with the id of a schema to JSON, for deserializers that need a registry."""


def no_texts(deserializer: Deserializer) -> Callable[[bytes], str]:
    """Without a registry."""
    raise AssertionError(deserializer)


def decoder(deserializer: Deserializer, texts: Texts = no_texts) -> Callable[[bytes], JsonValue]:
    """The function that makes a value for JSON output."""
    if deserializer.is_registered:
        text_of = texts(deserializer)
        return lambda data: json.loads(text_of(data))
    return _DECODERS[deserializer]


def renderer(deserializer: Deserializer, texts: Texts = no_texts) -> Callable[[bytes], bytes]:
    """The function that makes the bytes for text output."""
    match deserializer:
        case Deserializer.AVRO | Deserializer.JSON_SCHEMA | Deserializer.PROTOBUF:
            text_of = texts(deserializer)
            return lambda data: text_of(data).encode("utf-8", "backslashreplace")
        case Deserializer.RAW:
            return bytes
        case Deserializer.STRING:
            return _render_string
        case Deserializer.JSON:
            return lambda data: json.dumps(
                _json(data), ensure_ascii=False, separators=(",", ":")
            ).encode("utf-8", "backslashreplace")
        case Deserializer.LONG | Deserializer.HEX:
            decode = _DECODERS[deserializer]
            return lambda data: str(decode(data)).encode()


def _render_string(data: bytes) -> bytes:
    try:
        data.decode()
    except UnicodeDecodeError:
        return data.decode(errors="backslashreplace").encode()
    return data


def _string(data: bytes) -> str:
    return data.decode(errors="backslashreplace")


def _long(data: bytes) -> int:
    if len(data) != _LONG.size:
        raise UndecodableError(f"a long is {_LONG.size} bytes, got {len(data)}")
    return int(_LONG.unpack(data)[0])


def _json(data: bytes) -> JsonValue:
    try:
        value: JsonValue = json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise UndecodableError("not JSON: not UTF-8 text") from error
    except RecursionError as error:
        raise UndecodableError("JSON that is nested too deeply") from error
    except ValueError as error:
        raise UndecodableError(f"not JSON: {error}") from error
    return value


_DECODERS: dict[Deserializer, Callable[[bytes], JsonValue]] = {
    Deserializer.STRING: _string,
    Deserializer.RAW: _string,
    Deserializer.LONG: _long,
    Deserializer.JSON: _json,
    Deserializer.HEX: bytes.hex,
}
