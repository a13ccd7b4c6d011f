"""Runs a broker: from settings to a listening process, until it is stopped."""

import asyncio
import contextlib
import gc
import logging
import resource
import signal
import sys
import time
from asyncio import BaseProtocol
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from socket import socket
from typing import Any

import uvloop

from barnabas import __version__
from barnabas.broker.environment import Environment
from barnabas.broker.guards.table import with_guards
from barnabas.broker.logs.log_setup import set_up_log
from barnabas.broker.monitoring.metrics_listener import MetricsListener, bind_metrics
from barnabas.broker.net.cluster_secret import load_secret
from barnabas.broker.net.dispatcher import Dispatcher, Route
from barnabas.broker.net.listener import listeners_of
from barnabas.broker.net.listener_tls import open_tls
from barnabas.broker.net.measured_dispatcher import MeasuredDispatcher
from barnabas.broker.net.required_secret import ensure_required_secret
from barnabas.broker.net.sign_in.gate import SignInGate
from barnabas.broker.net.sign_in.listener_sasl import check_sasl
from barnabas.broker.net.startup_gate import StartupGate
from barnabas.broker.net.throttling import Throttling
from barnabas.broker.net.tls_connection import TlsAcceptor
from barnabas.broker.node import Node
from barnabas.broker.node_run import close_node, leave_cluster, start_node
from barnabas.broker.quorum.configured_voters import configured_voters
from barnabas.broker.request_log.request_log import RequestLog
from barnabas.broker.routes import routes
from barnabas.broker.runtime.container_limits import (
    NO_LIMITS,
    ContainerLimits,
    container_limits,
    machine_memory_bytes,
)
from barnabas.broker.runtime.standard_streams import announce, discard_unwritten
from barnabas.broker.settings.config import BrokerConfig, ConfigError
from barnabas.broker.settings.data_path import data_path
from barnabas.broker.settings.definitions import BROKER_CONFIGS
from barnabas.broker.settings.sizing import size_for
from barnabas.broker.upkeep import follow_certificates, follow_secret, upkeep
from barnabas.log import DataDirectory, DirectoryLocked, DirectoryMismatch, StorageError
from barnabas.tls.broken_connections import take_broken_connections
from barnabas.wire.endpoint import Address, Endpoint

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
        self._servers: list[asyncio.Server] = []
        self._upkeep: list[asyncio.Task[None]] = []
        self._metrics: MetricsListener | None = None

    async def start(self) -> list[Address]:
        """Open the data, listen, and return the addresses of the listeners. Raises
        `ConfigError`."""
        config = self._config
        loop = self._environment.loop
        voters = configured_voters(config)
        check_sasl(listeners_of(config).values())
        tls = open_tls(config)
        sockets = self._bind()
        ports = {name: bound[0].getsockname()[1] for name, bound in sockets.items()}
        metrics_sockets = bind_metrics(config, ports, self._environment.bind)
        self.data = _open_data(config, self._environment)
        secret = ensure_required_secret(
            config,
            self.data.path,
            self._environment.disk,
            self._environment.random,
            self._environment.secret or load_secret(self._environment.disk, config, self.data.path),
            is_alone=all(voter.id == config.node.node_id for voter in voters),
        )
        self.node = node = Node(config, self.data, self._environment, self._failed, secret, tls)
        node.cluster.advertised = _endpoints(config, ports)
        kind = MeasuredDispatcher if metrics_sockets else Dispatcher
        dispatcher: Dispatcher[Node] = kind(
            node, _routes(node), node.request_errors, node.threads.decode
        )
        gate = StartupGate(dispatcher.dispatch, node.connections)
        if isinstance(dispatcher, MeasuredDispatcher):
            self._metrics = MetricsListener(node, dispatcher.times, gate)
            await self._metrics.start(metrics_sockets)
            self._run(self._metrics.rotate_windows())
        self._choose_dispatch(Throttling(dispatcher, node.client_quotas), gate)
        sign_in = SignInGate(gate, node.sign_ins, config.listeners.inter_broker.name)
        for name, bound in sockets.items():
            accept: Callable[[], BaseProtocol]
            accept = partial(sign_in.new_connection, node.listeners[name])
            if name in tls:
                accept = TlsAcceptor(loop, tls[name], node.connections, accept).accept
            for each in bound:
                self._servers.append(await loop.create_server(accept, sock=each))
        if tls:
            self._run(follow_certificates(node))
        if self._environment.secret is None:
            self._run(follow_secret(node))
        try:
            await start_node(node)
        except StorageError as error:
            raise ConfigError(str(error)) from error
        gate.open()
        for work in upkeep(self.node):
            self._run(work)
        if self.data.leftovers is not None:
            self.node.partitions.run_later(self.data.leftovers)
        return [
            Address(each.address.host or "0.0.0.0", ports[each.name])  # noqa: S104 - shown, not bound
            for each in config.listeners
        ]

    def _bind(self) -> dict[str, list[socket]]:
        """Sockets by the name of the listener."""
        bound: dict[str, list[socket]] = {}
        try:
            for each in self._config.listeners:
                bound[each.name] = self._environment.bind(each.address)
        except ConfigError:
            for sockets in bound.values():
                for each_socket in sockets:
                    each_socket.close()
            raise
        return bound

    def _choose_dispatch(self, throttling: Throttling, gate: StartupGate) -> None:
        """Switch connections whenever quotas or the request log are turned on or off."""
        node = self.node
        clock = self._environment.clock
        request_log = RequestLog(
            self._environment.loop, clock.steady_s, (each.request_type for each in routes())
        )

        def switch() -> None:
            gate.use(request_log.around(throttling.dispatch_function))

        def reconfigured() -> None:
            if request_log.configure(node.config.monitoring):
                switch()

        node.client_quotas.on_change = switch
        node.on_reconfigured = reconfigured
        reconfigured()

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        """Run periodic work until the node stops."""
        task = self._environment.loop.create_task(work)
        task.add_done_callback(_report)
        self._upkeep.append(task)

    def _failed(self, reason: str) -> None:
        logger.critical("this node can't continue: %s", reason)
        self.exit_code = 1
        self._stop()

    async def stop(self) -> None:
        """Hand over leadership, stop listening, answer waiting clients, flush and close.

        The next start needs no scan.
        """
        await leave_cluster(self.node)
        for server in self._servers:
            server.close()
        if self._metrics is not None:
            await self._metrics.close()
        for task in self._upkeep:
            task.cancel()
        await asyncio.gather(*self._upkeep, return_exceptions=True)
        await close_node(self.node)


