"""Whether the cluster makes progress when only a majority has recovered.

When the faults have ended, one node stays cut off from the others, or two of five voters: often one
that leads, and often the controller. Clients may still reach it. Within a limit, the others must be
in service under a controller, every partition with an electable replica among them must have a
leader there, and every partition with enough replicas among them must accept a record. Then the cut
ends too.
"""

from barnabas.sim.checks.history import Place
from barnabas.sim.client import Client
from barnabas.sim.cluster import Cluster
from barnabas.sim.machine.machine import Machine
from barnabas.sim.workloads.producer import Producer

_LIMIT_US = 40_000_000
"""As for a whole recovery: packets may take 200 ms, and clients may ask a node that is cut off."""


class PartialRecovery:
    """One cut that outlasts all faults."""

    def __init__(self, cluster: Cluster, places: list[Place]) -> None:
        self._cluster = cluster
        self._places = places
        self._random = cluster.simulator.source("who recovers later")
        self._away: set[int] = set()

    def check(self) -> None:
        """Raises `Stuck` if there is no progress."""
        cluster, simulator = self._cluster, self._cluster.simulator
        if cluster.watch.guarantee.has_rot:
            return  # the only copy may be on a node that is cut off
        if cluster.has_lost_votes:
            # Else those that are cut off may be needed to let it vote again.
            simulator.run_until_true(cluster.has_all_votes, _LIMIT_US, "every voter is back")
        self._away = {machine.node_id for machine in self._draw()}
        away = [machine.host for machine in self._machines(away=True)]
        others = [machine.host for machine in self._machines(away=False)]
        if self._random.random() < 0.5:
            others = [host for host in cluster.hosts if host not in away]
        what = f"{', '.join(away)} from {'all' if len(others) > len(cluster.machines) else 'nodes'}"
        simulator.say(f"still cut off: {what}")
        simulator.reach("recovery: of a majority")
        cut = cluster.network.cut(
            {(a, b) for a in away for b in others} | {(b, a) for a in away for b in others}
        )
        simulator.run_until_true(self._is_led, _LIMIT_US, f"{what} is cut off, the others lead")
        writer = cluster.client("writer-to-a-majority")
        writer.run(self._write(writer))
        simulator.run_until(simulator.now_us + 1000)
        simulator.run_until_true(
            lambda: writer.is_done, _LIMIT_US, f"{what} is cut off, the others accept records"
        )
        simulator.say(f"healed: {what}")
        cluster.network.heal(cut)

    def _draw(self) -> list[Machine]:
        """Less than half of the voters."""
        voters, machines = self._cluster.profile.voters, list(self._cluster.machines.values())
        if voters == 1:
            machines = [machine for machine in machines if machine.node_id > 1]
        self._random.shuffle(machines)
        draw = self._random.random()
        led = self._cluster.led_partitions()
        controller = self._cluster.controller()
        if draw < 0.4 and led:
            first = self._random.choice(led)[0]
        elif draw < 0.7 and controller is not None:
            first = controller
        else:
            first = machines[0]
        if first not in machines:
            return machines[:1]
        others = [machine for machine in machines if machine is not first]
        return [first, *others[: self._random.randint(0, 1) if voters == 5 else 0]]

    def _machines(self, *, away: bool) -> list[Machine]:
        return [
            machine
            for machine in self._cluster.machines.values()
            if (machine.node_id in self._away) is away
        ]

    def _is_led(self) -> bool:
        """Those that have recovered are in service, under a controller, and lead what they can."""
        guarantee = self._cluster.watch.guarantee
        nodes = [node for node in self._cluster.nodes() if node.node_id not in self._away]
        controller = next((node for node in nodes if node.quorum.is_leader), None)
        if controller is None or len(nodes) < len(self._machines(away=False)):
            return False
        brokers = controller.image.brokers
        if any(node.node_id not in brokers or brokers[node.node_id].fenced for node in nodes):
            return False
        electable = {
            key
            for node in nodes
            if node.node_id not in guarantee.failing
            for key in guarantee.in_sync(node)
        }
        led = {
            (partition.topic_id, partition.index)
            for machine, partition in self._cluster.led_partitions()
            if machine.node_id not in self._away
        }
        return electable - guarantee.waiting <= led

    async def _write(self, client: Client) -> None:
        for place in self._writable():
            producer = Producer(client, f"majority-{place}", [place], idempotent=False)
            while not producer.acknowledged:
                await producer.produce(place)

    def _writable(self) -> list[Place]:
        """Where as many replicas as it takes have recovered."""
        able = {machine.node_id for machine in self._machines(away=False)}
        able -= self._cluster.watch.guarantee.failing
        least = self._cluster.profile.min_insync_replicas
        led = {
            Place(partition.topic, partition.index)
            for machine, partition in self._cluster.led_partitions()
            if machine.node_id in able and len(able.intersection(partition.replicas)) >= least
        }
        return [place for place in self._places if place in led]
