"""A few simulated nodes without faults but those that a test makes."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from barnabas.sim.cluster import Cluster, overheard
from barnabas.sim.machine.machine import Machine
from barnabas.sim.process.simulator import Simulator
from barnabas.sim.profile import draw_profile

SESSION_US = 600_000
LONG_US = 60_000_000


@contextmanager
def running(seed: int, nodes: int = 3) -> Iterator[tuple[Cluster, Machine]]:
    """The nodes, of which the first three vote, and their controller."""
    drawn = draw_profile(Simulator(seed).source("profile"), "pauses")
    profile = replace(
        drawn,
        nodes=nodes,
        voters=3,
        delays_us=(100, 1_000),
        rates=(1.0,),
        settings={"broker.session.timeout.ms": str(SESSION_US // 1000)},
    )
    cluster = Cluster(seed, profile)
    simulator = cluster.simulator
    machines = cluster.machines.values()
    try:
        with overheard(simulator):
            for machine in machines:
                machine.start()
            ready = lambda: all(machine.is_ready for machine in machines)  # noqa: E731
            simulator.run_until_true(ready, LONG_US, "all nodes are ready")
            simulator.run_until(simulator.now_us + 2_000_000 + seed * 77_777)
            controller = cluster.controller()
            assert controller is not None
            yield cluster, controller
    finally:
        cluster.end()
