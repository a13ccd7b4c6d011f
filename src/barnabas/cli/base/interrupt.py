"""Ctrl-C while a command is not at work yet: modules are being imported, options looked at.

There is nothing to tidy up then, and a traceback out of the middle of an import helps nobody. The
work itself runs with Python's own handler, since it has to leave groups and deliver records.
"""

import os
import signal
from types import FrameType

from barnabas.cli.base import exit_codes


def quit_on_interrupt() -> None:
    """End at once and without a word from now on, unless whoever started us ignores SIGINT."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _quit)


def raise_on_interrupt() -> None:
    """From now on Ctrl-C raises KeyboardInterrupt again."""
    if signal.getsignal(signal.SIGINT) is _quit:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _quit(_signal: int, _frame: FrameType | None) -> None:
    os._exit(exit_codes.INTERRUPTED)
