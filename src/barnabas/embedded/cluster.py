"""`barnabas.Cluster`: a real cluster for tests, with faults to inject.

    with barnabas.Cluster(nodes=3) as cluster:
        leader = cluster.leader_of("orders", 0)
        cluster.kill(leader)

Each node is a process that runs what `barnabas server` runs. It uses free ports, and keeps data in
memory or in a temporary directory. Nothing is left afterwards, even if the test is killed.

Nodes are numbered from 1. Methods block until they are done; in asyncio, use `async with`, and call
methods that wait with `await asyncio.to_thread(cluster.restart, 1)`. Several threads may use a
cluster, one at a time.
"""

import asyncio
import secrets
import sys
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from barnabas.embedded import storage
from barnabas.embedded.errors import ClusterError
from barnabas.embedded.launcher import Launcher
from barnabas.embedded.network import Network
from barnabas.embedded.node import Node
from barnabas.embedded.ports import HOST, Ports
from barnabas.embedded.settings import Setting, properties_of
from barnabas.embedded.topics import create_topic
from barnabas.embedded.view import PartitionState, View
from barnabas.embedded.wait import wait_for, wait_until

__all__ = ["Cluster", "ClusterError", "PartitionState"]

_START_TIMEOUT_S = 30.0
_ELECTION_TIMEOUT_S = 15.0
_HEALING_TIMEOUT_S = 60.0


