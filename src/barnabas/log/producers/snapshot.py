"""A producer table as the bytes of a `<offset>.snapshot` file.

It is written when a segment rolls and when the log closes. Big-endian: version int16, CRC-32C
uint32 of the rest, then per producer

    producer_id int64, epoch int16, last_append_ms int64, number of batches int8,
    coordinator_epoch int32, transaction_offset int64, last_timestamp int64

and per batch base_sequence int32, last_sequence int32, base_offset int64, last_offset int64,
timestamp int64. Version 1, which knew no transactions, has no third line; it is still read.
"""

import struct
from struct import Struct

from crc32c import crc32c

from barnabas.log.producers.table import ProducerBatch, ProducerEntry, ProducerTable

_VERSION = 2
_WITHOUT_TRANSACTIONS = 1
_PREFIX = Struct(">hI")
_PRODUCER = Struct(">qhqb")
_TRANSACTION = Struct(">iqq")
_BATCH = Struct(">iiqqq")


def encode_producers(table: ProducerTable) -> bytes:
    body = bytearray()
    for producer_id, entry in table:
        batches = entry.batches
        body += _PRODUCER.pack(producer_id, entry.epoch, entry.last_append_ms, len(batches))
        body += _TRANSACTION.pack(
            entry.coordinator_epoch, entry.transaction_offset, entry.last_timestamp
        )
        for batch in batches:
            body += _BATCH.pack(*batch)
    return _PREFIX.pack(_VERSION, crc32c(body)) + body


def decode_producers(data: bytes, max_producers: int) -> ProducerTable | None:
    """The table as it was, or None if the snapshot is damaged."""
    entries: dict[int, ProducerEntry] = {}
    try:
        version, crc = _PREFIX.unpack_from(data)
        at = _PREFIX.size
        if version not in (_WITHOUT_TRANSACTIONS, _VERSION) or crc != crc32c(data[at:]):
            return None
        while at < len(data):
            producer_id, epoch, last_append_ms, count = _PRODUCER.unpack_from(data, at)
            at += _PRODUCER.size
            entry = entries[producer_id] = ProducerEntry(epoch)
            entry.last_append_ms = last_append_ms
            if version == _VERSION:
                transaction = _TRANSACTION.unpack_from(data, at)
                entry.coordinator_epoch, entry.transaction_offset, entry.last_timestamp = (
                    transaction
                )
                at += _TRANSACTION.size
            for _ in range(count):
                entry.batches.append(ProducerBatch._make(_BATCH.unpack_from(data, at)))
                at += _BATCH.size
    except struct.error:
        return None
    table = ProducerTable(max_producers)
    table.restore(entries)
    return table
