"""Bytes from unknown senders: they end in a message or in a `WireError`, and cost little memory."""

import random
import struct
import tracemalloc
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from barnabas.wire.framing import decode_request, decode_request_header, decode_response
from barnabas.wire.message import Message
from barnabas.wire.primitives import Reader, WireError
from tests.support.messages import MESSAGES, KnownMessage, encode, in_version, instances
from tests.support.tier import examples
from tools.codegen.schema import Field

BYTES_PER_BYTE = 64
"""What a decoded message may cost for each byte of its frame: an empty string is one byte there
and a reference in a list here, a structure with an empty list is three bytes there and two
objects here."""

quick = settings(
    max_examples=examples(10),
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
    phases=[Phase.generate, Phase.shrink],
)
ELEMENTS = 1000
"""Of an array: enough for memory per element to outweigh what any message takes."""

ON_THE_WIRE = [known for known in MESSAGES if known.block.kind != "record"]


def _has_array(known: KnownMessage) -> bool:
    version = known.versions[-1]
    return any(f.is_array and version in f.versions for f in known.present(known.block.fields))


def receive(known: KnownMessage, body: bytes, version: int) -> Message | None:
    """What the framing makes of a body: the message, or None when it is refused."""
    flexible = version in known.block.flexible
    tags = b"\0" if flexible and known.block.key != 18 else b""
    try:
        if known.block.kind == "request":
            tags = b"\0" if flexible else b""
            return decode_request(Reader(tags + body), known.type, version)  # type: ignore[type-var]
        return decode_response(bytes(4) + tags + body, known.type, version)  # type: ignore[type-var]
    except WireError:
        return None


@pytest.mark.parametrize("known", ON_THE_WIRE, ids=str)
@quick
@given(data=st.data())
def test_a_cut_message_is_refused_at_every_byte(known: KnownMessage, data: st.DataObject) -> None:
    version = data.draw(st.sampled_from(known.versions))
    message = in_version(known, data.draw(instances(known)), version)
    body = encode(message, version)
    assert receive(known, body, version) == message
    for length in range(len(body)):
        assert receive(known, body[:length], version) is None


@pytest.mark.parametrize("known", ON_THE_WIRE, ids=str)
@quick
@given(data=st.data())
def test_flipped_bits_and_random_bytes_raise_nothing_else(
    known: KnownMessage, data: st.DataObject
) -> None:
    version = data.draw(st.sampled_from(known.versions))
    body = bytearray(encode(in_version(known, data.draw(instances(known)), version), version))
    dice = random.Random(data.draw(st.integers(0, 2**32)))
    for _ in range(20):
        mutated = bytearray(body)
        for _ in range(dice.randint(1, 3)):
            if mutated:
                mutated[dice.randrange(len(mutated))] ^= 1 << dice.randrange(8)
        receive(known, bytes(mutated), version)
        receive(known, dice.randbytes(dice.randrange(64)), version)


@pytest.mark.parametrize("length", [-2, 2**31 - 1, -(2**31), 60_000])
def test_a_length_beyond_the_frame_is_refused_before_anything_is_allocated(length: int) -> None:
    lies = struct.pack(">i", length) + bytes(50)
    compact_lies = b"\xff\xff\xff\xff\x0f" + bytes(50)
    reads = ["binary", "nullable_binary", "nullable_records", "array", "nullable_array"]
    for name in reads:
        _assert_refused_cheaply(name, lies)
    for name in [f"compact_{name}" for name in [*reads, "string", "nullable_string"]]:
        _assert_refused_cheaply(name, compact_lies)
    _assert_refused_cheaply("string", b"\x7f\xff" + bytes(50))
    _assert_refused_cheaply("nullable_string", b"\xff\xfe" + bytes(50))
    _assert_refused_cheaply("skip_tags", b"\x01\x00\xff\xff\xff\xff\x0f")


