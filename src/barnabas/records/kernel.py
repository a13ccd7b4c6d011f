"""The compiled kernel, if there is one: work per record, in C.

`src/kernel/` has the code. Installing the package compiles it where there is a C compiler; where
there was none, or the build is of another version than this file, `kernel` is None, and Python
does the same, more slowly. So every use has a fallback with the same results.

The functions return None for anything unusual: malformed batches, and records of unusual types. The
fallback then raises the error.
"""

from array import array
from collections.abc import Sequence
from typing import Protocol, cast

from barnabas.compiled import load_compiled
from barnabas.records.batch import Buffer
from barnabas.records.message import Message
from barnabas.records.record import Record, Row

INTERFACE = 4
"""Goes up, here and in kernel.h, whenever a function takes or gives something else."""

# Buffers of an Arrow array: bitmap of what is not null, ends, data, and where the array begins.
BinaryColumn = tuple[Buffer | None, Buffer, Buffer | None, int]
HeadersColumn = tuple[Buffer | None, Buffer, int, BinaryColumn, BinaryColumn]


class Kernel(Protocol):
    """The functions of `barnabas.records._kernel`; details are in the C files."""

    INTERFACE: int
    Receipt: type
    RowPacker: type  # both are described in barnabas/client/producer/row_packer.py

    def check_records(
        self,
        payload: Buffer,
        at: int,
        record_count: int,
        last_offset_delta: int,
        base_timestamp: int,
        /,
    ) -> tuple[int, int, int] | None:
        """Earliest and latest timestamp of the records from `at` on, how many have no key."""
        ...

    def find_records(
        self,
        payload: Buffer,
        at: int,
        record_count: int,
        base_timestamp: int,
        from_timestamp: int,
        upto_timestamp: int,
        needs_key: bool,
        limit: int,
        /,
    ) -> list[tuple[int, int, int]]:
        """Index, timestamp and whether it has a key, of records without one or outside a range."""
        ...

    def decode_rows(
        self,
        record_type: type[Record],
        payload: Buffer,
        record_count: int,
        base_offset: int,
        base_timestamp: int,
        append_time: int | None,
        /,
    ) -> list[Record] | None:
        """The records of a payload."""
        ...

    def decode_messages(
        self,
        message_type: type[Message],
        payload: Buffer,
        record_count: int,
        base_offset: int,
        base_timestamp: int,
        append_time: int | None,
        topic: str,
        partition: int,
        start_offset: int,
        /,
    ) -> list[Message] | None:
        """The records of a payload from `start_offset` on, as messages of a partition."""
        ...

    def encode_rows(
        self, rows: Sequence[Row | Record], room: int, /
    ) -> tuple[bytearray, int, int] | None:
        """A payload with `room` bytes before it, its first and its greatest timestamp."""
        ...

    def decode_columns(
        self,
        payload: Buffer,
        record_count: int,
        base_offset: int,
        base_timestamp: int,
        append_time: int | None,
        start_offset: int,
        rows: int,
        sinks: tuple[bytearray | None, ...],
        sizes: "array[int]",
        /,
    ) -> int | None:
        """Append the records of a payload to the buffers of Arrow columns; how many they were."""
        ...

    def encode_columns(
        self,
        rows: Buffer | None,
        at: int,
        stop: int,
        max_bytes: int,
        room: int,
        timestamp: tuple[Buffer, int],
        key: BinaryColumn | None,
        value: BinaryColumn | None,
        headers: HeadersColumn | None,
        /,
    ) -> tuple[bytearray, int, int, int]:
        """A payload as above, and the position of the first row that did not fit any more."""
        ...

    def murmur2(self, data: Buffer, /) -> int:
        """The hash of a key."""
        ...

    def partition_for_key(self, key: Buffer, partition_count: int, /) -> int:
        """The partition of a key."""
        ...

    def partition_column(
        self, ends: Buffer, data: Buffer | None, first: int, rows: int, partition_count: int, /
    ) -> bytearray:
        """The partitions of a column of keys, int32."""
        ...


def _load() -> Kernel | None:
    return cast("Kernel | None", load_compiled("barnabas.records._kernel", INTERFACE))


kernel = _load()
