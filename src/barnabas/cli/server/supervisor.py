"""`barnabas server --nodes N`: a cluster on one machine, one process per node, one to watch them.

A node that ends is started again, sooner or later according to how often it has ended. The first
Ctrl-C (or SIGTERM) stops the nodes one after the other, so that each can hand its leadership over;
the second one kills them.
"""

import asyncio
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from barnabas import __version__
from barnabas.broker.runtime.standard_streams import announce, discard_unwritten
from barnabas.broker.settings.config import ConfigError
from barnabas.cli.base import exit_codes
from barnabas.cli.base.output import say
from barnabas.cli.server.growth import answering
from barnabas.cli.server.left_out import warn_of_left_out
from barnabas.cli.server.local_nodes import (
    LocalNode,
    check_new,
    cluster_id_of,
    nodes_beyond,
    plan_another,
)
from barnabas.cli.server.local_voters import remember_voters, remembered_voters
from barnabas.cli.server.node_process import NodeProcess
from barnabas.client.admin.brokers import describe_cluster
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.errors import BarnabasError
from barnabas.quantities import counted

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_LOOK_EVERY_S = 0.1
_SILENCE_S = 15.0


def supervise(
    nodes: Sequence[LocalNode],
    how_to_connect: Callable[[str], str] | None = None,
    secure_node: Callable[[LocalNode], LocalNode] | None = None,
) -> int:
    """Run the nodes until a signal; the exit code.

    `how_to_connect` says it, given the bootstrap servers, when the cluster is ready; `secure_node`
    gives a node that is added later its certificate.
    """
    try:
        return asyncio.run(Supervisor(nodes, how_to_connect, secure_node).run())
    finally:
        discard_unwritten()


class Supervisor:
    """The nodes of one cluster."""

    def __init__(
        self,
        nodes: Sequence[LocalNode],
        how_to_connect: Callable[[str], str] | None = None,
        secure_node: Callable[[LocalNode], LocalNode] | None = None,
    ) -> None:
        self._width = max(len(node.name) for node in nodes)
        self._processes = [NodeProcess(node, say, self._width) for node in nodes]
        self._tasks: list[asyncio.Task[None]] = []
        self._how_to_connect = how_to_connect
        self._secure_node = secure_node
        self._stop = asyncio.Event()
        self._killed = False
        self._cluster_id = ""

    @property
    def bootstrap(self) -> str:
        return ",".join(str(process.node.address) for process in self._processes)

    async def run(self) -> int:
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            loop.add_signal_handler(number, self._on_signal)
        self._tasks = [asyncio.create_task(process.run()) for process in self._processes]
        start = asyncio.create_task(self._get_ready())
        stop = asyncio.create_task(self._stop.wait())
        await asyncio.wait([start, stop], return_when=asyncio.FIRST_COMPLETED)
        code = exit_codes.OK
        if start.done():
            code = start.result()
        else:
            start.cancel()
        if code == exit_codes.OK:
            async with answering(self._directory, self._answer):
                await self._announce()
                await self._stop.wait()
            say("stopping the nodes one by one; press Ctrl-C again to kill them")
        await self._stop_all()
        await asyncio.gather(*self._tasks)
        stop.cancel()
        return exit_codes.INTERRUPTED if self._killed else code

    def _on_signal(self) -> None:
        if self._stop.is_set():
            self._killed = True
            for process in self._processes:
                process.kill()
        self._stop.set()

    async def _stop_all(self) -> None:
        for process in reversed(self._processes):
            await process.stop()

    @property
    def _directory(self) -> Path:
        return Path(self._processes[0].node.properties["log.dirs"]).parent

    async def _answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """What a command asks for at the socket. Raises `ConfigError`."""
        if "voters" in request:
            remember_voters(self._directory, request["voters"])
            return {}
        if "servers" in request:
            return {"servers": self.bootstrap}
        if "restart" in request:
            await self._restart(request["restart"])
            return {}
        return await self._grow()

    async def _restart(self, node_id: int) -> None:
        for process in self._processes:
            if process.node.node_id == node_id:
                await process.restart()
                return
        raise ConfigError(f"node {node_id} is not one of this local cluster")

    async def _grow(self) -> dict[str, Any]:
        """Start one more node; where it is."""
        if remembered_voters(self._directory) is None:
            remember_voters(self._directory, [each.node.node_id for each in self._processes])
        node = plan_another([each.node for each in self._processes])
        check_new(node)
        if self._secure_node is not None:
            node = self._secure_node(node)
        process = NodeProcess(node, say, self._width)
        task = asyncio.create_task(process.run())
        if not await _ready_or_ended(process):
            await task
            raise ConfigError(f"{node.name} could not start; its log says why")
        self._processes.append(process)
        self._tasks.append(task)
        count = len(self._processes)
        say(f"{node.name} was added; start the cluster with --nodes {count} from now on")
        return {
            "node_id": node.node_id,
            "address": str(node.address),
            "servers": self.bootstrap,
            "nodes": count,
        }

    # -- getting ready -------------------------------------------------------------------------

    async def _get_ready(self) -> int:
        """Wait until all nodes form a cluster; an exit code if one cannot start."""
        for process in self._processes:
            if not await _ready_or_ended(process):
                failed = process.start_error or 0
                return failed if failed > 0 else exit_codes.FAILURE
        self._cluster_id = await self._wait_for_members()
        return exit_codes.OK

    async def _announce(self) -> None:
        """Say that the cluster is ready, once commands can reach the supervisor."""
        directory = self._directory
        count = len(self._processes)
        announce(
            f"Barnabas {__version__}: {counted(count, 'node')}, bootstrap servers "
            f"{self.bootstrap} (cluster {self._cluster_id}, data in {directory.absolute()})"
        )
        if self._how_to_connect is not None:
            announce(self._how_to_connect(self.bootstrap))
        extra = nodes_beyond(directory, count)
        if extra:
            is_open = self._processes[0].node.is_open
            say(await warn_of_left_out(directory, extra, self.bootstrap if is_open else None))

    async def _wait_for_members(self) -> str:
        """Return the cluster's id once all nodes belong to it.

        The supervisor has no certificate and no password. If nodes ask for them, that each node has
        said that it is ready has to suffice.
        """
        first = self._processes[0].node
        if not first.is_open:
            return cluster_id_of(Path(first.properties["log.dirs"]))
        loop = asyncio.get_running_loop()
        silent_until = loop.time() + _SILENCE_S
        while True:
            try:
                async with ClusterClient(self.bootstrap, retry_timeout_ms=0) as cluster:
                    described = await describe_cluster(cluster)
            except BarnabasError as error:
                missing = str(error)
            else:
                up = {broker.node_id for broker in described.brokers if not broker.fenced}
                nodes = [each.node for each in self._processes if each.node.node_id not in up]
                if not nodes:
                    return described.cluster_id
                missing = ", ".join(node.name for node in nodes)
            if loop.time() > silent_until:
                silent_until = float("inf")
                say(f"still waiting for {missing}")
            await asyncio.sleep(_LOOK_EVERY_S)


async def _ready_or_ended(process: NodeProcess) -> bool:
    waits = [asyncio.create_task(process.ready.wait()), asyncio.create_task(process.stopped.wait())]
    await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    for wait in waits:
        wait.cancel()
    return process.ready.is_set()
