"""The log in a file.

With a maximum size the node renames the file itself. Without one, another program may rename or
remove it: the node then opens a new file of that name.

A log that can't be written, because the disk is full for instance, does not stop the node. It says
so once on the standard error stream, and again after a message could be written meanwhile.
"""

import logging
import sys
from logging.handlers import RotatingFileHandler, WatchedFileHandler

from barnabas.broker.runtime.standard_streams import complain


class _Tolerant(logging.Handler):
    """Says that it can't write, instead of a traceback for each message."""

    has_failed = False

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - as it is in logging
        error = sys.exc_info()[1]
        if not isinstance(error, OSError):
            super().handleError(record)
        elif not self.has_failed:
            complain(f"cannot write the log: {error}")
        self.has_failed = isinstance(error, OSError)


class RotatedLogFile(_Tolerant, RotatingFileHandler):
    def __init__(self, path: str, max_bytes: int, max_count: int) -> None:
        super().__init__(path, maxBytes=max_bytes, backupCount=max_count, encoding="utf-8")

    def flush(self) -> None:
        super().flush()
        self.has_failed = False


class WatchedLogFile(_Tolerant, WatchedFileHandler):
    def __init__(self, path: str) -> None:
        super().__init__(path, encoding="utf-8")

    def flush(self) -> None:
        super().flush()
        self.has_failed = False


def open_log_file(path: str, max_bytes: int, max_count: int) -> logging.Handler:
    """Raises `OSError`."""
    return RotatedLogFile(path, max_bytes, max_count) if max_bytes else WatchedLogFile(path)
