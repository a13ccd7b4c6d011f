"""Where the data of clusters under test goes: into memory if there is room, else a temporary place.

`BARNABAS_TEST_DIRECTORY` in the environment names another one, for more data than fits in memory.

Each launcher has one directory, with everything of its clusters below, and holds a lock on it as
long as it lives. So a later launcher recognises what was left behind when all processes were
killed at once, and removes it.
"""

import fcntl
import os
import shutil
import tempfile
import time
from contextlib import suppress
from pathlib import Path

MEMORY = Path("/dev/shm")  # noqa: S108 - a file system in memory, of which mkdtemp takes a part
_PREFIX = "barnabas-test-"
_ENOUGH_BYTES = 512 << 20
"""Containers often have 64 MB there, which a test may well fill."""
_YOUNG_S = 60.0
"""A directory that was just created may not be locked yet."""


def new_directory() -> tuple[Path, int]:
    """An empty directory, and the descriptor that holds its lock."""
    place = _place()
    _sweep(place)
    path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=place))
    descriptor = os.open(path, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return path, descriptor


def remove(path: Path) -> None:
    """Take it away with all that is in it. A process that was just killed may still add to it."""
    for _ in range(50):
        shutil.rmtree(path, ignore_errors=True)
        if not path.exists():
            return
        time.sleep(0.02)


def _place() -> Path:
    if chosen := os.environ.get("BARNABAS_TEST_DIRECTORY"):
        return Path(chosen)
    with suppress(OSError):
        if shutil.disk_usage(MEMORY).free >= _ENOUGH_BYTES and os.access(MEMORY, os.W_OK):
            return MEMORY
    return Path(tempfile.gettempdir())


def _sweep(place: Path) -> None:
    """Remove directories whose launcher is gone."""
    for path in place.glob(f"{_PREFIX}*"):
        with suppress(OSError):  # in use, or being removed by another process
            if time.time() - path.stat().st_mtime < _YOUNG_S:
                continue
            descriptor = os.open(path, os.O_RDONLY)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(descriptor)
