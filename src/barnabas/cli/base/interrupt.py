"""Ctrl-C before a command begins its work: during imports and option parsing.

There is nothing to clean up then, and a traceback from the middle of an import is useless. The
work itself runs with Python's own handler, since it has to leave groups and deliver records.
"""

import os
import signal
from types import FrameType

from barnabas.cli.base import exit_codes


def quit_on_interrupt() -> None:
    """End at once and silently from now on, unless the parent process ignores SIGINT."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _quit)


def raise_on_interrupt() -> None:
    """From now on Ctrl-C raises KeyboardInterrupt again."""
    if signal.getsignal(signal.SIGINT) is _quit:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _quit(_signal: int, _frame: FrameType | None) -> None:
    os._exit(exit_codes.INTERRUPTED)
