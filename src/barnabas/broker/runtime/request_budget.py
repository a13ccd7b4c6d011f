"""How much the batches of one Produce request may decompress to, on the event loop and in threads.

Whatever its number of partitions: without it a request of a megabyte may decompress to gigabytes.
"""

from threading import Lock

_BATCHES = 8
"""A request may decompress to as much as so many batches of the largest size."""
_RATIO = 16
"""Or to so many times its own size, if that is more: so a large request of ordinary records, which
decompress to a few times their size, is not refused."""

EXCEEDED = (
    "the batches of this request decompress to too much: at most"
    f" {_BATCHES} times max.decompressed.batch.bytes, or {_RATIO} times their size;"
    " send this one again"
)


class RequestBudget:
    """A `DecompressionBudget` for the loop and several threads."""

    __slots__ = ("_lock", "left")

    def __init__(self, total: int) -> None:
        self.left = total
        self._lock = Lock()

    @classmethod
    def of(cls, batches_bytes: int, max_decompressed_bytes: int) -> "RequestBudget":
        """For a request with so many bytes of batches; a batch may decompress to
        `max_decompressed_bytes`."""
        return cls(max(_BATCHES * max_decompressed_bytes, _RATIO * batches_bytes))

    def take(self, limit: int) -> int:
        with self._lock:
            taken = min(limit, self.left)
            self.left -= taken
        return taken

    def settle(self, taken: int, used: int) -> None:
        with self._lock:
            self.left += taken - used
