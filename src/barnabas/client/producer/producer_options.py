"""The producer's options as people write them."""

from typing import Literal

from barnabas.client.producer.record_producer import ACKS_ALL
from barnabas.errors import InvalidArgument
from barnabas.records.compression import Compression

Acks = Literal["all", 1, 0]
CompressionName = Literal["none", "gzip", "snappy", "lz4", "zstd"]


def acks_of(acks: Acks) -> int:
    """The number that stands in requests."""
    if acks == "all":
        return ACKS_ALL
    if acks not in (0, 1):
        raise InvalidArgument(f'acks={acks!r}: it must be "all", 1 or 0')
    return acks


def compression_of(name: CompressionName) -> Compression:
    """The compression of that name."""
    try:
        return Compression[name.upper()]
    except KeyError:
        known = ", ".join(f'"{each.name.lower()}"' for each in Compression)
        raise InvalidArgument(f"compression={name!r} is unknown: it is one of {known}") from None
