"""A cut that lasts longer than sessions, leases and timeouts, with clients pinned to both sides.

Few runs have one. The smaller side of the nodes often has the leaders that are cut off; the reader
and the committer there must see only what is committed, and never an older state than anyone has
seen before. Other faults go on meanwhile.
"""

from functools import partial

from barnabas.sim.checks.history import Place
from barnabas.sim.cluster import Cluster
from barnabas.sim.workloads.member import Committer
from barnabas.sim.workloads.pinned_reader import PinnedReader

_LEAST_MS = 6_000
_MOST_MS = 20_000
_LATEST_START_MS = 2_000


class LongCuts:
    """One cut, and the clients that stay on their side of it."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._random = cluster.simulator.source("long cuts")
        self._inside = cluster.client("minority")
        self._outside = cluster.client("majority")
        self.groups = ["pinned-minority", "pinned-majority"]

    def begin(self, places: list[Place]) -> int:
        """Returns how long it takes until the cut is over."""
        for client, group in zip((self._inside, self._outside), self.groups, strict=True):
            client.run(PinnedReader(client, places, self._cluster.watch).run())
            client.run(Committer(client, client.name, group, places).run())
        start_ms = self._random.randint(0, _LATEST_START_MS)
        lasts_ms = self._random.randint(_LEAST_MS, _MOST_MS)
        self._cluster.simulator.after(start_ms * 1000, partial(self._cut, lasts_ms))
        return start_ms + lasts_ms

    def _cut(self, lasts_ms: int) -> None:
        side = self._side()
        others = [host for host in self._cluster.hosts if host not in side]
        links = {(a, b) for a in side for b in others} | {(b, a) for a in side for b in others}
        what = f"{', '.join(side)} from the rest, for {lasts_ms} ms"
        self._cluster.simulator.say(f"cut: {what}")
        cut = self._cluster.network.cut(links)

        def heal() -> None:
            self._cluster.simulator.say(f"healed: {what}")
            self._cluster.network.heal(cut)

        self._cluster.simulator.after(lasts_ms * 1000, heal)

    def _side(self) -> list[str]:
        """Less than half of the nodes, most often with a leader, and some of the clients."""
        random = self._random
        hosts = [machine.host for machine in self._cluster.machines.values()]
        random.shuffle(hosts)
        led = self._cluster.led_partitions()
        controller = self._cluster.controller()
        draw = random.random()
        if draw < 0.5 and led:
            first = random.choice(led)[0].host
        elif draw < 0.8 and controller is not None:
            first = controller.host
        else:
            first = hosts[0]
        hosts.remove(first)
        side = [first, *hosts[: random.randint(0, (len(hosts) + 1) // 2 - 1)]]
        for client in self._cluster.clients:
            is_pinned = client in (self._inside, self._outside)
            if client is self._inside or (not is_pinned and random.random() < 0.4):
                side.append(client.process.host)
        return side
