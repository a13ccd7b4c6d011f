"""Stopping a process with SIGSTOP, and waiting until it stands still.

A process with threads does not stop at once: one of them has to run to see the signal, and until
then the others go on. On a busy machine they answer a request meanwhile.
"""

import os
import signal
from pathlib import Path

from tests.support.wait import wait_until


def freeze(pid: int) -> None:
    os.kill(pid, signal.SIGSTOP)
    wait_until(lambda: _stands_still(pid), f"process {pid} does not stop")


def _stands_still(pid: int) -> bool:
    states = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            states.append((task / "stat").read_text().rpartition(")")[2].split()[0])
        except (FileNotFoundError, ProcessLookupError):
            continue  # a thread that has ended meanwhile
    return all(state in "TtZX" for state in states)
