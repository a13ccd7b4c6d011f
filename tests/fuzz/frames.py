"""Frames that an honest client would not send: random, mutated, and well-formed nonsense."""

from typing import Any

from hypothesis import strategies as st

from barnabas.records.batch import patch_crc
from barnabas.records.compression import Compression
from barnabas.records.encode import encode_batch
from barnabas.records.record import Record
from barnabas.wire.framing import encode_request
from barnabas.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from barnabas.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from barnabas.wire.primitives import UnsupportedFieldError, WireError
from tests.support.messages import MESSAGES, Instances, KnownMessage, any_value, in_version
from tools.codegen.schema import Field

NAMES = ["fuzz", "fuzz-group", "", "__consumer_offsets", "retention.ms", "consumer", "range", "1"]
REQUESTS = [known for known in MESSAGES if known.block.kind == "request"]


def _batches() -> list[bytes]:
    batch = bytes(encode_batch([Record(1, b"key", b"value"), Record(2, None, b"")]))
    cut, flipped = batch[:-3], bytearray(batch)
    flipped[30] ^= 0x10
    return [batch, batch * 3, cut, bytes(flipped), b"", b"\0" * 80]


def _likely(field: Field) -> st.SearchStrategy[Any]:
    """Values that come through the first checks, and any others."""
    match field.element:
        case "string":
            return st.sampled_from(NAMES) | any_value(field)
        case "int8" | "int16" | "int32" | "int64":
            return st.sampled_from([0, 1, -1, 2, 100]) | any_value(field)
        case "records":
            return st.sampled_from(_batches()) | any_value(field)
        case _:
            return any_value(field)


_instances = Instances(_likely)


@st.composite
def well_formed(draw: st.DrawFn) -> bytes:
    """A request that can be read; what it asks may be absurd."""
    known: KnownMessage = draw(st.sampled_from(REQUESTS))
    version = draw(st.sampled_from(known.versions))
    request = in_version(known, draw(_instances(known)), version)
    try:
        return b"".join(encode_request(request, version, draw(st.integers(0, 100)), "fuzz"))
    except (UnsupportedFieldError, WireError):
        return b"\0\0\0\0"


@st.composite
def produce(draw: st.DrawFn) -> bytes:
    """Batches for partitions that exist, some of them damaged after their checksum was made."""
    rows = [Record(1_700_000_000_000 + i, b"key", b"value %d" % i) for i in range(5)]
    compression = draw(st.sampled_from(Compression))
    records = bytearray(encode_batch(rows, compression=compression))
    for _ in range(draw(st.integers(0, 2))):
        records[draw(st.integers(0, len(records) - 1))] = draw(st.integers(0, 255))
    if draw(st.booleans()):
        patch_crc(records)
    del records[draw(st.integers(len(records) // 2, len(records) * 2)) :]
    data = [PartitionProduceData(draw(st.integers(-1, 2)), bytes(records))]
    topics = [TopicProduceData("fuzz", partition_data=data)]
    request = ProduceRequest(None, draw(st.sampled_from([-1, 0, 1])), 1000, topics)
    return b"".join(encode_request(request, draw(st.integers(3, 12)), 7, "fuzz"))


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A request with some bytes changed, cut out or put in; its length is right again."""
    body = bytearray(draw(well_formed())[4:])
    for _ in range(draw(st.integers(1, 4))):
        position = draw(st.integers(0, len(body)))
        change = draw(st.sampled_from(["set", "flip", "cut", "put"]))
        if change == "put":
            body[position:position] = draw(st.binary(max_size=8))
        elif change == "cut":
            del body[position : position + draw(st.integers(1, 8))]
        elif position < len(body):
            value = draw(st.integers(0, 255))
            body[position] = value if change == "set" else body[position] ^ (1 << value % 8)
    return len(body).to_bytes(4, "big") + body


random_frame = st.binary(max_size=200).map(lambda body: len(body).to_bytes(4, "big") + body)
known_api = st.builds(
    lambda key, version, rest: (
        (len(rest) + 8).to_bytes(4, "big")
        + key.to_bytes(2, "big", signed=True)
        + version.to_bytes(2, "big", signed=True)
        + bytes(4)
        + rest
    ),
    st.integers(-1, 80),
    st.integers(-1, 20),
    st.binary(max_size=80),
)
"""A header that makes sense, whatever follows."""

garbage = st.binary(max_size=100)
"""Bytes whose length says anything."""

frames = st.one_of(
    well_formed(), well_formed(), mutated(), mutated(), produce(), random_frame, known_api
)
_GREETING = b"".join(encode_request(MetadataRequest([MetadataRequestTopic(name="fuzz")]), 9, 0, ""))
"""Brings the topic back into being that some conversation may have deleted."""

conversations = st.builds(
    lambda sent, end: b"".join((_GREETING, *sent, end)),
    st.lists(frames, max_size=6),
    st.just(b"") | garbage,
)
"""All that one connection sends."""
