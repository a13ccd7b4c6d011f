"""The producer's options as people write them."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, TypedDict

from barnabas.client.connect.security_settings import SecurityValue
from barnabas.client.producer.record_producer import ACKS_ALL, Partitioner
from barnabas.errors import InvalidArgument
from barnabas.records.compression import Compression

if TYPE_CHECKING:
    from barnabas.formats import Registry

Acks = Literal["all", 1, 0]
CompressionName = Literal["none", "gzip", "snappy", "lz4", "zstd"]


class ProducerOptions(TypedDict, total=False):
    """The options of a producer that do not concern the types of its records."""

    acks: Acks
    compression: CompressionName
    linger_ms: float
    batch_bytes: int
    batch_records: int | None
    buffer_bytes: int
    delivery_timeout_ms: int
    request_timeout_ms: int
    partitioner: Partitioner | None
    idempotent: bool | None
    transactional_id: str | None
    transaction_timeout_ms: int
    auto_create: bool
    client_id: str
    registry: "str | Registry | None"
    security: Mapping[str, SecurityValue] | None


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
