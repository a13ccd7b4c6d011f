"""Returns free memory, which the C library keeps, to the operating system.

Memory that is freed in the middle of the heap stays resident, so a broker that once held half a
gigabyte for clients would keep it until it exits. glibc can report and return that memory, and is
asked to; with other C libraries nothing happens.
"""

import ctypes
from collections.abc import Callable
from typing import Any

_WORTHWHILE_BYTES = 8 << 20
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
    """The free memory of the C library. Call `give_back` periodically."""

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
        """Return free memory to the system, if there is much."""
        if self._info is not None and self._info().fordblks > _WORTHWHILE_BYTES:
            self._trim(0)
