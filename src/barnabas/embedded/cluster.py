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
import sys
from collections.abc import Collection, Mapping
from types import TracebackType
from typing import Self

from barnabas.embedded.errors import ClusterError
from barnabas.embedded.node_processes import NodeProcesses
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
    traffic through a forwarder, which `isolate` needs, at some cost in speed. `secure=True` starts
    with TLS, an administrator, and access rules that allow nothing to others (needs
    `barnabas[security]`).
    """

    def __init__(
        self,
        nodes: int = 1,
        *,
        settings: Mapping[str, Setting] | None = None,
        network: bool = False,
        secure: bool = False,
    ) -> None:
        if nodes < 1:
            raise ValueError(f"nodes={nodes}: a cluster needs at least one node")
        self.nodes: tuple[int, ...] = tuple(range(1, nodes + 1))
        """The ids of all nodes."""
        self._processes = NodeProcesses(
            self.nodes, properties_of(settings or {}), network=network, secure=secure
        )
        self._view = View(self._processes.witnesses)

    def __repr__(self) -> str:
        processes = self._processes
        if not processes.is_started:
            return f"<Cluster of {len(self.nodes)}, not running>"
        if not processes.are_ours:
            return f"<Cluster at {self.bootstrap_servers}, of another process>"
        states = "".join(f", {n}: {node.condition}" for n, node in processes.by_id.items())
        cuts = [] if processes.network is None else sorted(map(sorted, processes.network.cuts))
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
        if self.is_started:
            raise ClusterError(
                "this cluster is already running; create another Cluster for a second one"
            )
        try:
            self._processes.launch()
            self._wait_until_ready(self.nodes, timeout_s)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Stop all nodes and delete their data.

        In a fork of the test it does nothing.
        """
        self._processes.close()

    # -- looks -----------------------------------------------------------------------------------

    @property
    def bootstrap_servers(self) -> str:
        """Bootstrap servers for any Kafka client: `host:port` of each node, separated by commas."""
        return ",".join(map(self._processes.address_of, self.nodes))

    @property
    def is_started(self) -> bool:
        """Whether the cluster is started and not closed."""
        return self._processes.is_started

    @property
    def running(self) -> tuple[int, ...]:
        """The nodes that are running and not paused."""
        return tuple(node.node_id for node in self._processes.awake())

    @property
    def is_hurt(self) -> bool:
        """Whether a node of the running cluster is down, paused, isolated or has a full disk."""
        return self._processes.are_hurt

    def address_of(self, node: int) -> str:
        """The address of a node, `host:port`."""
        return self._processes.address_of(node)

    def pid_of(self, node: int) -> int | None:
        """The process id of a node, or None if it is down."""
        found = self._processes.node(node)
        return found.pid if found.is_running else None

    def log_of(self, node: int) -> str:
        """The log of a node since the cluster was started."""
        return self._processes.node(node).log_text()

    def leader_of(
        self, topic: str, partition: int = 0, *, timeout_s: float = _ELECTION_TIMEOUT_S
    ) -> int:
        """The leader of a partition. Waits for one that is neither down, paused nor isolated, for
        instance just after the leader was killed."""

        def leader() -> int | None:
            state = self._view.partitions(topic).get((topic, partition))
            return (
                state.leader
                if state is not None and self._processes.can_lead(state.leader)
                else None
            )

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
            return (
                quorum.leader_id if quorum and self._processes.can_lead(quorum.leader_id) else None
            )

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

    # -- security --------------------------------------------------------------------------------

    @property
    def security(self) -> dict[str, str]:
        """Client settings of the administrator of a secure cluster: `Admin(..., security=...)`.
        Empty if the cluster is open.

        The names are those of Kafka's settings, and librdkafka accepts them unchanged.
        """
        security = self._processes.security
        return {} if security is None else dict(security.administrator)

    def add_user(
        self, name: str, password: str | None = None, *, timeout_s: float = _ELECTION_TIMEOUT_S
    ) -> dict[str, str]:
        """Add a user to a secure cluster, or change the password; returns the client settings.

        A new user has no permissions: add rules with `Admin`, connected with `security`.
        """
        security = self._processes.security
        if security is None:
            raise ClusterError("users are for secured clusters: use Cluster(secure=True)")
        return security.add_user(self._view, name, password, timeout_s)

    # -- faults ----------------------------------------------------------------------------------

    def kill(self, node: int, *more: int) -> None:
        """Kill nodes, like a crash (SIGKILL). `restart` brings them back."""
        for each in self._processes.some((node, *more)):
            each.kill()

    def stop(self, node: int, *more: int) -> None:
        """Stop nodes cleanly (SIGTERM): they hand over their leadership."""
        nodes = [each for each in self._processes.some((node, *more)) if each.is_running]
        for each in nodes:
            each.ask_to_stop()
        for each in nodes:
            each.wait_until_stopped()

    def restart(self, *nodes: int, timeout_s: float = _START_TIMEOUT_S) -> None:
        """Restart nodes, by default those that are down; running ones are stopped cleanly first.

        Waits until they are ready, if a majority of all nodes is up.
        """
        chosen = nodes or tuple(
            n for n, node in self._processes.by_id.items() if not node.is_running
        )
        if not chosen:
            return
        self.stop(*chosen)
        for node in self._processes.some(chosen):
            node.launch()
        if 2 * sum(map(self._processes.can_lead, self.nodes)) > len(self.nodes):
            self._wait_until_ready([n for n in chosen if self._processes.can_lead(n)], timeout_s)
        for node in self._processes.some(chosen):
            if node.is_full:
                node.limit_disk()

    def pause(self, node: int, *more: int) -> None:
        """Freeze nodes (SIGSTOP), like a machine that stalls. Connections stay open, and
        requests are not answered."""
        for each in self._processes.some((node, *more)):
            each.pause()

    def resume(self, *nodes: int) -> None:
        """Resume paused nodes, by default all."""
        for each in self._processes.some(nodes or self.nodes):
            each.resume()

    def isolate(self, node: int, *more: int, from_clients: bool = True) -> None:
        """Cut nodes off from the other nodes and from all clients; they still reach each other.

        Connections stay open and carry nothing. With `from_clients=False`, clients still reach the
        nodes, and may get outdated answers. Needs `Cluster(..., network=True)`.
        """
        chosen = (node, *more)
        self._processes.some(chosen)
        if self._processes.network is None:
            raise ClusterError(
                "isolate() needs a simulated network; use Cluster(..., network=True) or "
                "@pytest.mark.barnabas(network=True)"
            )
        self._processes.network.isolate(chosen, from_clients=from_clients)

    def heal(self, *nodes: int) -> None:
        """Undo `isolate` for nodes, by default for all."""
        self._processes.some(nodes)
        if self._processes.network is not None:
            self._processes.network.heal(nodes or self.nodes)

    def fill_disk(self, node: int, *more: int) -> None:
        """Make the disks of nodes full: the kernel refuses to let any file grow. Linux only."""
        if sys.platform != "linux":
            raise ClusterError("fill_disk() works on Linux only; skip the test elsewhere")
        for each in self._processes.some((node, *more)):
            each.is_full = True
            each.limit_disk()

    def free_disk(self, *nodes: int) -> None:
        """Undo `fill_disk` for nodes, by default for all."""
        for each in self._processes.some(nodes or self.nodes):
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
            for node in self._processes.some(nodes):
                if not node.is_running:
                    raise ClusterError(
                        f"node {node.node_id} ended while starting; its log:\n{node.log_tail(20)}"
                    )
            seen = self._view.brokers()
            witnesses = self._processes.witnesses()
            return (
                len(seen) == len(witnesses)
                and all(expected <= ids for ids in seen)
                and expected <= {node.node_id for node in witnesses}  # none has ended meanwhile
            )

        def complaint() -> str:
            logs = "\n".join(
                f"-- node {n}:\n{self._processes.by_id[n].log_tail(20)}" for n in nodes
            )
            return f"not all nodes are ready; their last log lines:\n{logs}\n"

        wait_until(ready, timeout_s, complaint)
