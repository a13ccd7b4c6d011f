"""Frames out of a stream that comes in pieces of any size."""

import struct
from mmap import mmap

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.broker.net.receive_buffer import (
    INITIAL_BYTES,
    KEPT_BYTES,
    FrameTooLargeError,
    ReceiveBuffer,
)

LIMIT = 100 << 20


def put(buffer: ReceiveBuffer, data: bytes, most: int = 1 << 30) -> None:
    """Write like a socket does: as much at a time as there is room for, and at most `most`."""
    while data:
        room = buffer.free()
        assert len(room) > 0
        piece = data[: min(len(room), most)]
        room[: len(piece)] = piece
        room.release()
        buffer.received(len(piece))
        data = data[len(piece) :]


def frame(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


bodies = st.lists(
    st.one_of(st.binary(max_size=40), st.integers(0, 60_000).map(lambda size: b"x" * size)),
    max_size=12,
)


@settings(deadline=None)
@given(bodies, st.lists(st.integers(1, 40_000), min_size=1, max_size=20), st.booleans())
def test_what_goes_in_comes_out(bodies: list[bytes], pieces: list[int], greedy: bool) -> None:
    """Whether frames are taken as soon as they are whole, or only now and then."""
    buffer = ReceiveBuffer()
    stream = b"".join(map(frame, bodies))
    found: list[bytes] = []
    at = number = 0
    while at < len(stream):
        size = pieces[number % len(pieces)]
        put(buffer, stream[at : at + size])
        at += size
        number += 1
        if greedy or number % 3 == 0:
            while (body := buffer.next_frame(LIMIT)) is not None:
                found.append(bytes(body))
    while (body := buffer.next_frame(LIMIT)) is not None:
        found.append(bytes(body))
    assert found == bodies
    assert buffer.pending == 0


def test_frames_are_not_copied() -> None:
    """A handler patches the batch where it lies, and it is written from there."""
    buffer = ReceiveBuffer()
    put(buffer, frame(b"abc"))
    body = buffer.next_frame(LIMIT)
    assert body is not None
    assert not body.readonly
    assert body.obj is buffer._buffer


def test_several_views_stay_valid_until_more_is_read() -> None:
    buffer = ReceiveBuffer()
    put(buffer, frame(b"abc") + frame(b"def") + b"\0")
    views = [buffer.next_frame(LIMIT), buffer.next_frame(LIMIT)]
    assert buffer.next_frame(LIMIT) is None
    assert [bytes(view or b"") for view in views] == [b"abc", b"def"]


@pytest.mark.parametrize("size", [-1, -(2**31), 101, 2**31 - 1])
def test_lengths_that_are_not_allowed(size: int) -> None:
    buffer = ReceiveBuffer()
    put(buffer, struct.pack(">i", size))
    with pytest.raises(FrameTooLargeError):
        buffer.next_frame(100)


def test_memory_follows_what_has_come_not_what_is_claimed() -> None:
    buffer = ReceiveBuffer()
    put(buffer, struct.pack(">i", LIMIT))
    for _ in range(10):
        assert buffer.next_frame(LIMIT) is None
        put(buffer, bytes(1000))
    assert buffer.capacity == INITIAL_BYTES
    put(buffer, bytes(100_000))
    assert buffer.capacity < 300_000


def test_a_large_buffer_is_given_back() -> None:
    buffer = ReceiveBuffer()
    put(buffer, frame(bytes(KEPT_BYTES)))
    assert buffer.capacity > KEPT_BYTES
    assert buffer.next_frame(LIMIT) is not None
    buffer.free()
    assert buffer.capacity == INITIAL_BYTES


def test_a_quiet_connection_gives_back_what_it_does_not_need() -> None:
    buffer = ReceiveBuffer()
    put(buffer, frame(bytes(100_000)) + b"\0")
    assert buffer.next_frame(LIMIT) is not None
    buffer.shrink()
    assert buffer.capacity > INITIAL_BYTES  # a byte is pending
    put(buffer, b"\0\0\0")
    assert buffer.next_frame(LIMIT) == b""
    buffer.shrink()
    assert buffer.capacity == 0
    assert buffer.next_frame(LIMIT) is None
    put(buffer, frame(b"abc"))
    assert buffer.next_frame(LIMIT) == b"abc"


@settings(deadline=None)
@given(st.lists(st.integers(0, 5000), max_size=200))
def test_small_frames_never_make_it_grow_much(sizes: list[int]) -> None:
    buffer = ReceiveBuffer()
    for size in sizes:
        put(buffer, frame(bytes(size)), most=1000)
        assert buffer.next_frame(LIMIT) is not None
    assert buffer.capacity in (0, INITIAL_BYTES)


def test_a_large_frame_arrives_in_memory_that_grows_in_place() -> None:
    buffer = ReceiveBuffer()
    body = bytes(range(256)) * (40 << 10)
    assert len(body) > 2 * KEPT_BYTES
    put(buffer, frame(body) + frame(b"abc"), most=1 << 20)
    assert isinstance(buffer._buffer, mmap)
    found = buffer.next_frame(LIMIT)
    assert found == body
    assert buffer.next_frame(LIMIT) == b"abc"


def test_a_view_of_a_large_buffer_stays_valid_when_it_grows() -> None:
    buffer = ReceiveBuffer()
    first, second = b"a" * (3 * KEPT_BYTES), b"b" * (9 * KEPT_BYTES)
    put(buffer, frame(first) + frame(second)[:1])
    view = buffer.next_frame(LIMIT)
    put(buffer, frame(second)[1:])
    assert view == first
    assert buffer.next_frame(LIMIT) == second
    assert view == first
