"""A simulated cluster: machines, the network between them, the judge, and clients."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from barnabas.broker.node import Node
from barnabas.broker.replica.partition import Partition
from barnabas.sim.checks.broker_log import BrokerLogHandler
from barnabas.sim.checks.epoch_starts import check_epoch_starts
from barnabas.sim.checks.history import History, Place, Violation
from barnabas.sim.checks.watch import Watch
from barnabas.sim.client import Client
from barnabas.sim.machine.machine import PORT, Machine
from barnabas.sim.network.network import Network
from barnabas.sim.process.simulator import Simulator
from barnabas.sim.profile import Profile

SESSION_MS = 1_500
"""Of members of the newer group protocols."""

LOCK_MS = 1_000
"""Of records of share groups."""

_SETTINGS = {
    "auto.create.topics.enable": "false",
    "broker.heartbeat.interval.ms": "200",
    "broker.session.timeout.ms": "1000",
    "controlled.shutdown.max.wait.ms": "3000",
    "group.consumer.assignment.interval.ms": "300",
    "group.consumer.heartbeat.interval.ms": "200",
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.min.session.timeout.ms": "100",
    "group.consumer.session.timeout.ms": str(SESSION_MS),
    "group.initial.rebalance.delay.ms": "100",
    "group.min.session.timeout.ms": "100",
    "group.share.delivery.count.limit": "10",
    "group.share.heartbeat.interval.ms": "300",
    "group.share.min.heartbeat.interval.ms": "100",
    "group.share.min.record.lock.duration.ms": "1000",
    "group.share.min.session.timeout.ms": "100",
    "group.share.record.lock.duration.ms": str(LOCK_MS),
    "group.share.session.timeout.ms": str(SESSION_MS),
    "leader.imbalance.check.interval.seconds": "3",
    "log.flush.offset.checkpoint.interval.ms": "2000",
    "log.retention.check.interval.ms": "60000",
    "offsets.topic.num.partitions": "1",
    "replica.fetch.wait.max.ms": "300",
    "replica.lag.time.max.ms": "1500",
    "share.coordinator.snapshot.update.records.per.snapshot": "20",
    "share.coordinator.state.topic.num.partitions": "1",
}
"""Shorter times than by default, so that a run of a few seconds sees many changes."""


class Cluster:
    """Everything that exists in a run."""

    def __init__(
        self, seed: int | str, profile: Profile, say: Callable[[str], None] | None = None
    ) -> None:
        self.simulator = Simulator(seed, say)
        self.profile = profile
        self.network = Network(self.simulator)
        self.network.links.delays_us = profile.delays_us
        self.random = self.simulator.source("cluster")
        self.history = History()
        voters = ",".join(f"{i}@node-{i}:{PORT}" for i in range(1, profile.voters + 1))
        self.machines: dict[int, Machine] = {}
        for node_id in range(1, profile.nodes + 1):
            machine = Machine(
                self.simulator,
                self.network,
                node_id,
                _SETTINGS | profile.settings | {"controller.quorum.voters": voters},
            )
            if profile.racks:
                machine.properties["broker.rack"] = f"rack-{node_id}"
            machine.job_delays_us = profile.job_delays_us
            machine.clock_skew_ms = self.random.choice(profile.skews_ms)
            machine.clock_rate = self.random.choice(profile.rates)
            self.machines[node_id] = machine
        compacts = "log.cleaner.backoff.ms" in profile.settings
        self.watch = Watch(self.simulator, self.machines, compacts=compacts)
        for machine in self.machines.values():
            machine.observer = self.watch
            machine.on_end = self.watch.reached.node_ends
            machine.disk.on_write = partial(self.watch.wrote, machine)
            machine.disk.on_change = partial(self.watch.changes.changed, machine.node_id)
        self.history.on_acknowledge = self.watch.acknowledged
        self.clients: list[Client] = []
        self.changes_voters = False
        """Whether voters are added and removed meanwhile."""
        self.has_lost_votes = False
        """Whether a node came back without its votes: it is a voter again once it was added."""

    def client(self, name: str) -> Client:
        hosts = [machine.host for machine in self.machines.values()]
        client = Client(self.simulator, self.network, name, hosts, self.history, self.watch)
        self.clients.append(client)
        return client

    @property
    def hosts(self) -> list[str]:
        nodes = [machine.host for machine in self.machines.values()]
        return nodes + [client.process.host for client in self.clients]

    def nodes(self) -> Iterator[Node]:
        """The nodes that run, as far as they have come."""
        for machine in self.machines.values():
            if machine.server is not None and machine.is_ready:
                yield machine.server.node

    def controller(self) -> Machine | None:
        """The machine of the newest controller."""
        leaders = [node for node in self.nodes() if node.quorum.is_leader]
        newest = max(leaders, key=lambda node: node.quorum.epoch, default=None)
        return None if newest is None else self.machines[newest.node_id]

    def led_partitions(self) -> list[tuple[Machine, Partition]]:
        """Every partition with the machine that believes to lead it."""
        return [
            (self.machines[node.node_id], partition)
            for node in self.nodes()
            for partition in node.partitions
            if partition.is_leader
        ]

    def partition_keys(self) -> dict[str, tuple[bytes, int]]:
        """Topic id and index of each partition that some node knows, by its directory's name."""
        return {
            f"{topic.name}-{partition.index}": (topic.topic_id, partition.index)
            for node in self.nodes()
            for topic in node.image.topics.values()
            for partition in topic.partitions
        }

    def voters_agree(self, node_id: int) -> bool:
        """Whether all nodes know the same voters, this one among them, and enough of them."""
        sets = {node.quorum.voters.keys for node in self.nodes()}
        if len(sets) != 1:
            return False
        voters = {key.node_id for key in next(iter(sets))}
        return node_id in voters and len(voters) >= 3

    def has_all_votes(self) -> bool:
        """Whether every configured voter runs, with the directory by which all others know it.

        One whose disk was lost is removed first, and added a little later. As long as only its
        leader knows that, the others can't elect one without that leader.
        """
        nodes = list(self.nodes())
        sets = {frozenset(node.quorum.voters.keys) for node in nodes}
        if len(sets) != 1:
            return False
        (voters,) = sets
        running = {node.quorum.me for node in nodes}
        return running.issuperset(voters) and len(voters) >= self.profile.voters

    def is_whole(self) -> bool:
        """Every node is in service, and every partition has all of its replicas in sync.

        Except for those without a leader that only an operator can help.
        """
        nodes = list(self.nodes())
        if len(nodes) < len(self.machines):
            return False
        offsets = {node.quorum.end_offset for node in nodes}
        image, waiting = nodes[0].image, self.watch.guarantee.waiting
        return len(offsets) == 1 and all(
            (topic.topic_id, partition.index) in waiting
            if partition.leader < 0
            else sorted(partition.isr) == sorted(partition.replicas)
            and not partition.adding_replicas
            and not partition.removing_replicas
            for topic in image.topics.values()
            for partition in topic.partitions
        )

    def waiting_places(self) -> list[Place] | None:
        """Partitions without a leader that wait for an operator; None: not all nodes are up."""
        nodes = list(self.nodes())
        if len(nodes) < len(self.machines):
            return None
        waiting = self.watch.guarantee.waiting
        newest = max(nodes, key=lambda node: node.quorum.end_offset).image
        return [
            Place(topic.name, partition.index)
            for topic in newest.topics.values()
            for partition in topic.partitions
            if partition.leader < 0 and (topic.topic_id, partition.index) in waiting
        ]

    def check_images(self) -> None:
        """Nodes that have applied the same metadata know the same."""
        known: dict[int, tuple[int, list[str]]] = {}
        for node in self.nodes():
            image = [repr(record) for record in node.image.snapshot()]
            image.append(f"voters: {sorted(node.quorum.voters.keys)}")
            other, expected = known.setdefault(node.quorum.end_offset, (node.node_id, image))
            if image != expected:
                different = sorted(set(image) ^ set(expected))
                raise Violation(f"nodes {other} and {node.node_id} disagree: {different}")

    def check_epoch_starts(self) -> None:
        """Replicas know the same about where leader epochs began."""
        leaders = {
            (partition.topic_id, partition.index): partition
            for node in self.nodes()
            for partition in node.partitions
            if partition.is_leader
            and (partition.topic_id, partition.index) not in self.watch.unknown_epochs
        }
        for node in self.nodes():
            for partition in node.partitions:
                leader = leaders.get((partition.topic_id, partition.index))
                if leader is not None:
                    check_epoch_starts(leader, partition, f"node {node.node_id}")

    def end(self) -> None:
        """Nothing runs any more; what is left is garbage."""
        for node in self.nodes():
            self.watch.reached.node_ends(node)
        for machine in self.machines.values():
            if machine.process is not None:
                machine.process.kill()
        for client in self.clients:
            client.process.kill()


@contextmanager
def overheard(simulator: Simulator) -> Iterator[None]:
    """What brokers log goes into the trace, and their failures end the run."""
    logger = logging.getLogger("barnabas")
    handler = BrokerLogHandler(simulator)
    level, propagate = logger.level, logger.propagate
    logger.addHandler(handler)
    logger.setLevel(logging.INFO if simulator.is_read else logging.ERROR)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
        logger.propagate = propagate
