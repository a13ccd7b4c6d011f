"""Standard output and error of a server, whose disk may be full or whose reader may be gone.

Neither is a reason to stop serving or to exit with an error. Python keeps unwritten output, retries
when the process ends, and turns a clean stop into exit code 120 if that fails too.
"""

import contextlib
import os
import sys


def announce(line: str) -> None:
    """Print a line now, if it can be printed."""
    with contextlib.suppress(OSError):
        print(line, flush=True)


def complain(line: str) -> None:
    """Print a line to the standard error stream, if it can be printed."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError):
            print(line, file=sys.stderr, flush=True)


def discard_unwritten() -> None:
    """Drop what can't be written, so that the exit code says how the server ended."""
    for stream in (sys.stdout, sys.stderr):
        if stream is None:  # closed by the parent process
            continue
        try:
            stream.flush()
        except OSError:
            # The buffer can't be emptied in any other way: redirect the stream to the null device.
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)