def _assert_refused_cheaply(method: str, data: bytes) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(WireError):
            getattr(Reader(data), method)()
        assert tracemalloc.get_traced_memory()[1] < 20_000
    finally:
        tracemalloc.stop()


def test_numbers_are_counted_before_they_are_read() -> None:
    with pytest.raises(WireError):
        Reader(bytes(39)).numbers(10, "i", 4)
    assert Reader(bytes(40)).numbers(10, "i", 4) == [0] * 10


@pytest.mark.parametrize("data", [b"", b"\x80", b"\xff\xff\xff\xff", b"\xff" * 6])
def test_an_endless_integer_is_refused(data: bytes) -> None:
    with pytest.raises(WireError):
        Reader(data).uvarint()


def test_the_budget_of_elements_is_shared_by_all_arrays() -> None:
    data = (struct.pack(">i", 4) + bytes(4)) * 3
    r = Reader(data, max_elements=8)
    for _ in range(2):
        r.numbers(r.array(), "b", 1)
    with pytest.raises(WireError, match="too many"):
        r.array()


@pytest.mark.parametrize("known", [known for known in ON_THE_WIRE if _has_array(known)], ids=str)
def test_memory_stays_in_proportion_to_the_frame(known: KnownMessage) -> None:
    """The worst a sender can do: arrays full of the smallest elements there are."""
    version = known.versions[-1]
    message = in_version(known, known.type(), version)
    _fill(known, message, known.block.fields, version, ELEMENTS)
    body = encode(message, version)
    receive(known, body, version)  # warm caches of the interpreter
    tracemalloc.start()
    try:
        assert receive(known, body, version) is not None
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < BYTES_PER_BYTE * len(body) + 20_000


def _fill(known: KnownMessage, struct: Any, fields: list[Field], version: int, count: int) -> None:
    for f in known.present(fields):
        if version not in f.versions or not f.is_array:
            continue
        if f.is_basic:
            element: Any = {"string": "", "bytes": b"", "uuid": bytes(16)}.get(f.element, 0)
        else:
            element = in_version_default(known, f, version)
        setattr(struct, f.attribute, [element] * count)


def in_version_default(known: KnownMessage, field: Field, version: int) -> Any:
    element = known.struct(field.element)()
    for f in known.present(known.fields_of(field)):
        if version in f.versions and getattr(element, f.attribute) is None and f.is_array:
            setattr(element, f.attribute, [])
    return element


def test_unknown_tagged_fields_are_skipped() -> None:
    known = next(m for m in MESSAGES if str(m) == "HeartbeatRequest")
    version = known.versions[-1]
    body = encode(known.type(), version)
    assert body.endswith(b"\0")
    with_tags = body[:-1] + b"\x02" + b"\x05\x03abc" + b"\xc8\x01\x00"
    assert receive(known, with_tags, version) == known.type()
    assert receive(known, with_tags[:-1], version) is None
    tagged_header = b"\x01\x07\x02hi" + body
    assert decode_request(Reader(tagged_header), known.type, version) == known.type()  # type: ignore[type-var]


def test_a_known_tagged_field_must_have_the_size_it_says() -> None:
    known = next(m for m in MESSAGES if str(m) == "FetchRequest")
    version = known.versions[-1]
    request: Any = known.type()
    request.cluster_id = "abc"
    body = encode(request, version)
    assert body.endswith(b"\x01\x00\x04\x04abc")
    assert receive(known, body, version) == request
    assert receive(known, body[:-5] + b"\x05\x04abcd", version) is None
    assert receive(known, body[:-5] + b"\x03\x04abc", version) is None


@given(st.binary(max_size=40))
def test_a_request_header_is_read_or_refused(data: bytes) -> None:
    try:
        header = decode_request_header(Reader(data))
    except WireError:
        return
    assert len(data) >= 10
    assert header.correlation_id == int.from_bytes(data[4:8], "big", signed=True)
