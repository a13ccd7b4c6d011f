"""A cluster of real broker processes, and the means to hurt it.

Nodes are numbered from 1. They listen on localhost, or each on a host of its own in a `Network`.
What is asked of the cluster here is asked of single nodes over plain sockets, so that an answer
comes from the node that is meant and nothing is retried behind the test's back.
"""

import shutil
import subprocess
import sys
from base64 import urlsafe_b64decode
from collections.abc import Mapping, Sequence
from pathlib import Path
from ssl import SSLContext
from typing import Any, Self

from barnabas.embedded.ports import Ports
from barnabas.embedded.view import PartitionState, View
from barnabas.wire.message import Request
from barnabas.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from tests.broker.raw_client import RawClient
from tests.support.broker import BrokerProcess
from tests.support.network import Network
from tests.support.wait import wait_until

ASK_TIMEOUT_S = 10.0
_TOPIC_EXISTS = 36


class NodeProcess(BrokerProcess):
    """One node, with its own data, its own log and perhaps its own host."""

    def __init__(
        self,
        node_id: int,
        address: tuple[str, int],
        directory: Path,
        settings: Mapping[str, str],
        prefix: Sequence[str] = (),
    ) -> None:
        super().__init__(directory / f"node-{node_id}", settings)
        self.log = directory / f"node-{node_id}.log"
        self.node_id = node_id
        self.host, self.port = address
        self.frozen = False
        self.tls: SSLContext | None = None
        """For questions to a node whose listener has TLS."""
        self.prefix = list(prefix)
        """Runs before the command of the node."""

    def command(self) -> list[str]:
        properties = {"listeners": self.bootstrap, "log.dirs": str(self.data)} | self.settings
        pairs = [f"{name}={value}" for name, value in properties.items()]
        return [*self.prefix, sys.executable, "-m", "barnabas.broker.server", *pairs]

    def freeze(self) -> None:
        super().freeze()
        self.frozen = True

    def thaw(self) -> None:
        super().thaw()
        self.frozen = False

    def kill(self) -> None:
        super().kill()
        self.frozen = False

    def wipe(self) -> None:
        """Put an empty disk in place of the one it had."""
        assert not self.alive, "the node is running"
        for path in self.data.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    @property
    def directory_id(self) -> bytes:
        """What tells its replica of the metadata from one that it had before."""
        text = (self.data / "meta.properties").read_text()
        entries = dict(line.split("=", 1) for line in text.splitlines())
        found = entries.get("quorum.directory.id", entries["directory.id"])
        return urlsafe_b64decode(found + "==")

    def ask(self, request: Request[Any], version: int | None = None) -> Any:
        """Raises OSError if it does not answer soon."""
        with self.connect() as client:
            try:
                return client.ask(request, version)
            except EOFError as error:
                raise ConnectionError(str(error)) from error

    def connect(self, timeout_s: float = ASK_TIMEOUT_S) -> RawClient:
        return RawClient(self.host, self.port, timeout_s=timeout_s, tls=self.tls)


class SmallDisk:
    """A file system in memory in place of a node's directory, which a ballast can fill up."""

    def __init__(self, node: NodeProcess, megabytes: int) -> None:
        self._path = node.data.parent
        self._ballast = self._path / "ballast"
        self._path.mkdir(parents=True, exist_ok=True)
        self._mount = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs"]

    def __enter__(self) -> Self:
        done = subprocess.run([*self._mount, str(self._path)], capture_output=True, text=True)
        if done.returncode != 0:
            raise PermissionError(f"can't mount: {done.stderr.strip()}")
        return self

    def __exit__(self, *_: object) -> None:
        subprocess.run(["umount", "-l", str(self._path)], check=True)

    def fill(self) -> None:
        """Leave not a single byte."""
        with self._ballast.open("ab", buffering=0) as file:
            for size in (1 << 20, 1 << 12, 1):
                try:
                    while file.write(bytes(size)) == size:
                        pass
                except OSError:  # full, as far as pieces of this size go
                    continue

    def make_room(self) -> None:
        self._ballast.unlink()


