"""Runs a broker: from settings to a listening process, until it is stopped."""

import asyncio
import contextlib
import gc
import logging
import resource
import signal
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import uvloop

from barnabas import __version__
from barnabas.broker.environment import Environment
from barnabas.broker.net.cluster_secret import load_secret
from barnabas.broker.net.dispatcher import Dispatcher
from barnabas.broker.net.listeners import parse_listener
from barnabas.broker.net.startup_gate import StartupGate
from barnabas.broker.node import Node
from barnabas.broker.node_run import close_node, leave_cluster, start_node
from barnabas.broker.quorum.configured_voters import configured_voters
from barnabas.broker.routes import routes
from barnabas.broker.runtime.standard_streams import announce, discard_unwritten
from barnabas.broker.settings.config import BrokerConfig, ConfigError
from barnabas.broker.upkeep import upkeep
from barnabas.log import DataDirectory, DirectoryLocked, DirectoryMismatch, StorageError
from barnabas.wire.endpoint import Address

logger = logging.getLogger(__name__)

_FULL = 2
"""The oldest generation; collecting it is a full collection."""
_LONG_COLLECTION_S = 0.02


class Server:
    """A node and its sockets."""

    def __init__(
        self, config: BrokerConfig, environment: Environment, stop: Callable[[], None]
    ) -> None:
        """`stop` is called when the node can't go on; it starts a clean shutdown."""
        self._config = config
        self._stop = stop
        self.exit_code = 0
        self._environment = environment
        self._listeners: list[asyncio.Server] = []
        self._upkeep: list[asyncio.Task[None]] = []

    async def start(self) -> Address:
        """Open the data, listen, and return the advertised address. Raises `ConfigError`."""
        config = self._config
        loop = self._environment.loop
        configured_voters(config)
        listen = parse_listener(config.node.listeners, "listeners")
        advertised = config.node.advertised_listeners
        told = None if advertised is None else parse_listener(advertised, "advertised.listeners")
        sockets = self._environment.bind(listen)
        port = sockets[0].getsockname()[1]
        self.data = _open_data(config, self._environment)
        secret = self._environment.secret or load_secret(self._environment.disk, config, self.data)
        self.node = node = Node(config, self.data, self._environment, self._failed, secret)
        node.cluster.advertised = told or Address(listen.host, port)
        gate = StartupGate(loop, Dispatcher(node, routes()).dispatch, node.connections)
        for bound in sockets:
            self._listeners.append(await loop.create_server(gate.new_connection, sock=bound))
        try:
            await start_node(node)
        except StorageError as error:
            raise ConfigError(str(error)) from error
        gate.open()
        self._upkeep = [loop.create_task(work) for work in upkeep(self.node)]
        for task in self._upkeep:
            task.add_done_callback(_report)
        if self.data.leftovers is not None:
            self.node.partitions.run_later(self.data.leftovers)
        return Address(listen.host or "0.0.0.0", port)  # noqa: S104 - shown, not bound

    def _failed(self, reason: str) -> None:
        logger.critical("this node can't go on: %s", reason)
        self.exit_code = 1
        self._stop()

    async def stop(self) -> None:
        """Hand over leadership, stop listening, answer waiting clients, flush and close.

        The next start needs no scan.
        """
        await leave_cluster(self.node)
        for listener in self._listeners:
            listener.close()
        for task in self._upkeep:
            task.cancel()
        await asyncio.gather(*self._upkeep, return_exceptions=True)
        await close_node(self.node)


def _report(upkeep_task: "asyncio.Task[None]") -> None:
    """Upkeep runs until it is cancelled: if it ends in any other way, log that, as it is a bug."""
    if not upkeep_task.cancelled():
        logger.critical("periodic work has ended", exc_info=upkeep_task.exception())


def _open_data(config: BrokerConfig, environment: Environment) -> DataDirectory:
    path = config.node.log_dirs
    if not path or "," in path:
        raise ConfigError(f"log.dirs={path}: give one directory; several are not supported")
    try:
        return DataDirectory.open(
            environment.disk,
            str(Path(path).absolute()),
            node_id=config.node.node_id,
            new_cluster_id="",
            new_directory_id=environment.random.randbytes(16),
        )
    except (DirectoryLocked, DirectoryMismatch, StorageError) as error:
        raise ConfigError(str(error)) from None


def _raise_file_limit() -> None:
    """Raise the limit as far as the system allows: each partition and connection needs open
    files."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard or hard == resource.RLIM_INFINITY:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


class _LongCollections:
    """Freezes objects that survived a slow full collection, so that the next one skips them.

    Otherwise every full collection would scan ten thousand partitions created at run time, and all
    requests would wait for it. The price: reference cycles among the frozen objects are never
    collected. The next freeze needs a hundred thousand new objects, so such cycles stay few.
    """

    def __init__(self) -> None:
        self._began = 0.0

    def __call__(self, phase: str, info: dict[str, int]) -> None:
        if info["generation"] < _FULL:
            return
        if phase == "start":
            self._began = time.thread_time()
        elif time.thread_time() - self._began > _LONG_COLLECTION_S:
            gc.freeze()


async def _serve(config: BrokerConfig) -> int:
    loop = asyncio.get_running_loop()
    gc.callbacks.append(_LongCollections())
    stopping = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopping.set)
    server = Server(config, Environment.real(loop), stopping.set)
    starting = loop.create_task(server.start())
    told_to_stop = loop.create_task(stopping.wait())
    await asyncio.wait({starting, told_to_stop}, return_when=asyncio.FIRST_COMPLETED)
    if not starting.done():  # the start may still be waiting for other nodes
        starting.cancel()
        await asyncio.wait({starting})
        await server.stop()
        return server.exit_code
    address = starting.result()
    # Objects made during startup live as long as the broker: the collector need not scan them.
    gc.collect()
    gc.freeze()
    announce(
        f"Barnabas {__version__} is ready on {address} "
        f"(node {server.data.node_id}, cluster {server.data.cluster_id}, data in "
        f"{server.data.path})"
    )
    await stopping.wait()
    announce("Barnabas is stopping")
    await server.stop()
    return server.exit_code


def run(properties: Mapping[str, str]) -> int:
    """Run a broker until SIGINT or SIGTERM; the exit code. Raises `ConfigError`."""
    config = BrokerConfig(properties)
    _raise_file_limit()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    for name, why in config.without_effect.items():
        logger.warning("setting %s has no effect: %s", name, why)
    try:
        return uvloop.run(_serve(config))
    finally:
        discard_unwritten()


def main(arguments: list[str]) -> int:
    """`python -m barnabas.broker.server NAME=VALUE ...`: `barnabas server` without its options."""
    try:
        pairs = [argument.partition("=") for argument in arguments]
        for name, separator, _ in pairs:
            if not separator:
                raise ConfigError(f"write a setting as NAME=VALUE instead of {name!r}")
        return run({name: value for name, _, value in pairs})
    except ConfigError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
