"""Zigzag varints, the integers inside a record.

A signed integer is folded so that small magnitudes become small unsigned ones (0, -1, 1, -2 -> 0,
1, 2, 3), then written with seven bits per byte, lowest first; the top bit says that more follow. A
varint holds 32 bits in at most 5 bytes, a varlong 64 bits in at most 10. Both are read here as up
to 10 bytes: every length is compared with the available bytes anyway.
"""

from barnabas.records.errors import CorruptBatch

_LAST_SHIFT = 63  # of the tenth byte, which has room for one bit


def _encode(value: int) -> bytes:
    folded = (value << 1) ^ (value >> 63)
    out = bytearray()
    while folded > 0x7F:
        out.append(folded & 0x7F | 0x80)
        folded >>= 7
    out.append(folded)
    return bytes(out)


# Lengths and deltas are nearly always small: a table look-up instead of a loop.
SMALL_VARINTS = tuple(_encode(value) for value in range(8192))
SMALL_VARINT_END = len(SMALL_VARINTS)


def encode_varint(value: int) -> bytes:
    """The bytes of `value`, which fits in 64 signed bits."""
    if 0 <= value < SMALL_VARINT_END:
        return SMALL_VARINTS[value]
    return _encode(value)


def decode_varint(data: bytes | memoryview, at: int) -> tuple[int, int]:
    """The value at `at`, and the position behind it.

    Raises IndexError where `data` ends inside the varint: the caller converts that once, instead
    of checking before every byte.
    """
    byte = data[at]
    if byte < 0x80:
        return (byte >> 1) ^ -(byte & 1), at + 1
    folded = byte & 0x7F
    shift = 7
    while shift < _LAST_SHIFT:
        at += 1
        byte = data[at]
        if byte < 0x80:
            folded |= byte << shift
            return (folded >> 1) ^ -(folded & 1), at + 1
        folded |= (byte & 0x7F) << shift
        shift += 7
    at += 1
    if data[at] > 1:
        raise CorruptBatch("a varint has more than 64 bits")
    folded |= data[at] << _LAST_SHIFT
    return (folded >> 1) ^ -(folded & 1), at + 1