class ClusterProcesses:
    """`nodes` brokers that are all voters. A context manager: at the end none is left."""

    node_type = NodeProcess

    def __init__(
        self,
        directory: Path,
        nodes: int = 3,
        settings: Mapping[str, str] | None = None,
        network: Network | None = None,
    ) -> None:
        self.network = network
        self._view = View(self.awake)
        self._ports = Ports(nodes if network is None else 0)
        ids = range(1, nodes + 1)
        if network is None:
            ports = zip(ids, self._ports.numbers, strict=True)
            addresses = {node_id: ("127.0.0.1", port) for node_id, port in ports}
        else:
            addresses = {node_id: (network.address(node_id), 9092) for node_id in ids}
        voters = ",".join(f"{i}@{host}:{port}" for i, (host, port) in addresses.items())
        secret = directory / "cluster.secret"
        directory.mkdir(parents=True, exist_ok=True)
        secret.write_text("the secret of a cluster under test")
        self.nodes: dict[int, NodeProcess] = {}
        for node_id in ids:
            own = {
                "node.id": str(node_id),
                "controller.quorum.voters": voters,
                "cluster.secret.file": str(secret),
            }
            prefix = [] if network is None else network.command(node_id)
            self.nodes[node_id] = self.node_type(
                node_id, addresses[node_id], directory, own | dict(settings or {}), prefix
            )

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __getitem__(self, node_id: int) -> NodeProcess:
        return self.nodes[node_id]

    @property
    def bootstrap(self) -> str:
        return ",".join(node.bootstrap for node in self.nodes.values())

    # -- life ------------------------------------------------------------------------------------

    def start(self, timeout_s: float = 180) -> None:
        """Start all that are not running, at once, and wait until they see each other."""
        started = [node for node in self.nodes.values() if not node.alive]
        for node in started:
            node.launch()
        for node in started:
            node.wait_until_ready(timeout_s)
        self.wait_until_formed(timeout_s)

    def stop(self) -> None:
        """End all in order, one after the other."""
        for node in self.nodes.values():
            if node.alive:
                node.stop()

    def kill_all(self) -> None:
        """As when the power of a room fails, but for what the machine's memory still holds."""
        for node in self.nodes.values():
            node.kill()

    def close(self) -> None:
        self.kill_all()
        self._ports.close()

    # -- looks from outside ----------------------------------------------------------------------

    def awake(self) -> list[NodeProcess]:
        return [node for node in self.nodes.values() if node.alive and not node.frozen]

    def ask_any(self, request: Request[Any], version: int | None = None) -> Any:
        """The first answer from any node."""
        refused: OSError | None = None
        for node in self.awake():
            try:
                return node.ask(request, version)
            except OSError as error:
                refused = error
        raise ConnectionError("no node answers") from refused

    def partitions(self, topic: str | None = None) -> dict[tuple[str, int], PartitionState]:
        """All partitions, or those of a topic, as the node that knows the newest sees each."""
        return self._view.partitions(topic)

    def leader_of(self, topic: str, partition: int = 0, timeout_s: float = 180) -> NodeProcess:
        """The leader, as soon as there is one that runs."""

        def leader() -> NodeProcess | None:
            state = self.partitions(topic).get((topic, partition))
            node = None if state is None else self.nodes.get(state.leader)
            return node if node is not None and node.alive else None

        return wait_until(leader, f"{topic}-{partition} has no leader", timeout_s=timeout_s)

    def controller(self, timeout_s: float = 180) -> NodeProcess:
        """The active controller: the leader of the metadata log."""

        def found() -> NodeProcess | None:
            quorum = self._view.quorum()
            node = None if quorum is None else self.nodes.get(quorum.leader_id)
            return node if node is not None and node.alive else None

        return wait_until(found, "there is no controller", timeout_s=timeout_s)

    def create_topic(
        self, topic: str, partitions: int = 1, replicas: int = 3, **configs: str
    ) -> None:
        """Create it and wait until each partition has a leader, everywhere."""
        named = [
            CreatableTopicConfig(name.replace("_", "."), value) for name, value in configs.items()
        ]
        request = CreateTopicsRequest(
            [CreatableTopic(topic, partitions, replicas, configs=named)], 10_000
        )

        def created() -> bool:
            try:
                (result,) = self.ask_any(request).topics
            except OSError:
                return False
            return result.error_code in (0, _TOPIC_EXISTS)

        wait_until(created, f"can't create {topic}")
        wait_until(
            lambda: self._view.is_led_everywhere(topic, partitions), f"{topic} has no leaders"
        )

    def wait_until_formed(self, timeout_s: float = 180) -> None:
        """Until each running node sees all running nodes."""
        expected = {node.node_id for node in self.awake()}

        def formed() -> bool:
            seen = self._view.brokers()
            return len(seen) == len(expected) and all(expected <= ids for ids in seen)

        wait_until(formed, "the nodes don't see each other", timeout_s=timeout_s)

    def wait_until_whole(self, timeout_s: float = 180) -> None:
        """Until all is as if nothing had happened: all nodes there, in sync, and voters again.

        A fault on another node before that may take down a majority of the voters.
        """
        self.wait_until_formed(timeout_s)
        self.wait_until_in_sync(timeout_s)
        wait_until(self._all_vote, "not all nodes are voters", timeout_s=timeout_s)

    def _all_vote(self) -> bool:
        """Whether each node has a vote with the disk that it has now, and has the newest entry."""
        partition = self._view.quorum()
        if partition is None:
            return False
        voters = {(v.replica_id, v.replica_directory_id): v for v in partition.current_voters}
        expected = {(node.node_id, node.directory_id) for node in self.nodes.values()}
        least = partition.high_watermark
        return voters.keys() == expected and all(v.log_end_offset >= least for v in voters.values())

    def wait_until_in_sync(self, timeout_s: float = 180) -> None:
        """Until all replicas of all partitions are in their in-sync sets."""
        wait_until(
            lambda: not self.out_of_sync(),
            "replicas are out of sync",
            timeout_s=timeout_s,
        )

    def out_of_sync(self) -> dict[tuple[str, int], PartitionState]:
        return self._view.out_of_sync()
