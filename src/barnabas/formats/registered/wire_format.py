"""The usual wire format: a zero byte, the id of a schema, and the data."""

_MAGIC = 0
HEADER = 5
_MAX_INDEXES = 32


def schema_id(data: bytes | None) -> int | None:
    """The id that data begins with; None if it is of another format."""
    if data is None or len(data) < HEADER or data[0] != _MAGIC:
        return None
    return int.from_bytes(data[1:HEADER], "big")


def message_indexes(data: bytes, at: int = HEADER) -> tuple[list[int], int]:
    """Which message of a Protobuf file it is, by its place at each level; and where it begins.

    Raises ValueError.
    """
    count, at = _varint(data, at)
    if count == 0:  # short for the first one
        return [0], at
    if not 0 < count <= _MAX_INDEXES:
        raise ValueError(f"{count} message indexes")
    indexes = []
    for _ in range(count):
        index, at = _varint(data, at)
        indexes.append(index)
    return indexes, at


def header(number: int) -> bytes:
    """What data of this schema begins with."""
    return bytes([_MAGIC]) + number.to_bytes(HEADER - 1, "big")


def index_bytes(indexes: list[int]) -> bytes:
    """Which message of a Protobuf file follows."""
    if indexes == [0]:
        return b"\0"
    return b"".join(_varint_bytes(each) for each in (len(indexes), *indexes))


def _varint_bytes(number: int) -> bytes:
    rest, data = number << 1, bytearray()
    while rest > 0x7F:
        data.append(rest & 0x7F | 0x80)
        rest >>= 7
    data.append(rest)
    return bytes(data)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A number with its sign in the lowest bit."""
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise ValueError("the message indexes are cut off")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), at
        shift += 7
