"""Keys of states, as people write them."""

import struct
from enum import StrEnum

from barnabas.errors import InvalidArgument


class KeyFormat(StrEnum):
    """How the keys of records are written as text: `int` has 8 bytes, as Java's Long."""

    STR = "str"
    INT = "int"
    HEX = "hex"


def key_of(text: str, form: KeyFormat = KeyFormat.STR) -> bytes:
    """The bytes of a key; raises `InvalidArgument`."""
    try:
        match form:
            case KeyFormat.STR:
                return text.encode("utf-8", "surrogateescape")
            case KeyFormat.INT:
                return struct.pack(">q", int(text))
            case KeyFormat.HEX:
                return bytes.fromhex(text)
    except (ValueError, struct.error) as error:
        raise InvalidArgument(f"the key {text!r} is not {form.value}: {error}") from None


def text_of(key: bytes, form: KeyFormat = KeyFormat.STR) -> str:
    """The same back; what does not fit the format is hexadecimal."""
    match form:
        case KeyFormat.INT if len(key) == struct.calcsize(">q"):
            return str(struct.unpack(">q", key)[0])
        case KeyFormat.STR:
            try:
                return key.decode()
            except UnicodeDecodeError:
                return key.hex()
    return key.hex()
