"""What the tests ask of processes that may end at any moment."""

import psutil


def command_line(process: psutil.Process) -> str:
    """Its command line; empty once it has ended, also while its parent has not looked yet."""
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""
