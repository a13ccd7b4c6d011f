"""What one batch has changed in a state store: `VERSION.changelog`.

Compressed, a record is the length of the key, the key, the length of the value and the value, with
big-endian lengths. -1 for the length of a value stands for a deleted key, and -1 for that of a key
ends the file. Newer forms, which have column families, begin with `v` and their number.
"""

import struct
from collections.abc import Iterator

from barnabas.spark.pipelines.state_files.lz4_stream import decompress
from barnabas.spark.pipelines.state_files.unreadable import UnreadableState

_LENGTH = struct.Struct(">i")


def read_changelog(data: bytes) -> Iterator[tuple[bytes, bytes | None]]:
    """Keys with their new values, None for deleted ones, in the order of the changes."""
    text = decompress(data)
    if text[:3] == b"\x00\x02v":
        raise UnreadableState("a changelog with column families")
    at = 0

    def take() -> bytes | None:
        nonlocal at
        (length,) = _LENGTH.unpack_from(text, at)
        at += _LENGTH.size
        if length < 0:
            return None
        at += length
        return text[at - length : at]

    while (key := take()) is not None:
        yield key, take()
