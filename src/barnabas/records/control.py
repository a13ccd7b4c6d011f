"""Control records: transaction markers, which brokers write.

A control batch has one record, with this key:

    version             int16
    type                int16   0 abort, 1 commit; others belong to Kafka's own metadata log

and whose value, for the two that end a transaction, is

    version             int16
    coordinator_epoch   int32

A newer version may append fields to both; they are ignored.
"""

from enum import IntEnum
from struct import Struct, error
from typing import NamedTuple

from barnabas.records.encode import encode_batch
from barnabas.records.errors import CorruptBatch
from barnabas.records.record import Record

_KEY = Struct(">hh")
_VALUE = Struct(">hi")


class ControlType(IntEnum):
    """The control records that end a transaction."""

    ABORT = 0
    COMMIT = 1


class ControlRecord(NamedTuple):
    """A parsed control record.

    `type` is compared with `ControlType` and keeps numbers unknown to it; `coordinator_epoch` is
    None for those, whose values have another layout.
    """

    type: int
    coordinator_epoch: int | None
    version: int = 0


def parse_control_record(record: Record) -> ControlRecord:
    """Parse a record of a control batch. Raises `CorruptBatch` if it is too short."""
    try:
        version, type_ = _KEY.unpack_from(record.key or b"")
        if type_ not in (ControlType.ABORT, ControlType.COMMIT):
            return ControlRecord(type_, None, version)
        _, coordinator_epoch = _VALUE.unpack_from(record.value or b"")
    except error as cause:
        raise CorruptBatch("a control record is cut off") from cause
    return ControlRecord(type_, coordinator_epoch, version)


def encode_end_marker(
    type_: ControlType,
    *,
    timestamp_ms: int,
    producer_id: int,
    producer_epoch: int,
    coordinator_epoch: int,
    base_offset: int = 0,
    leader_epoch: int = -1,
) -> bytearray:
    """The control batch that ends a producer's transaction in one partition."""
    return encode_batch(
        [(timestamp_ms, _KEY.pack(0, type_), _VALUE.pack(0, coordinator_epoch), ())],
        base_offset=base_offset,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        leader_epoch=leader_epoch,
        transactional=True,
        control=True,
    )
