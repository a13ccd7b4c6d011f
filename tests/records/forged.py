"""Batches that are right outside and anything inside."""

from barnabas.records.batch import HEADER_SIZE, patch_crc
from barnabas.records.compression import Compression, compress
from barnabas.records.encode import encode_batch
from barnabas.records.varint import encode_varint

INT32_MAX = 2**31 - 1


def with_payload(
    payload: bytes, *, record_count: int = 1, compression: Compression = Compression.NONE
) -> bytearray:
    """A batch with a right CRC around any bytes."""
    payload = compress(compression, payload)
    batch = encode_batch([(0, None, None, ())])[:HEADER_SIZE] + payload
    batch[8:12] = (len(batch) - 12).to_bytes(4, "big")
    batch[21:23] = int(compression).to_bytes(2, "big")
    batch[57:61] = record_count.to_bytes(4, "big", signed=True)
    patch_crc(batch)
    return batch


def record(*fields: bytes | int) -> bytes:
    """A record of a right length around any fields; integers become varints."""
    body = b"\x00" + b"".join(encode_varint(f) if isinstance(f, int) else f for f in fields)
    return encode_varint(len(body)) + body


# Payloads of one record that no reader takes.
MALFORMED = [
    record(0, 0, -1, -1, INT32_MAX),
    record(0, 0, -1, -1, -2),
    record(0, 0, -1, INT32_MAX, 0),
    record(0, 0, INT32_MAX, -1, 0),
    record(0, 0, 2**62, -1, 0),
    record(0, 0, -1, -1, 1, INT32_MAX, b"h", -1),
    record(0, 0, -1, -1, 1, -1, -1, b"h"),
    record(0, 0, -1, -1, 1, 1, b"h", INT32_MAX),
    record(0, 0, -1, -1, 0, b"too much"),
    record(0, 0, -1, 3, b"ab", 0)[:-1],
    record(0, 0, -1, -1) + bytes(3),
    record(0, 0, -1, 8, b"reaches"),
    encode_varint(INT32_MAX) + bytes(20),
    encode_varint(-1) + bytes(20),
    encode_varint(5) + bytes(20),
    b"\xff" * 20,
    record(b"\xff" * 11, 0, -1, -1, 0),
    record(b"\xff" * 9 + b"\x02", 0, -1, -1, 0),
    record(0, 0, -1, -1, 0) + b"behind the last record",
    b"",
    bytes(6),
]