class Cluster:
    """A cluster of real nodes for tests; each is a broker and a voter.

    `settings` are broker settings (docs/configuration.md) for all nodes. `network=True` sends all
    traffic through a forwarder, which `isolate` needs, at some cost of speed.
    """

    def __init__(
        self,
        nodes: int = 1,
        *,
        settings: Mapping[str, Setting] | None = None,
        network: bool = False,
    ) -> None:
        if nodes < 1:
            raise ValueError(f"nodes={nodes}: a cluster needs at least one node")
        self.nodes: tuple[int, ...] = tuple(range(1, nodes + 1))
        """The ids of all nodes."""
        self._properties = properties_of(settings or {})
        self._has_network = network
        self._by_id: dict[int, Node] = {}
        self._fronts: list[int] = []
        self._launcher: Launcher | None = None
        self._ports: Ports | None = None
        self._network: Network | None = None
        self._directory: Path | None = None
        self._view = View(self._witnesses)

    def __repr__(self) -> str:
        if self._launcher is None:
            return f"<Cluster of {len(self.nodes)}, not running>"
        if not self._launcher.is_ours:
            return f"<Cluster at {self.bootstrap_servers}, of another process>"
        states = "".join(f", {n}: {node.condition}" for n, node in self._by_id.items())
        cuts = [] if self._network is None else sorted(map(sorted, self._network.cuts))
        cut = "".join(f", no link between {a or 'clients'} and {b}" for a, b in cuts)
        return f"<Cluster at {self.bootstrap_servers}{states}{cut}>"

    # -- life ------------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        await asyncio.to_thread(self.start)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await asyncio.to_thread(self.close)

    def start(self, timeout_s: float = _START_TIMEOUT_S) -> None:
        """Start all nodes and wait until they form a cluster. `with` does this."""
        if self._launcher is not None:
            raise ClusterError(
                "this cluster is already running; create another Cluster for a second one"
            )
        self._launcher = Launcher.borrow()
        try:
            self._make_nodes(self._launcher)
            for node in self._by_id.values():
                node.launch()
            self._wait_until_ready(self.nodes, timeout_s)
        except BaseException:
            self.close()
            raise

    def _make_nodes(self, launcher: Launcher) -> None:
        count = len(self.nodes)
        self._ports = Ports(2 * count if self._has_network else count)
        own, fronts = self._ports.numbers[:count], self._ports.numbers[-count:]
        self._fronts = fronts
        self._directory = launcher.directory / str(own[0])
        self._directory.mkdir()
        if self._has_network:
            self._network = Network(launcher, list(zip(self.nodes, fronts, own, strict=True)))
        secret = self._directory / "cluster.secret"
        secret.touch(mode=0o600)
        secret.write_text(secrets.token_urlsafe())
        voters = ",".join(f"{n}@{HOST}:{port}" for n, port in zip(self.nodes, fronts, strict=True))
        for node_id, port, front in zip(self.nodes, own, fronts, strict=True):
            properties = {
                "cluster.secret.file": str(secret),
                **self._properties,
                "controller.quorum.voters": voters,
                "advertised.listeners": f"{HOST}:{front}",
            }
            self._by_id[node_id] = Node(launcher, node_id, port, self._directory, properties)

    def close(self) -> None:
        """Stop all nodes and delete their data.

        In a fork of the test it does nothing.
        """
        if self._launcher is None or not self._launcher.is_ours:
            return
        with suppress(ClusterError):  # without a launcher, no node is left either
            for node in self._by_id.values():
                node.kill()
            if self._network is not None:
                self._network.close()
        if self._directory is not None:
            storage.remove(self._directory)
        if self._ports is not None:
            self._ports.close()
        self._launcher.give_back()
        self._launcher = self._ports = self._network = self._directory = None
        self._by_id = {}

    # -- looks -----------------------------------------------------------------------------------

    @property
    def bootstrap_servers(self) -> str:
        """Bootstrap servers for any Kafka client: `host:port` of each node, separated by commas."""
        self._node(1)
        return ",".join(f"{HOST}:{port}" for port in self._fronts)

    @property
    def is_started(self) -> bool:
        """Whether the cluster is started and not closed."""
        return self._launcher is not None

    @property
    def running(self) -> tuple[int, ...]:
        """The nodes that are running and not paused."""
        return tuple(node.node_id for node in self._awake())

    @property
    def is_hurt(self) -> bool:
        """Whether a node of the running cluster is down, paused, isolated or has a full disk."""
        return self.is_started and (
            len(self._awake()) < len(self.nodes)
            or any(node.is_full for node in self._by_id.values())
            or (self._network is not None and bool(self._network.cuts))
        )

    def address_of(self, node: int) -> str:
        """The address of a node, `host:port`."""
        return f"{HOST}:{self._fronts[self._node(node).node_id - 1]}"

    def pid_of(self, node: int) -> int | None:
        """The process id of a node, or None if it is down."""
        found = self._node(node)
        return found.pid if found.is_running else None

    def log_of(self, node: int) -> str:
        """The log of a node since the cluster was started."""
        return self._node(node).log_text()

    def leader_of(
        self, topic: str, partition: int = 0, *, timeout_s: float = _ELECTION_TIMEOUT_S
    ) -> int:
        """The leader of a partition. Waits for one that is neither down, paused nor isolated, for
        instance just after the leader was killed."""

        def leader() -> int | None:
            state = self._view.partitions(topic).get((topic, partition))
            return state.leader if state is not None and self._can_lead(state.leader) else None

        def complaint() -> str:
            found = self._view.partitions(topic)
            if not found:
                return f"topic {topic!r} does not exist; create it with create_topic({topic!r})"
            if (topic, partition) not in found:
                return f"topic {topic!r} has no partition {partition}; it has 0 to {len(found) - 1}"
            return f"{topic}-{partition} has no running leader: {found[topic, partition]}, {self}"

        return wait_for(leader, timeout_s, complaint)

    def partitions_of(self, topic: str) -> dict[int, PartitionState]:
        """Leader, replicas and in-sync replicas of each known partition."""
        found = self._view.partitions(topic)
        return {partition: state for (_, partition), state in sorted(found.items())}

    def controller(self, *, timeout_s: float = _ELECTION_TIMEOUT_S) -> int:
        """The controller: the leader of the metadata log."""

        def found() -> int | None:
            quorum = self._view.quorum()
            return quorum.leader_id if quorum and self._can_lead(quorum.leader_id) else None

        return wait_for(found, timeout_s, lambda: f"there is no controller: {self}")

    def create_topic(
        self,
        topic: str,
        partitions: int = 1,
        *,
        replication_factor: int | None = None,
        configs: Mapping[str, Setting] | None = None,
        timeout_s: float = _ELECTION_TIMEOUT_S,
    ) -> None:
        """Create a topic and wait until every node knows it. By default it has 3 replicas, or as
        many as there are nodes."""
        factor = -1 if replication_factor is None else replication_factor
        if factor > len(self.nodes):
            raise ValueError(
                f"replication_factor={factor}: the cluster has {len(self.nodes)} "
                f"node{'s' * (len(self.nodes) > 1)}"
            )
        create_topic(self._view, topic, partitions, factor, configs or {}, timeout_s)

    # -- faults ----------------------------------------------------------------------------------

    def kill(self, node: int, *more: int) -> None:
        """Kill nodes, as a crash does (SIGKILL). `restart` brings them back."""
        for each in self._nodes((node, *more)):
            each.kill()

    def stop(self, node: int, *more: int) -> None:
        """Stop nodes cleanly (SIGTERM): they hand over their leadership."""
        nodes = [each for each in self._nodes((node, *more)) if each.is_running]
        for each in nodes:
            each.ask_to_stop()
        for each in nodes:
            each.wait_until_stopped()

    def restart(self, *nodes: int, timeout_s: float = _START_TIMEOUT_S) -> None:
        """Restart nodes, by default those that are down; running ones are stopped cleanly first.

        Waits until they are ready, if a majority of all nodes is up.
        """
        chosen = nodes or tuple(n for n, node in self._by_id.items() if not node.is_running)
        if not chosen:
            return
        self.stop(*chosen)
        for node in self._nodes(chosen):
            node.launch()
        if 2 * sum(map(self._can_lead, self.nodes)) > len(self.nodes):
            self._wait_until_ready([n for n in chosen if self._can_lead(n)], timeout_s)
        for node in self._nodes(chosen):
            if node.is_full:
                node.limit_disk()

    def pause(self, node: int, *more: int) -> None:
        """Freeze nodes (SIGSTOP), as a long pause of a machine does. Connections stay open, and
        requests are not answered."""
        for each in self._nodes((node, *more)):
            each.pause()

    def resume(self, *nodes: int) -> None:
        """Resume paused nodes, by default all."""
        for each in self._nodes(nodes or self.nodes):
            each.resume()

    def isolate(self, node: int, *more: int, from_clients: bool = True) -> None:
        """Cut nodes off from the other nodes and from all clients; they still reach each other.

        Connections stay open and carry nothing. With `from_clients=False`, clients still reach the
        nodes, and may get outdated answers. Needs `Cluster(..., network=True)`.
        """
        chosen = (node, *more)
        self._nodes(chosen)
        if self._network is None:
            raise ClusterError(
                "isolate() needs a simulated network; use Cluster(..., network=True) or "
                "@pytest.mark.barnabas(network=True)"
            )
        self._network.isolate(chosen, from_clients=from_clients)

    def heal(self, *nodes: int) -> None:
        """Undo `isolate` for nodes, by default for all."""
        self._nodes(nodes)
        if self._network is not None:
            self._network.heal(nodes or self.nodes)

    def fill_disk(self, node: int, *more: int) -> None:
        """Make the disks of nodes full: the kernel refuses to let any file grow. Linux only."""
        if sys.platform != "linux":
            raise ClusterError("fill_disk() works on Linux only; skip the test elsewhere")
        for each in self._nodes((node, *more)):
            each.is_full = True
            each.limit_disk()

    def free_disk(self, *nodes: int) -> None:
        """Undo `fill_disk` for nodes, by default for all."""
        for each in self._nodes(nodes or self.nodes):
            each.is_full = False
            each.limit_disk()

    # -- healing ---------------------------------------------------------------------------------

    def repair(self, *, timeout_s: float = _HEALING_TIMEOUT_S) -> None:
        """Undo all faults and wait until the cluster has recovered."""
        self.resume()
        self.heal()
        self.free_disk()
        self.restart(timeout_s=timeout_s)
        self.wait_until_healed(timeout_s=timeout_s)

    def wait_until_healed(self, *, timeout_s: float = _HEALING_TIMEOUT_S) -> None:
        """Wait until all nodes are back in the cluster and in sync.

        Undo the faults first, or call `repair`, which does both.
        """
        if self.is_hurt:
            raise ClusterError(
                f"{self} still has faults; undo them with restart(), resume(), heal() and "
                "free_disk(), or with repair()"
            )
        self._wait_until_ready(self.nodes, timeout_s)
        wait_until(
            lambda: self._view.lagging_voters() == [],
            timeout_s,
            lambda: f"nodes lag behind the metadata log: {self._view.lagging_voters()}",
        )
        wait_until(
            lambda: not self._view.out_of_sync(),
            timeout_s,
            lambda: f"replicas are out of sync: {self._view.out_of_sync()}",
        )

    # -- the rest --------------------------------------------------------------------------------

    def _wait_until_ready(self, nodes: Collection[int], timeout_s: float) -> None:
        """Wait until these nodes run and all nodes see them."""
        expected = frozenset(nodes)

        def ready() -> bool:
            for node in self._nodes(nodes):
                if not node.is_running:
                    raise ClusterError(
                        f"node {node.node_id} ended while starting; its log:\n{node.log_tail(20)}"
                    )
            seen = self._view.brokers()
            witnesses = self._witnesses()
            return (
                len(seen) == len(witnesses)
                and all(expected <= ids for ids in seen)
                and expected <= {node.node_id for node in witnesses}  # none has ended meanwhile
            )

        def complaint() -> str:
            logs = "\n".join(f"-- node {n}:\n{self._by_id[n].log_tail(20)}" for n in nodes)
            return f"not all nodes are ready; their last log lines:\n{logs}\n"

        wait_until(ready, timeout_s, complaint)

    def _awake(self) -> list[Node]:
        return [n for n in self._by_id.values() if n.is_running and not n.is_paused]

    def _witnesses(self) -> list[Node]:
        """The nodes to ask: those that are not isolated, as the others have stale metadata."""
        awake = self._awake()
        return [node for node in awake if self._is_connected(node.node_id)] or awake

    def _is_connected(self, node: int) -> bool:
        return self._network is None or self._network.reaches_majority(node)

    def _can_lead(self, node: int) -> bool:
        return node in self.running and self._is_connected(node)

    def _node(self, node: int) -> Node:
        if self._launcher is None:
            raise ClusterError(
                "this cluster is not running; use it in a `with` block, or call start()"
            )
        if node not in self._by_id:
            raise ValueError(f"there is no node {node}; the nodes are {self.nodes}")
        return self._by_id[node]

    def _nodes(self, nodes: Collection[int]) -> list[Node]:
        return [self._node(node) for node in nodes]
