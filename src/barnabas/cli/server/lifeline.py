"""Ends a child process with its parent.

The child's standard input is a pipe that the parent holds open and never writes to. When the parent
is gone, however it ended, the pipe ends too, and so does the child.
"""

import os
import signal
import threading
import time

_STDIN = 0
_GRACE_S = 10


def end_with_parent() -> None:
    """Send this process SIGTERM when its standard input ends, and end it soon after."""
    threading.Thread(target=_wait_for_end, daemon=True).start()


def _wait_for_end() -> None:
    while os.read(_STDIN, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_GRACE_S)
    os._exit(1)
