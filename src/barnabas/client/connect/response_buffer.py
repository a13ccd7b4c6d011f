"""What a connection has received: frames of a four-byte length and an answer.

The socket writes straight into it. Small answers come together in one buffer and are copied out of
it. An answer that does not fit there gets a buffer of its own, whose view is handed out as it is:
records of megabytes are never copied, and live as long as somebody refers to them.
"""

from collections.abc import Iterator
from struct import Struct

from barnabas.wire.primitives import Buffer

SMALL_BYTES = 64 * 1024
_LENGTH = Struct(">i")


class BadLength(ValueError):  # noqa: N818 - says what is wrong
    """A length that no answer has; its only argument is that length."""


class ResponseBuffer:
    """Ask `free` where to write, tell `received` how much was written."""

    def __init__(self, min_bytes: int, max_bytes: int) -> None:
        self._valid = range(min_bytes, max_bytes + 1)
        self._small = memoryview(bytearray(SMALL_BYTES))
        self._start = 0  # of what is not handed out yet
        self._end = 0
        self._large: memoryview | None = None
        self._filled = 0

    def free(self) -> memoryview:
        """Room for the socket to write into; never empty."""
        if self._large is not None:
            return self._large[self._filled :]
        return self._small[self._end :]

    def received(self, count: int) -> Iterator[Buffer]:
        """The answers that are complete now. Raises `BadLength`."""
        if self._large is not None:
            self._filled += count
            if self._filled == len(self._large):
                answer, self._large = self._large.toreadonly(), None
                yield answer
        else:
            self._end += count
            yield from self._small_ones()

    def _small_ones(self) -> Iterator[Buffer]:
        while self._end - self._start >= _LENGTH.size:
            (size,) = _LENGTH.unpack_from(self._small, self._start)
            if size not in self._valid:
                raise BadLength(size)
            begin = self._start + _LENGTH.size
            if begin + size > self._end:
                if begin + size > SMALL_BYTES:
                    self._make_room(begin, size)
                return
            self._start = begin + size
            yield bytes(self._small[begin : begin + size])
        self._move_to_front()

    def _make_room(self, begin: int, size: int) -> None:
        """The answer that has begun does not fit behind the others."""
        if _LENGTH.size + size > SMALL_BYTES:
            self._large = memoryview(bytearray(size))
            self._filled = self._end - begin
            self._large[: self._filled] = self._small[begin : self._end]
            self._start = self._end = 0
        else:
            self._move_to_front()

    def _move_to_front(self) -> None:
        rest = self._end - self._start
        if rest:
            self._small[:rest] = bytes(self._small[self._start : self._end])
        self._start, self._end = 0, rest
