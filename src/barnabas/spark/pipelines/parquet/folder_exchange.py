"""Exchanges two folders atomically, so that a reader never finds none, or half of each.

Linux (`renameat2`) and macOS (`renamex_np`) support it; Python has no function for it. Some file
systems don't support it, among them most network file systems.
"""

import ctypes
import errno
import os
import sys
from pathlib import Path

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_RENAME_SWAP = 2
_NOT_HERE = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)


class SwapError(OSError):
    """The operating system or the file system can't exchange folders atomically."""


def swap(one: Path, other: Path) -> None:
    """Exchange the contents of two folders."""
    sys.audit("barnabas.swap", str(one), str(other))
    code = _swap(os.fsencode(one), os.fsencode(other))
    if code in _NOT_HERE:
        raise SwapError(code, "the file system can't exchange two folders in one step", str(one))
    if code:
        raise OSError(code, os.strerror(code), str(one))


def _swap(one: bytes, other: bytes) -> int:
    """0, or the number of the error."""
    library = ctypes.CDLL(None, use_errno=True)
    if sys.platform == "darwin":
        done = library.renamex_np(one, other, _RENAME_SWAP)
    elif hasattr(library, "renameat2"):
        done = library.renameat2(_AT_FDCWD, one, _AT_FDCWD, other, _RENAME_EXCHANGE)
    else:
        return errno.ENOSYS
    return ctypes.get_errno() if done else 0