def _endpoints(config: BrokerConfig, ports: Mapping[str, int]) -> dict[str, Endpoint]:
    """What each listener advertises: by default its own address, with the port that it got."""
    return {
        each.name: Endpoint(
            each.name,
            *(each.advertised or Address(each.address.host, ports[each.name])),
            each.protocol,
        )
        for each in config.listeners
    }


def _report(upkeep_task: "asyncio.Task[None]") -> None:
    """Upkeep runs until it is cancelled: if it ends in any other way, log that, as it is a bug."""
    if not upkeep_task.cancelled():
        logger.critical("periodic work has ended", exc_info=upkeep_task.exception())


def _routes(node: Node) -> Sequence[Route[Node]]:
    table = routes(node.environment.release)
    return with_guards(table) if node.authorization.is_enabled else table


def _open_data(config: BrokerConfig, environment: Environment) -> DataDirectory:
    try:
        return DataDirectory.open(
            environment.disk,
            data_path(config),
            node_id=config.node.node_id,
            new_cluster_id="",
            new_directory_id=environment.random.randbytes(16),
            private=bool(config.authorizer.class_name),  # its files show all records
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


async def _serve(config: BrokerConfig, cpus: float | None) -> int:
    loop = asyncio.get_running_loop()
    take_broken_connections(loop)
    gc.callbacks.append(_LongCollections())
    stopping = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopping.set)
    server = Server(config, Environment.real(loop, cpus), stopping.set)
    starting = loop.create_task(server.start())
    told_to_stop = loop.create_task(stopping.wait())
    await asyncio.wait({starting, told_to_stop}, return_when=asyncio.FIRST_COMPLETED)
    if not starting.done():  # the start may still be waiting for other nodes
        starting.cancel()
        await asyncio.wait({starting})
        await server.stop()
        return server.exit_code
    addresses = starting.result()
    # Objects made during startup live as long as the broker: the collector need not scan them.
    gc.collect()
    gc.freeze()
    announce(
        f"Barnabas {__version__} is ready on {', '.join(map(str, addresses))} "
        f"(node {server.data.node_id}, cluster {server.data.cluster_id}, data in "
        f"{server.data.path})"
    )
    await stopping.wait()
    announce("Barnabas is stopping")
    await server.stop()
    return server.exit_code


def fit_container(
    properties: Mapping[str, str], limits: ContainerLimits, nodes: int = 1
) -> tuple[dict[str, str], str | None]:
    """The settings with defaults that fit the container, or a small machine, of `nodes` nodes.

    Says what was found and chosen, if anything is limited or lowered.
    """
    memory = limits.memory_bytes or machine_memory_bytes()
    usual = {name: config.default for name, config in BROKER_CONFIGS.items()}
    where = "this machine" if limits == NO_LIMITS else "this container"
    if nodes > 1:
        where = f"each of {nodes} nodes in {where}"
    sizing = size_for(
        None if memory is None else memory // nodes, limits.cpus, usual, properties, where
    )
    is_worth_saying = limits != NO_LIMITS or sizing.defaults
    return {**sizing.defaults, **properties}, sizing.said if is_worth_saying else None


def run(properties: Mapping[str, str]) -> int:
    """Run a broker until SIGINT or SIGTERM; the exit code. Raises `ConfigError`."""
    limits = container_limits()
    properties, sizing = fit_container(properties, limits)
    config = BrokerConfig(properties)
    _raise_file_limit()
    set_up_log(config)
    if sizing is not None:
        logger.info("%s", sizing)
    for name, why in config.without_effect.items():
        logger.warning("setting %s has no effect: %s", name, why)
    try:
        return uvloop.run(_serve(config, limits.cpus))
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
