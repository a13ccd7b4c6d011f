"""Answers come out whole, however they were cut on their way."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.client.connect.response_buffer import SMALL_BYTES, BadLength, ResponseBuffer
from barnabas.wire.primitives import Buffer

SIZES = st.one_of(
    st.integers(4, 64),
    st.integers(4, SMALL_BYTES),
    st.integers(SMALL_BYTES - 8, SMALL_BYTES + 8),
    st.integers(SMALL_BYTES, 4 * SMALL_BYTES),
)


def feed(buffer: ResponseBuffer, stream: bytes, cuts: list[int]) -> list[Buffer]:
    """Write a stream as a socket does: as much as has come, as much as there is room for."""
    answers: list[Buffer] = []
    at, turn = 0, 0
    while at < len(stream):
        room = buffer.free()
        assert room
        count = min(len(room), cuts[turn % len(cuts)], len(stream) - at)
        room[:count] = stream[at : at + count]
        answers += buffer.received(count)
        at, turn = at + count, turn + 1
    return answers


@given(st.lists(SIZES, max_size=8), st.lists(st.integers(1, 2 * SMALL_BYTES), min_size=1))
def test_answers_come_out_as_they_were_sent(sizes: list[int], cuts: list[int]) -> None:
    sent = [bytes([number % 251]) * size for number, size in enumerate(sizes)]
    stream = b"".join(struct.pack(">i", len(each)) + each for each in sent)
    if max(cuts) < 64:
        cuts = [*cuts, SMALL_BYTES]  # else this takes long
    assert [bytes(each) for each in feed(ResponseBuffer(4, 1 << 20), stream, cuts)] == sent


def test_a_large_answer_is_written_once_and_not_copied() -> None:
    buffer = ResponseBuffer(4, 1 << 20)
    head = struct.pack(">i", 500_000) + b"start"
    assert feed(buffer, head, [9]) == []
    room = buffer.free()
    assert len(room) == 500_000 - 5
    room[:] = b"x" * len(room)
    (answer,) = buffer.received(len(room))
    room[0] = ord("y")
    assert bytes(answer[:7]) == b"startyx"  # the very memory that was written to
    with pytest.raises(TypeError):
        answer[0] = 0  # type: ignore[index]


def test_an_answer_stays_as_it_is_while_others_come() -> None:
    buffer = ResponseBuffer(4, 1 << 20)
    frames = [struct.pack(">i", size) + bytes([size % 251]) * size for size in (8, 70_000, 8, 9)]
    answers = feed(buffer, b"".join(frames), [30_000])
    assert [bytes(each) for each in answers] == [frame[4:] for frame in frames]


@pytest.mark.parametrize("size", [-1, 0, 3, 101, 0x48545450])
def test_a_length_that_cannot_be_is_refused(size: int) -> None:
    buffer = ResponseBuffer(4, 100)
    with pytest.raises(BadLength, match=str(size)):
        feed(buffer, struct.pack(">i", size), [4])
