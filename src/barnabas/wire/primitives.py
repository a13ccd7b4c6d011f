"""The protocol's basic types: a bounds-checked reader and a writer.

The reader works in place on the receive buffer. No length or count is believed before the bytes
it promises are known to be there, and the number of array elements one message may hold is
limited, so a hostile frame costs no more memory than its own size times a small constant.

Fixed-width fields are read and written in runs by `struct.Struct`s of the generated codecs; a run
that would pass the end raises `struct.error`, which the framing turns into a `WireError`.
"""

from struct import Struct, unpack_from
from typing import Any

Buffer = bytes | bytearray | memoryview

INT8 = Struct(">b")
INT16 = Struct(">h")
INT32 = Struct(">i")
INT64 = Struct(">q")

_unpack_int16 = INT16.unpack_from
_unpack_int32 = INT32.unpack_from

DEFAULT_MAX_ELEMENTS = 1_000_000
"""Array elements one message may hold, all arrays together."""

ZERO_UUID = bytes(16)

MAX_STRING_BYTES = 0x7FFF
"""A string of the protocol, in every version; what may be longer is bytes or records."""

_BY_REFERENCE = 4096
"""Records at least this long are handed to the socket as they are instead of being copied."""


class WireError(ValueError):
    """Bytes that are not a message of the protocol, or a message that can't be put into bytes."""


class UnsupportedFieldError(WireError):
    """A request uses a field that the negotiated version can't carry."""

    def __init__(self, message: str, field: str, version: int) -> None:
        super().__init__(f"{message} version {version} can't carry {field}")


def cut(text: str) -> str:
    """As much of `text` as a string of the protocol can have."""
    if len(text) <= MAX_STRING_BYTES // 4:
        return text
    return text.encode()[:MAX_STRING_BYTES].decode(errors="ignore")


def _too_long(length: int) -> WireError:
    return WireError(f"a string of {length} bytes is too long, {MAX_STRING_BYTES} are allowed")


