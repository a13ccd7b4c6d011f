"""Gives memory back to the system that the C library keeps for itself.

What is freed in the middle of its heap stays resident for ever, so a broker that once held half a
gigabyte for others would hold it until its end. Where the C library can say how much that is, and
give it back (glibc), it is asked to; elsewhere nothing happens.
"""

import ctypes
from collections.abc import Callable
from typing import Any

_WORTHWHILE_BYTES = 16 << 20
"""Less than this is needed again soon."""


class _MallInfo2(ctypes.Structure):
    """What `mallinfo2` returns; `fordblks` are the free bytes in its heaps."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            "arena",
            "ordblks",
            "smblks",
            "hblks",
            "hblkhd",
            "usmblks",
            "fsmblks",
            "uordblks",
            "fordblks",
            "keepcost",
        )
    ]


class FreeMemory:
    """What the C library has free. Call `give_back` now and then."""

    def __init__(self) -> None:
        self._trim: Any = None
        self._info: Callable[[], Any] | None = None
        try:
            library = ctypes.CDLL(None)
            self._trim = library.malloc_trim
            info = library.mallinfo2
        except (OSError, AttributeError):  # not glibc, or an old one
            return
        info.restype = _MallInfo2
        self._info = info

    def give_back(self) -> None:
        """Give back what is free, if it is much."""
        if self._info is not None and self._info().fordblks > _WORTHWHILE_BYTES:
            self._trim(0)
