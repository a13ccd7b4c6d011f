"""The bytes a connection has received and not yet handled.

The socket writes directly into it and frames are returned as views, so a frame is never copied
unless it straddles the end of the buffer. A view is valid until the next `free`.

The buffer grows with the bytes received, never with what a length field claims. A quiet connection
has no buffer. A large one is mapped memory, which takes no time to clear and grows without a copy:
for a request of a hundred megabytes both took a tenth of a second of the event loop.
"""

from mmap import MAP_ANONYMOUS, MAP_PRIVATE, mmap
from struct import Struct

_LENGTH = Struct(">i")

INITIAL_BYTES = 16 * 1024
KEPT_BYTES = 2 << 20
"""A larger buffer is freed once its frame has been handled, a smaller one when idle."""

_PRIVATE = MAP_PRIVATE | MAP_ANONYMOUS
"""Shared memory, the default, can't be used beyond its first size."""

_NONE = bytearray()
_NO_VIEW = memoryview(_NONE)


class FrameTooLargeError(ValueError):
    """A frame is longer than is allowed, or has a negative length."""


class ReceiveBuffer:
    """A growing buffer with one frame after the other in it."""

    __slots__ = ("_buffer", "_end", "_start", "_view", "capacity")

    def __init__(self) -> None:
        self.capacity = 0
        self._buffer: bytearray | mmap = _NONE
        self._view = _NO_VIEW
        self._start = 0
        self._end = 0

    @property
    def pending(self) -> int:
        """Bytes received and not yet returned."""
        return self._end - self._start

    def free(self) -> memoryview:
        """Room for the socket to write into; never empty."""
        if self._start == self._end:
            self._start = self._end = 0
            if not 0 < self.capacity <= KEPT_BYTES:
                self._resize(INITIAL_BYTES)
        elif self._end == len(self._buffer):
            if self._start >= len(self._buffer) // 2:
                self._resize(len(self._buffer))
            elif not self._grown_in_place():
                self._resize(2 * len(self._buffer))
        return self._view[self._end :]

    def received(self, count: int) -> None:
        self._end += count

    def next_frame(self, max_bytes: int) -> memoryview | None:
        """The next complete frame without its length field; None until it has arrived."""
        start = self._start
        have = self._end - start
        if have < 4:
            return None
        (size,) = _LENGTH.unpack_from(self._buffer, start)
        if not 0 <= size <= max_bytes:
            raise FrameTooLargeError(size)
        if have < size + 4:
            return None
        self._start = stop = start + 4 + size
        return self._view[start + 4 : stop]

    def put_back(self, frame: memoryview) -> None:
        """Make `next_frame` return the same frame again."""
        self._start -= 4 + len(frame)

    @property
    def has_frame(self) -> bool:
        """Whether a complete frame has arrived, of any length."""
        if self.pending < 4:
            return False
        (size,) = _LENGTH.unpack_from(self._buffer, self._start)
        return bool(0 <= size <= self.pending - 4)

    def release(self) -> None:
        """Free a large buffer, if nothing is pending in it."""
        if self.capacity > KEPT_BYTES:
            self.shrink()

    def shrink(self) -> None:
        """Free the buffer if nothing is pending: the connection is quiet."""
        if self._start == self._end:
            self.drop()

    def drop(self) -> None:
        """Free the buffer with all that is pending; frames that were returned stay valid."""
        self.capacity = self._start = self._end = 0
        self._buffer = _NONE
        self._view = _NO_VIEW

    def _grown_in_place(self) -> bool:
        """Double a mapped buffer, unless somebody still has a view of it."""
        buffer = self._buffer
        if not isinstance(buffer, mmap):
            return False
        size = 2 * len(buffer)
        self._view.release()
        try:
            buffer.resize(size)
            self.capacity = size
        except (BufferError, SystemError):  # the second where the system can't
            return False
        finally:
            self._view = memoryview(buffer)
        return True

    def _resize(self, size: int) -> None:
        """Move what is pending to the front of a new buffer: views of the old one stay valid."""
        pending = self._view[self._start : self._end]
        self.capacity = size
        self._buffer = mmap(-1, size, flags=_PRIVATE) if size > KEPT_BYTES else bytearray(size)
        self._view = memoryview(self._buffer)
        self._end -= self._start
        self._start = 0
        self._view[: self._end] = pending
