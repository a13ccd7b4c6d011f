"""What a node takes from the world around it: time, chance, threads, disk, network.

The event loop stands for the network (`create_server`, `create_connection`), for threads
(`run_in_executor`) and for timers. A simulator replaces these five, and so runs whole clusters of
real nodes in one thread.
"""

import contextlib
import socket
import subprocess
from asyncio import AbstractEventLoop
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from random import Random, SystemRandom

from barnabas.broker.net.listeners import bind
from barnabas.broker.runtime.child_process import ChildProcess
from barnabas.broker.runtime.clock import Clock
from barnabas.broker.runtime.release import Release
from barnabas.log import Disk, OsDisk
from barnabas.wire.endpoint import Address


@dataclass(frozen=True, slots=True)
class Environment:
    loop: AbstractEventLoop
    disk: Disk
    clock: Clock
    random: Random
    boot_id: str
    """Changes whenever unsynced writes may have been lost; empty if unknown."""
    bind: Callable[[Address], list[socket.socket]]
    threads: Callable[[int, str], Executor] = ThreadPoolExecutor
    """Makes a pool of that many threads, with that name, for `loop.run_in_executor`."""
    process: Callable[[], Executor] = ChildProcess
    """Makes a child process for the same use. This process must not need what the child works on
    meanwhile."""
    secret: bytes | None = None
    """The cluster's secret, unless it comes from a file."""

    cpus: float | None = None
    """How many this process may use, if that is limited."""
    release: Release = field(default_factory=Release)
    snapshot_records: int = 20_000
    """How many metadata records are between two snapshots, at least."""

    @classmethod
    def real(cls, loop: AbstractEventLoop, cpus: float | None = None) -> "Environment":
        """This machine."""
        return cls(loop, OsDisk(), Clock(), SystemRandom(), _boot_id(), bind, cpus=cpus)


def _boot_id() -> str:
    """The operating system's id of the current boot."""
    with contextlib.suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    with contextlib.suppress(OSError, subprocess.SubprocessError):  # macOS
        command = ["/usr/sbin/sysctl", "-n", "kern.bootsessionuuid"]
        return subprocess.run(command, capture_output=True, check=True, text=True).stdout.strip()  # noqa: S603
    return ""
