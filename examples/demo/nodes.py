"""The cluster: three nodes below `barnabas server --nodes 3`, which starts again what is killed."""

import asyncio
import os
import re
import signal
from asyncio.subprocess import Process
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from examples.demo.accounting import Check
from examples.demo.processes import ProcessCrashedError, Processes

COUNT = 3

_READY = re.compile(r"bootstrap servers (\S+)")
_PATIENCE_S = 60.0


class Nodes:
    """Make it with `Nodes.start`."""

    def __init__(self, processes: Processes, supervisor: Process, data: Path, servers: str) -> None:
        self._processes = processes
        self._supervisor = supervisor
        self._data = data
        self.bootstrap = servers

    @classmethod
    async def start(cls, processes: Processes, data: Path) -> "Nodes":
        """Start them on free ports, and wait until they are a cluster."""
        servers: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        def listen(line: str) -> None:
            ready = _READY.search(line)
            if ready and not servers.done():
                servers.set_result(ready[1])

        supervisor = await processes.start(
            "-m", "barnabas", "server", "--nodes", str(COUNT), "--listen", "127.0.0.1:0",
            "--data", str(data),
            on_line=listen,
        )  # fmt: skip
        ended: asyncio.Future[int] = asyncio.create_task(supervisor.wait())
        waiting: list[asyncio.Future[Any]] = [servers, ended]
        await asyncio.wait(waiting, timeout=_PATIENCE_S, return_when=asyncio.FIRST_COMPLETED)
        ended.cancel()
        if not servers.done():
            raise ProcessCrashedError(f"the cluster did not start:\n{processes.errors()}")
        return cls(processes, supervisor, data, servers.result())

    def kill(self, node_id: int) -> None:
        """As power does: without a word. A node's process writes its number into its lock."""
        pid = int((self._data / f"node-{node_id}" / ".lock").read_text())
        os.kill(pid, signal.SIGKILL)

    async def stop(self) -> None:
        """One node after the other, in order."""
        await self._processes.end(self._supervisor)

    def same_copies(self, topics: Mapping[str, int]) -> Check:
        """Whether all nodes hold the same. Stop them first."""
        return same_copies(self._data, topics)


def same_copies(data: Path, topics: Mapping[str, int]) -> Check:
    """Whether the nodes whose directories are in `data` hold the same bytes of these topics, which
    have so many partitions.
    """
    names = [f"{topic}-{number}" for topic, count in topics.items() for number in range(count)]
    different = size = 0
    for name in names:
        copies = [
            b"".join(file.read_bytes() for file in sorted(directory.glob("*.log")))
            for directory in sorted(data.glob(f"node-*/{name}"))
        ]
        size += len(copies[0]) if copies else 0
        different += len(copies) != COUNT or len(set(copies)) != 1
    return Check(
        f"replicas: {COUNT} nodes hold the same bytes on their disks",
        size > 0 and not different,
        f"{size / 1e6:.1f} MB in {len(names)} partitions, {different} differ",
    )
