"""The node processes of a cluster, with what they use: ports, a directory, a network."""

import secrets
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from barnabas.embedded import storage
from barnabas.embedded.errors import ClusterError
from barnabas.embedded.launcher import Launcher
from barnabas.embedded.network import Network
from barnabas.embedded.node import Node
from barnabas.embedded.ports import HOST, Ports

if TYPE_CHECKING:
    from barnabas.embedded.security import ClusterSecurity


class NodeProcesses:
    """The nodes of one cluster; there are none until `launch`, and after `close`."""

    def __init__(
        self,
        nodes: tuple[int, ...],
        properties: Mapping[str, str],
        *,
        network: bool,
        secure: bool = False,
    ) -> None:
        self._ids = nodes
        self._properties = properties
        self._has_network = network
        self._is_secure = secure
        self.security: ClusterSecurity | None = None
        self._launcher: Launcher | None = None
        self._ports: Ports | None = None
        self._directory: Path | None = None
        self._addresses: dict[int, str] = {}
        self.by_id: dict[int, Node] = {}
        self.network: Network | None = None

    # -- start and end ---------------------------------------------------------------------------

    def launch(self) -> None:
        """Start a process for each node. If this fails, `close` removes what was made."""
        self._launcher = Launcher.borrow()
        self._make_nodes(self._launcher)
        for node in self.by_id.values():
            node.launch()

    def _make_nodes(self, launcher: Launcher) -> None:
        count = len(self._ids)
        self._ports = Ports(2 * count if self._has_network else count)
        # Without a network, the front of a node is its own port.
        own, fronts = self._ports.numbers[:count], self._ports.numbers[-count:]
        self._addresses = {n: f"{HOST}:{port}" for n, port in zip(self._ids, fronts, strict=True)}
        self._directory = launcher.directory / str(own[0])
        self._directory.mkdir()
        if self._has_network:
            self.network = Network(launcher, list(zip(self._ids, fronts, own, strict=True)))
        secret = self._directory / "cluster.secret"
        secret.touch(mode=0o600)
        secret.write_text(secrets.token_urlsafe())
        voters = ",".join(f"{n}@{address}" for n, address in self._addresses.items())
        security = self._make_security(self._directory / "security")
        for node_id, port in zip(self._ids, own, strict=True):
            advertised = self._addresses[node_id]
            properties = {
                "cluster.secret.file": str(secret),
                "advertised.listeners": advertised,
                **(
                    {}
                    if security is None
                    else security.node_settings(node_id, f"{HOST}:{port}", advertised)
                ),
                **self._properties,
                "controller.quorum.voters": voters,
            }
            sign_in = None if security is None else security.sign_in
            self.by_id[node_id] = Node(
                launcher, node_id, port, self._directory, properties, sign_in
            )

    def _make_security(self, directory: Path) -> "ClusterSecurity | None":
        if self._is_secure:
            from barnabas.embedded.security import ClusterSecurity  # it needs an extra

            self.security = ClusterSecurity(directory, self._ids)
        return self.security

    def close(self) -> None:
        """Kill all nodes and delete their data; in a fork of the test, do nothing."""
        if self._launcher is None or not self._launcher.is_ours:
            return
        with suppress(ClusterError):  # without a launcher, no node is left either
            for node in self.by_id.values():
                node.kill()
            if self.network is not None:
                self.network.close()
        if self._directory is not None:
            storage.remove(self._directory)
        if self._ports is not None:
            self._ports.close()
        self._launcher.give_back()
        self._launcher = self._ports = self.network = self._directory = None
        self.by_id = {}
        self.security = None

    @property
    def is_started(self) -> bool:
        return self._launcher is not None

    @property
    def are_ours(self) -> bool:
        """Whether this process has started them, rather than one that it was forked from."""
        return self._launcher is not None and self._launcher.is_ours

    # -- one and some ----------------------------------------------------------------------------

    def node(self, node_id: int) -> Node:
        if self._launcher is None:
            raise ClusterError(
                "this cluster is not running; use it in a `with` block, or call start()"
            )
        if node_id not in self.by_id:
            raise ValueError(f"there is no node {node_id}; the nodes are {self._ids}")
        return self.by_id[node_id]

    def some(self, node_ids: Collection[int]) -> list[Node]:
        return [self.node(node_id) for node_id in node_ids]

    def address_of(self, node_id: int) -> str:
        """Where clients and other nodes reach a node."""
        return self._addresses[self.node(node_id).node_id]

    # -- their condition -------------------------------------------------------------------------

    @property
    def are_hurt(self) -> bool:
        """Whether one is down, paused, isolated or has a full disk."""
        return self.is_started and (
            len(self.awake()) < len(self._ids)
            or any(node.is_full for node in self.by_id.values())
            or (self.network is not None and bool(self.network.cuts))
        )

    def awake(self) -> list[Node]:
        """Those that are running and not paused."""
        return [n for n in self.by_id.values() if n.is_running and not n.is_paused]

    def witnesses(self) -> list[Node]:
        """The nodes to ask: those that are not isolated, as the others have stale metadata."""
        awake = self.awake()
        return [node for node in awake if self._is_connected(node.node_id)] or awake

    def can_lead(self, node_id: int) -> bool:
        """Whether a node is awake and reaches a majority of all nodes."""
        is_awake = any(node.node_id == node_id for node in self.awake())
        return is_awake and self._is_connected(node_id)

    def _is_connected(self, node_id: int) -> bool:
        return self.network is None or self.network.reaches_majority(node_id)
