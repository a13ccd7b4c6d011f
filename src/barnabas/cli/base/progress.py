"""A line that is kept up to date on a terminal; elsewhere a line now and then."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

from barnabas.cli.base.output import say

_SAY_EVERY_S = 5.0


class ProgressLine:
    """Shown on standard error, and gone at the end."""

    def __init__(self) -> None:
        self._on_terminal = sys.stderr.isatty()
        self._said_at = monotonic()
        self._shown = False

    def show(self, text: str) -> None:
        """Replace what was shown."""
        if self._on_terminal:
            sys.stderr.write(f"\r\x1b[K{text}")
            sys.stderr.flush()
            self._shown = True
        elif monotonic() - self._said_at >= _SAY_EVERY_S:
            self._said_at = monotonic()
            say(text)

    def end(self) -> None:
        """Clear the line."""
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


@contextmanager
def progress_line() -> Iterator[Callable[[str], None]]:
    """What shows progress, for as long as it lasts."""
    line = ProgressLine()
    try:
        yield line.show
    finally:
        line.end()
