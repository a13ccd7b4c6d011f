"""DER, the encoding of certificates and revocation lists: a tag, a length, and that many bytes."""

from collections.abc import Iterator
from typing import NamedTuple

INTEGER = 0x02
SEQUENCE = 0x30
_LONG = 0x80


class Element(NamedTuple):
    """One value; that of a sequence or set has further elements in it."""

    tag: int
    content: bytes
    encoded: bytes


def elements_of(data: bytes) -> Iterator[Element]:
    """The elements that follow each other. Raises `IndexError` if the data ends too early."""
    at = 0
    while at < len(data):
        start, tag, length = at, data[at], data[at + 1]
        at += 2
        if length & _LONG:
            count = length & ~_LONG
            length = int.from_bytes(data[at : at + count])
            at += count
        yield Element(tag, data[at : at + length], data[start : at + length])
        at += length
