"""A simulated machine: a disk, clocks, and the broker that runs on it.

The broker is the real one, `Server`, in an `Environment` made of simulated parts. It is killed,
paused, stopped and started again here; what it leaves on the disk is what the next one finds.
"""

import asyncio
import socket
from collections.abc import Callable, Mapping
from copy import copy
from functools import lru_cache
from typing import cast

from barnabas.broker.environment import Environment
from barnabas.broker.node import Node
from barnabas.broker.runtime.release import Release
from barnabas.broker.server import Server
from barnabas.broker.settings.config import BrokerConfig, ConfigError
from barnabas.sim.machine.clock import EPOCH_MS, SimulatedClock
from barnabas.sim.machine.disk import SimulatedDisk
from barnabas.sim.machine.process_disk import ProcessDisk
from barnabas.sim.network.network import Network
from barnabas.sim.process.loop import Observer, ProcessLoop
from barnabas.sim.process.simulator import Simulator
from barnabas.wire.endpoint import Address

PORT = 9092


class _Socket:
    """What `bind` returns: the simulated network needs only the port."""

    def __init__(self, host: str, port: int) -> None:
        self._name = (host, port)

    def getsockname(self) -> tuple[str, int]:
        return self._name


class Machine:
    """One host with one broker, running or not."""

    def __init__(
        self, simulator: Simulator, network: Network, node_id: int, properties: Mapping[str, str]
    ) -> None:
        self.simulator = simulator
        self.network = network
        self.node_id = node_id
        self.host = f"node-{node_id}"
        self.properties = {
            "node.id": str(node_id),
            "listeners": f"{self.host}:{PORT}",
            "log.dirs": "/data",
            "metrics.listeners": "",
            "log.cleaner.io.max.bytes.per.second": "0",  # that would take real time
            **properties,
        }
        self.random = simulator.source(self.host)
        self.clock_skew_ms = 0
        self.clock_rate = 1.0
        self.job_delays_us = (200, 3_000)
        self.disk = SimulatedDisk(self.random, self.now_ms)
        self.boots = 0
        self.has_power = True
        self.starts = 0
        self.release = Release()
        """Of the broker that is started next."""
        self.snapshot_records = 20_000
        """How many metadata records are between two snapshots."""
        self.process: ProcessLoop | None = None
        self.server: Server | None = None
        self.is_ready = False
        self._stopping = asyncio.Event()
        self.observer: Observer | None = None
        self.on_exit: Callable[[Machine], None] = lambda _: None
        self.on_end: Callable[[Node], None] = lambda _: None
        """Told of a broker that is about to be gone, however it ends."""
        self._files: ProcessDisk | None = None

    def now_ms(self) -> int:
        """The time of day by this machine's clock, which people and protocols set."""
        return EPOCH_MS + self.clock_skew_ms + self.simulator.now_us // 1000

    @property
    def is_running(self) -> bool:
        return self.process is not None

    def start(self) -> None:
        """Start the broker."""
        assert self.process is None
        self.starts += 1
        self.is_ready = False
        random = self.simulator.source(f"{self.host}#{self.starts}")
        process = self.process = ProcessLoop(
            self.simulator,
            self.network,
            f"{self.host}#{self.starts}",
            self.host,
            random,
            clock_rate=self.clock_rate,
            observer=self.observer,
            job_delay_us=lambda: self.random.randint(*self.job_delays_us),
        )
        self._files = ProcessDisk(self.disk, self.kill)
        environment = Environment(
            process,
            self._files,
            SimulatedClock(self.now_ms, process),
            random,
            f"boot-{self.boots}",
            _bind,
            lambda workers, _name: process.new_executor(workers),
            lambda: process.new_executor(1),
            secret=b"of the simulated cluster",
            release=self.release,
            snapshot_records=self.snapshot_records,
        )
        self.simulator.say(f"{self.host} starts")
        stopping = self._stopping = asyncio.Event()
        server = self.server = Server(self._config(), environment, stopping.set)
        # Made in its own step: a machine that dies before it would leave a coroutine unawaited.
        process.call_soon(lambda: process.create_task(self._serve(process, server, stopping)))

    def _config(self) -> BrokerConfig:
        """Of the next process. A copy is enough: a broker replaces what it changes in it."""
        return copy(_parsed(tuple(self.properties.items())))

    async def _serve(self, process: ProcessLoop, server: Server, stopping: asyncio.Event) -> None:
        """What the command does around a server."""
        starting = process.create_task(server.start())
        told_to_stop = process.create_task(stopping.wait())
        await asyncio.wait({starting, told_to_stop}, return_when=asyncio.FIRST_COMPLETED)
        try:
            if starting.done():
                starting.result()
                self.is_ready = True
                self.simulator.say(f"{self.host} is ready")
                await stopping.wait()
            else:
                starting.cancel()
                await asyncio.wait({starting})
            self.is_ready = False
            await server.stop()
            self.simulator.say(f"{self.host} has stopped")
        except ConfigError as error:
            self.simulator.say(f"{self.host} can not start: {error}")
        self._exit(process)

    def stop(self) -> None:
        """SIGTERM: the broker leaves in good order, however long that takes."""
        if self.process is not None and not self._stopping.is_set():
            self.simulator.say(f"{self.host} is told to stop")
            self.process.call_soon(self._stopping.set)

    def _exit(self, process: ProcessLoop) -> None:
        if self.process is process:
            self._end(process)
            self.network.process_killed(process)
            self.on_exit(self)

    def _end(self, process: ProcessLoop) -> None:
        if self.observer is not None:
            self.observer.turned(process)  # what it did last may be known to others already
        if self.is_ready and self.server is not None:
            self.on_end(self.server.node)
        process.kill()
        if self._files is not None:
            self._files.die()
        self.process = self.server = self._files = None
        self.is_ready = False

    def kill(self) -> None:
        """SIGKILL: the process is gone, the machine is not."""
        if self.process is not None:
            self.simulator.say(f"{self.host} is killed")
            self._exit(self.process)

    def kill_at_change(self, changes: int | None) -> None:
        """Kill the process in the middle of one of its next changes to the disk; None: do not."""
        if self._files is not None:
            self._files.kill_at = changes

    def lose_power(self) -> None:
        """Everything that was not synced is at the mercy of chance."""
        self.simulator.say(f"{self.host} loses power")
        self.has_power = False
        self.network.power_lost(self.host)
        if self.process is not None:
            self._end(self.process)
        self.disk.lose_power()
        self.boots += 1

    def power_up(self) -> None:
        if self.has_power:
            return
        self.simulator.say(f"{self.host} has power again")
        self.has_power = True
        self.network.power_restored(self.host)

    def wipe(self) -> None:
        """The disk is replaced by an empty one."""
        assert self.process is None
        self.simulator.say(f"{self.host} gets an empty disk")
        self.disk.wipe()


@lru_cache(maxsize=8)
def _parsed(properties: tuple[tuple[str, str], ...]) -> BrokerConfig:
    """Some runs start hundreds of brokers, and parsing is a good part of a start."""
    return BrokerConfig(dict(properties))


def _bind(address: Address) -> list[socket.socket]:
    return [cast("socket.socket", _Socket(address.host, address.port))]
