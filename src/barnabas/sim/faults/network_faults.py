"""Links are cut and slow, connections break, are forgotten, and deliver late."""

from collections.abc import Callable

from barnabas.sim.faults.context import FaultContext
from barnabas.sim.machine.machine import Machine


class NetworkFaults:
    """Faults between machines, clients' machines included."""

    def __init__(self, context: FaultContext) -> None:
        self._context = context

    def by_name(self) -> dict[str, Callable[[], None]]:
        return {
            "partition": self.partition,
            "isolate_leader": self.isolate_leader,
            "isolate_controller": self.isolate_controller,
            "one_way": self.one_way,
            "break_connections": self.break_connections,
            "forget_connections": self.forget_connections,
            "late_repetitions": self.late_repetitions,
            "slow_link": self.slow_link,
        }

    def _cut(self, links: set[tuple[str, str]], what: str) -> None:
        self._context.simulator.say(f"cut: {what}")
        cut = self._context.network.cut(links)

        def heal() -> None:
            self._context.simulator.say(f"healed: {what}")
            self._context.network.heal(cut)

        self._context.undo_later(heal)

    def _apart(self, side: list[str], what: str) -> None:
        others = [host for host in self._context.cluster.hosts if host not in side]
        links = {(a, b) for a in side for b in others} | {(b, a) for a in side for b in others}
        self._cut(links, what)

    def partition(self) -> None:
        hosts = self._context.cluster.hosts
        side = self._context.random.sample(hosts, self._context.random.randint(1, len(hosts) - 1))
        self._apart(side, f"{', '.join(side)} from the rest")

    def isolate_leader(self) -> None:
        """From the other nodes; clients may still reach it, or not."""
        self._isolate(self._context.leader())

    def isolate_controller(self) -> None:
        self._isolate(self._context.cluster.controller())

    def _isolate(self, machine: Machine | None) -> None:
        if machine is None:
            return
        clients = [client.process.host for client in self._context.cluster.clients]
        side = [machine.host, *(host for host in clients if self._context.random.random() < 0.7)]
        self._apart(side, f"{', '.join(side)} from the rest")

    def one_way(self) -> None:
        hosts = [machine.host for machine in self._context.cluster.machines.values()]
        deaf = self._context.random.choice(hosts)
        others = [host for host in hosts if host != deaf]
        unheard = self._context.random.sample(others, self._context.random.randint(1, len(others)))
        if self._context.random.random() < 0.5:
            self._cut({(host, deaf) for host in unheard}, f"{deaf} does not hear {unheard}")
        else:
            self._cut({(deaf, host) for host in unheard}, f"{deaf} is not heard by {unheard}")

    def break_connections(self) -> None:
        for stream in self._context.network.between(self._context.cluster.hosts):
            if self._context.random.random() < 0.3:
                stream.reset()
                stream.peer.reset()

    def forget_connections(self) -> None:
        for stream in self._context.network.between(self._context.cluster.hosts):
            if self._context.random.random() < 0.2:
                self._context.random.choice((stream, stream.peer)).forgotten = True

    def late_repetitions(self) -> None:
        for stream in self._context.network.between(self._context.cluster.hosts):
            if self._context.random.random() < 0.3:
                stream.linger(self._context.random.randint(1_000, 2_000_000))

    def slow_link(self) -> None:
        source, target = self._context.random.sample(self._context.cluster.hosts, 2)
        self._context.network.links.slow[source, target] = (20_000, 400_000)
        self._context.undo_later(
            lambda: self._context.network.links.slow.pop((source, target), None) and None
        )
