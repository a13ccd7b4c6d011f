"""`barnabas.client.producer.row_packer` without the compiled kernel."""

from collections.abc import Sequence
from threading import RLock
from time import time_ns
from typing import Generic, NamedTuple, TypeVar

from barnabas.records.batch import HEADER_SIZE
from barnabas.records.encode import encode_record
from barnabas.records.record import Header

MAX_BATCH_BYTES = (1 << 31) - 1
_MAX_TIMESTAMP = (1 << 63) - 1
_NS_PER_MS = 1_000_000


class PlainReceipt:
    """What stands for one record of a batch: the batch, its index there, and its timestamp.

    Made by `RowPacker.add` only, and never by calling it. Read only.
    """

    __slots__ = ("batch", "index", "timestamp_ms")

    batch: "PlainRowPacker[PlainReceipt]"
    index: int
    timestamp_ms: int


ReceiptT_co = TypeVar("ReceiptT_co", bound=PlainReceipt, covariant=True)


class TakenRows(NamedTuple):
    """The records of a batch behind room for its header. (The kernel gives a plain tuple.)"""

    buffer: bytearray
    record_count: int
    base_timestamp: int
    max_timestamp: int


class PlainRowPacker(Generic[ReceiptT_co]):
    """Packs the records of one batch, for many threads at once.

    Meant to be a base class: receipts then lead to the whole batch. `receipt_type` is a subclass of
    `Receipt` with empty slots.

    `max_bytes`, which may be changed at any time, bounds `size`: the bytes so far, the batch's
    header included, before compression. `max_records` bounds `record_count`, which is 0
    again once the records were taken.
    """

    __slots__ = (
        "_base_timestamp",
        "_closed",
        "_lock",
        "_max_timestamp",
        "_parts",
        "_receipt_type",
        "_size",
        "max_bytes",
        "max_records",
    )

    def __init__(
        self,
        receipt_type: type[ReceiptT_co],
        max_bytes: int = MAX_BATCH_BYTES,
        max_records: int = MAX_BATCH_BYTES,
    ) -> None:
        if not _is_receipt_type(receipt_type):
            raise TypeError("receipt_type is a subclass of Receipt, with empty slots")
        self.max_bytes = max_bytes
        self.max_records = max_records
        self._receipt_type = receipt_type
        self._lock = RLock()  # a finalizer may send something in the middle of `add`
        self._parts: list[bytes] = []
        self._size = HEADER_SIZE
        self._base_timestamp = 0
        self._max_timestamp = 0
        self._closed = False

    @property
    def size(self) -> int:
        return self._size

    @property
    def record_count(self) -> int:
        return len(self._parts)

    @property
    def closed(self) -> bool:
        return self._closed

    def add(
        self,
        timestamp_ms: int | None,
        key: bytes | None,
        value: bytes | None,
        headers: Sequence[Header],
        /,
    ) -> ReceiptT_co | None:
        """Add a record, whose timestamp is now by default; None if it is declined."""
        if not _is_ordinary(timestamp_ms, key, value, headers):
            return None
        timestamp = time_ns() // _NS_PER_MS if timestamp_ms is None else timestamp_ms
        with self._lock:
            part = b""
            index = -1
            while index != len(self._parts):
                index = len(self._parts)
                base = self._base_timestamp if index else timestamp
                try:
                    part = encode_record(timestamp - base, index, key, value, headers)
                except UnicodeEncodeError:  # half a surrogate pair in a header's key
                    return None
            size = self._size + len(part)
            if self._closed or index >= self.max_records:
                return None
            if size > self.max_bytes or size > MAX_BATCH_BYTES:
                return None
            self._parts.append(part)
            self._size = size
            self._base_timestamp = base
            self._max_timestamp = max(timestamp, self._max_timestamp)
        receipt = self._receipt_type.__new__(self._receipt_type)
        receipt.batch = self
        receipt.index = index
        receipt.timestamp_ms = timestamp
        return receipt

    def close(self) -> None:
        """Decline whatever comes from now on."""
        with self._lock:
            self._closed = True

    def take(self) -> TakenRows:
        """Close it and give its records away; ValueError if there are none, or none any more."""
        with self._lock:
            self._closed = True
            if not self._parts:
                raise ValueError("a batch needs at least one record")
            buffer = bytearray().join((bytes(HEADER_SIZE), *self._parts))
            count = len(self._parts)
            self._parts = []
            return TakenRows(buffer, count, self._base_timestamp, self._max_timestamp)


def _is_receipt_type(type_: type) -> bool:
    return (
        issubclass(type_, PlainReceipt)
        and type_.__basicsize__ == PlainReceipt.__basicsize__
        and type_.__dictoffset__ == 0
    )


def _is_ordinary(
    timestamp_ms: object, key: object, value: object, headers: Sequence[object]
) -> bool:
    if timestamp_ms is not None and (
        type(timestamp_ms) is not int or not 0 <= timestamp_ms <= _MAX_TIMESTAMP
    ):
        return False
    if not (_is_bytes_or_none(key) and _is_bytes_or_none(value)):
        return False
    if type(headers) is not tuple and type(headers) is not list:
        return False
    return all(
        type(pair) is tuple
        and len(pair) == 2
        and type(pair[0]) is str
        and _is_bytes_or_none(pair[1])
        for pair in headers
    )


def _is_bytes_or_none(value: object) -> bool:
    return value is None or type(value) is bytes
