"""Reading keys and values of Mirror Maker 2, whoever wrote them."""

import struct
from typing import Self

from barnabas.coordination.record_format import CorruptRecord
from barnabas.wire.primitives import INT64, Reader, WireError

VERSION = 0
"""Of checkpoints and heartbeats; there is no other."""


class RecordFields:
    """The fields of a key or value, in order. Raises `CorruptRecord`, also for what is left over.

    Use it as a context manager.
    """

    def __init__(self, kind: str, data: bytes | None) -> None:
        if data is None:
            raise CorruptRecord(f"{kind} is null")
        self._kind = kind
        self._reader = Reader(data)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, WireError | UnicodeDecodeError | struct.error):
            raise CorruptRecord(f"malformed {self._kind}: {error}") from error
        if error is None and self._reader.remaining:
            raise CorruptRecord(f"{self._kind} has {self._reader.remaining} bytes too many")

    def version(self) -> None:
        """Read the version, and refuse those that are not known."""
        found = self._reader.int16()
        if found != VERSION:
            raise CorruptRecord(f"unsupported version {found} of {self._kind}")

    def string(self) -> str:
        return self._reader.string()

    def int32(self) -> int:
        return self._reader.int32()

    def int64(self) -> int:
        number: int = self._reader.run(INT64)[0]
        return number
