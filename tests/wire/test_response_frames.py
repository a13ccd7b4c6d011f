"""Responses come out whole, however they are cut into pieces on their way."""

from itertools import cycle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.wire.response_frames import SHARED_BYTES, FrameSizeError, ResponseFrames

MAX_BYTES = 200_000
SIZES = st.one_of(
    st.integers(1, 50),
    st.sampled_from([32_763, 32_764, 32_765, 32_768, 65_536, MAX_BYTES]),
)


def _framed(content: bytes) -> bytes:
    return len(content).to_bytes(4, "big") + content


def _feed(frames: ResponseFrames, sent: bytes, pieces: list[int]) -> list[bytearray]:
    got = []
    at = 0
    for piece in cycle(pieces):
        room = frames.free()
        assert len(room) > 0
        count = min(piece, len(room), len(sent) - at)
        room[:count] = sent[at : at + count]
        frames.received(count)
        at += count
        while (frame := frames.next_frame()) is not None:
            got.append(frame)
        if at == len(sent):
            return got
    raise AssertionError


@given(st.lists(SIZES, min_size=1, max_size=6), st.lists(SIZES, min_size=1, max_size=4))
def test_frames_come_out_as_they_were_sent(sizes: list[int], pieces: list[int]) -> None:
    contents = [bytes([number + 1]) * size for number, size in enumerate(sizes)]
    sent = b"".join(map(_framed, contents))
    got = _feed(ResponseFrames(1, MAX_BYTES), sent, [*pieces, 1000])
    assert got == contents


def test_a_frame_stays_as_it_is_while_others_come() -> None:
    frames = ResponseFrames(1, MAX_BYTES)
    contents = [b"a" * 100, b"b" * 100_000, b"c" * 100, b"d" * 100_000]
    got = [_feed(frames, _framed(content), [50_000])[0] for content in contents]
    got[0][0] = ord("x")
    assert got == [b"x" + b"a" * 99, *contents[1:]]


def test_a_large_frame_is_written_once_and_not_copied() -> None:
    frames = ResponseFrames(1, 1 << 20)
    assert _feed(frames, (500_000).to_bytes(4, "big") + b"start", [9]) == []
    room = frames.free()
    assert len(room) == 500_000 - 5 > SHARED_BYTES
    room[:] = b"x" * len(room)
    frames.received(len(room))
    frame = frames.next_frame()
    assert frame is not None
    room[0] = ord("y")
    assert frame[:7] == b"startyx", "the very memory that was written to"


@pytest.mark.parametrize("size", [-1, 0, 3, 101, 0x48545450])
def test_a_length_beyond_the_limits_is_named(size: int) -> None:
    with pytest.raises(FrameSizeError, match=str(size)):
        _feed(ResponseFrames(4, 100), size.to_bytes(4, "big", signed=True), [4])