class Reader:
    """Reads one message from `buffer`, which holds exactly that message."""

    __slots__ = ("buffer", "elements_left", "end", "position")

    def __init__(self, buffer: Buffer, max_elements: int = DEFAULT_MAX_ELEMENTS) -> None:
        self.buffer = buffer
        self.position = 0
        self.end = len(buffer)
        self.elements_left = max_elements

    @property
    def remaining(self) -> int:
        return self.end - self.position

    def take(self, length: int) -> Buffer:
        """The next `length` bytes, not copied."""
        start = self.position
        stop = start + length
        if length < 0 or stop > self.end:
            raise self._missing(length)
        self.position = stop
        return self.buffer[start:stop]

    def _missing(self, length: int) -> WireError:
        return WireError(f"{length} bytes promised, {self.remaining} there")

    def run(self, fields: Struct) -> tuple[Any, ...]:
        """A run of fixed-width fields."""
        start = self.position
        self.position = start + fields.size
        return fields.unpack_from(self.buffer, start)

    def int16(self) -> int:
        start = self.position
        self.position = start + 2
        value: int = _unpack_int16(self.buffer, start)[0]
        return value

    def int32(self) -> int:
        start = self.position
        self.position = start + 4
        value: int = _unpack_int32(self.buffer, start)[0]
        return value

    def uvarint(self) -> int:
        """An unsigned variable-length integer of at most 32 bits."""
        position = self.position
        if position >= self.end:
            raise WireError("a variable-length integer is missing")
        byte = self.buffer[position]
        self.position = position + 1
        return byte if byte < 0x80 else self._long_uvarint(byte)

    def _long_uvarint(self, byte: int) -> int:
        position = self.position
        value = byte & 0x7F
        shift = 7
        while shift <= 28:
            if position >= self.end:
                raise WireError("a variable-length integer ends too early")
            byte = self.buffer[position]
            position += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                self.position = position
                return value & 0xFFFFFFFF
            shift += 7
        raise WireError("a variable-length integer is longer than five bytes")

    # -- strings ---------------------------------------------------------------------------------

    def _text(self, length: int) -> str:
        start = self.position
        stop = start + length
        if length < 0 or stop > self.end:
            raise self._missing(length)
        self.position = stop
        return str(self.buffer[start:stop], "utf-8")

    def string(self) -> str:
        length = self.int16()
        if length == -1:
            raise WireError("a string that must not be null is null")
        return self._text(length)

    def nullable_string(self) -> str | None:
        length = self.int16()
        return None if length == -1 else self._text(length)

    def compact_string(self) -> str:
        length = self.uvarint()
        if length == 0:
            raise WireError("a string that must not be null is null")
        if length > MAX_STRING_BYTES + 1:
            raise _too_long(length - 1)
        return self._text(length - 1)

    def compact_nullable_string(self) -> str | None:
        length = self.uvarint()
        if length > MAX_STRING_BYTES + 1:
            raise _too_long(length - 1)
        return None if length == 0 else self._text(length - 1)

    # -- bytes (copied: they outlive the receive buffer) -------------------------------------------

    def binary(self) -> bytes:
        data = self.nullable_binary()
        if data is None:
            raise WireError("bytes that must not be null are null")
        return data

    def nullable_binary(self) -> bytes | None:
        length = self.int32()
        return None if length == -1 else bytes(self.take(length))

    def compact_binary(self) -> bytes:
        data = self.compact_nullable_binary()
        if data is None:
            raise WireError("bytes that must not be null are null")
        return data

    def compact_nullable_binary(self) -> bytes | None:
        length = self.uvarint()
        return None if length == 0 else bytes(self.take(length - 1))

    # -- records (not copied: copy them to keep them) ----------------------------------------

    def nullable_records(self) -> Buffer | None:
        length = self.int32()
        return None if length == -1 else self.take(length)

    def compact_nullable_records(self) -> Buffer | None:
        length = self.uvarint()
        return None if length == 0 else self.take(length - 1)

    def compact_records(self) -> Buffer:
        records = self.compact_nullable_records()
        if records is None:
            raise WireError("records that must not be null are null")
        return records

    # -- arrays ----------------------------------------------------------------------------------

    def _count(self, count: int) -> int:
        """Every element takes at least a byte, so no honest count exceeds what is left."""
        if count < 0 or count > self.end - self.position:
            raise WireError(f"{count} array elements promised in {self.remaining} bytes")
        self.elements_left -= count
        if self.elements_left < 0:
            raise WireError("the message holds too many array elements or tagged fields")
        return count

    def array(self) -> int:
        count = self.int32()
        if count == -1:
            raise WireError("an array that must not be null is null")
        return self._count(count)

    def nullable_array(self) -> int | None:
        count = self.int32()
        return None if count == -1 else self._count(count)

    def compact_array(self) -> int:
        count = self.uvarint()
        if count == 0:
            raise WireError("an array that must not be null is null")
        return self._count(count - 1)

    def compact_nullable_array(self) -> int | None:
        count = self.uvarint()
        return None if count == 0 else self._count(count - 1)

    def numbers(self, count: int, letter: str, width: int) -> list[int]:
        """`count` integers of one width, read at once."""
        start = self.position
        stop = start + count * width
        if stop > self.end:
            raise WireError(f"{count} integers promised in {self.remaining} bytes")
        self.position = stop
        return list(unpack_from(f">{count}{letter}", self.buffer, start))

    # -- tagged fields -----------------------------------------------------------------------------

    def tag(self) -> tuple[int, int]:
        """The next tagged field: its tag, and where it ends. It counts as an element."""
        self._count(1)
        tag = self.uvarint()
        size = self.uvarint()
        stop = self.position + size
        if stop > self.end:
            raise WireError(f"tagged field {tag} promises {size} bytes, {self.remaining} there")
        return tag, stop

    def end_tag(self, stop: int) -> None:
        """A known tagged field must end where its size said."""
        if self.position != stop:
            raise WireError("a tagged field has another size than it says")

    def skip_tags(self) -> None:
        """Pass over tagged fields none of which is known."""
        start = self.position
        if start < self.end and self.buffer[start] == 0:  # as in nearly every message
            self.position = start + 1
            return
        for _ in range(self.uvarint()):
            _, self.position = self.tag()


