"""The responses that a connection has received: frames of a four-byte length and a response.

The socket writes directly into it. The receiver of a frame owns it, and may keep it and write into
it. Small frames are copied from a reused buffer. A large one gets a buffer as soon as its length is
known, and the socket writes directly into that, so that megabytes of records are never copied.

Requests that a broker receives are read in place instead: `broker.net.receive_buffer`.
"""

from struct import Struct

_LENGTH = Struct(">i")
SHARED_BYTES = 32 * 1024


class FrameSizeError(ValueError):
    """A frame has an invalid length; the only argument is that length."""


class ResponseFrames:
    """Takes in bytes as they arrive, and returns complete frames."""

    __slots__ = (
        "_end",
        "_filled",
        "_large",
        "_max_bytes",
        "_min_bytes",
        "_shared",
        "_start",
        "_view",
    )

    def __init__(self, min_bytes: int, max_bytes: int) -> None:
        self._min_bytes = min_bytes
        self._max_bytes = max_bytes
        self._shared = bytearray(SHARED_BYTES)
        self._view = memoryview(self._shared)
        self._start = self._end = 0
        self._large: bytearray | None = None
        self._filled = 0

    def free(self) -> memoryview:
        """Room for the socket to write into; never empty."""
        if self._large is not None:
            return memoryview(self._large)[self._filled :]
        if self._start:
            pending = self._shared[self._start : self._end]
            self._shared[: len(pending)] = pending
            self._start, self._end = 0, len(pending)
        return self._view[self._end :]

    def received(self, count: int) -> None:
        if self._large is not None:
            self._filled += count
        else:
            self._end += count

    def next_frame(self) -> bytearray | None:
        """The next frame without its length; None until it is complete. Raises FrameSizeError."""
        if self._large is not None:
            if self._filled < len(self._large):
                return None
            frame, self._large = self._large, None
            return frame
        start = self._start + _LENGTH.size
        have = self._end - start
        if have < 0:
            return None
        (size,) = _LENGTH.unpack_from(self._shared, self._start)
        if not self._min_bytes <= size <= self._max_bytes:
            raise FrameSizeError(size)
        if size <= have:
            self._start = start + size
            return self._shared[start : self._start]
        if size > SHARED_BYTES - _LENGTH.size:
            self._large = bytearray(size)
            self._large[:have] = self._view[start : self._end]
            self._filled = have
            self._start = self._end = 0
        return None