class Writer:
    """Collects one message as a list of buffers, so that records need not be copied."""

    __slots__ = ("_chunks", "_flushed", "buffer", "errors")

    def __init__(self) -> None:
        self.buffer = bytearray()
        self.errors: list[int] = []
        """The error codes that were written; to be counted without a search for them."""
        self._chunks: list[Buffer] = []
        self._flushed = 0

    @property
    def size(self) -> int:
        return self._flushed + len(self.buffer)

    def chunks(self) -> list[Buffer]:
        """Everything written, in order."""
        return [*self._chunks, self.buffer] if self.buffer else self._chunks

    def getvalue(self) -> bytes:
        return b"".join(self.chunks())

    def uvarint(self, value: int) -> None:
        buffer = self.buffer
        while value > 0x7F:
            buffer.append(value & 0x7F | 0x80)
            value >>= 7
        buffer.append(value)

    # -- strings ---------------------------------------------------------------------------------

    def string(self, value: str | None) -> None:
        if value is None:
            raise WireError("a string that must not be null is null")
        data = value.encode()
        if len(data) > MAX_STRING_BYTES:
            raise _too_long(len(data))
        self.buffer += INT16.pack(len(data))
        self.buffer += data

    def nullable_string(self, value: str | None) -> None:
        if value is None:
            self.buffer += b"\xff\xff"
        else:
            self.string(value)

    def compact_string(self, value: str | None) -> None:
        if value is None:
            raise WireError("a string that must not be null is null")
        data = value.encode()
        if len(data) > MAX_STRING_BYTES:
            raise _too_long(len(data))
        self.uvarint(len(data) + 1)
        self.buffer += data

    def compact_nullable_string(self, value: str | None) -> None:
        if value is None:
            self.buffer.append(0)
        else:
            self.compact_string(value)

    # -- error messages: they may quote what is as long as a string can be -----------------

    def message(self, value: str) -> None:
        self.string(cut(value))

    def nullable_message(self, value: str | None) -> None:
        self.nullable_string(None if value is None else cut(value))

    def compact_message(self, value: str) -> None:
        self.compact_string(cut(value))

    def compact_nullable_message(self, value: str | None) -> None:
        if value is None:
            self.buffer.append(0)
        else:
            self.compact_string(cut(value))

    # -- bytes -----------------------------------------------------------------------------------

    def binary(self, value: Buffer | None) -> None:
        if value is None:
            raise WireError("bytes that must not be null are null")
        self.buffer += INT32.pack(len(value))
        self.buffer += value

    def nullable_binary(self, value: Buffer | None) -> None:
        if value is None:
            self.buffer += b"\xff\xff\xff\xff"
        else:
            self.binary(value)

    def compact_binary(self, value: Buffer | None) -> None:
        if value is None:
            raise WireError("bytes that must not be null are null")
        self.uvarint(len(value) + 1)
        self.buffer += value

    def compact_nullable_binary(self, value: Buffer | None) -> None:
        if value is None:
            self.buffer.append(0)
        else:
            self.compact_binary(value)

    # -- records ---------------------------------------------------------------------------------

    def _by_reference(self, value: Buffer) -> None:
        if len(value) < _BY_REFERENCE:
            self.buffer += value
            return
        self._chunks += (self.buffer, value)
        self._flushed += len(self.buffer) + len(value)
        self.buffer = bytearray()

    def nullable_records(self, value: Buffer | None) -> None:
        if value is None:
            self.buffer += b"\xff\xff\xff\xff"
        else:
            self.buffer += INT32.pack(len(value))
            self._by_reference(value)

    def compact_nullable_records(self, value: Buffer | None) -> None:
        if value is None:
            self.buffer.append(0)
        else:
            self.uvarint(len(value) + 1)
            self._by_reference(value)

    def compact_records(self, value: Buffer) -> None:
        self.uvarint(len(value) + 1)
        self._by_reference(value)

    # -- arrays ----------------------------------------------------------------------------------

    def array(self, count: int | None) -> None:
        if count is None:
            raise WireError("an array that must not be null is null")
        self.buffer += INT32.pack(count)

    def nullable_array(self, count: int | None) -> None:
        self.buffer += INT32.pack(-1 if count is None else count)

    def compact_array(self, count: int | None) -> None:
        if count is None:
            raise WireError("an array that must not be null is null")
        self.uvarint(count + 1)

    def compact_nullable_array(self, count: int | None) -> None:
        self.uvarint(0 if count is None else count + 1)

    # -- tagged fields -----------------------------------------------------------------------------

    def tagged(self, fields: list[tuple[int, "Writer"]]) -> None:
        """The tagged fields of one structure, in the order of their tags."""
        self.uvarint(len(fields))
        for tag, field in fields:
            self.uvarint(tag)
            self.uvarint(field.size)
            self.buffer += field.getvalue()
