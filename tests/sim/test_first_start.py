"""What a cluster that starts for the first time may be asked, and by when."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from barnabas.sim.cluster import Cluster, overheard
from barnabas.sim.process.simulator import Simulator
from barnabas.sim.profile import draw_profile
from tests.sim.calm_cluster import LONG_US

VOTERS = 3


@contextmanager
def starting(seed: int) -> Iterator[Cluster]:
    """Nodes without data that have just been started."""
    drawn = draw_profile(Simulator(seed).source("profile"), "pauses")
    profile = replace(
        drawn, nodes=VOTERS, voters=VOTERS, delays_us=(100, 1_000), rates=(1.0,), settings={}
    )
    cluster = Cluster(seed, profile)
    try:
        with overheard(cluster.simulator):
            for machine in cluster.machines.values():
                machine.start()
            yield cluster
    finally:
        cluster.end()


@pytest.mark.parametrize("seed", range(6))
def test_a_node_is_ready_when_all_voters_may_lead(seed: int) -> None:
    """A topic created before that would get all its leaders on the nodes that are unfenced."""
    with starting(seed) as cluster:
        machines = cluster.machines.values()
        cluster.simulator.run_until_true(
            lambda: any(machine.is_ready for machine in machines), LONG_US, "a node is ready"
        )
        first = next(machine for machine in machines if machine.is_ready)
        assert first.server is not None
        brokers = first.server.node.image.brokers.values()
        assert [broker.is_active for broker in brokers] == [True] * VOTERS


def test_a_restart_does_not_wait_for_a_voter_that_is_down() -> None:
    """It was unfenced once, so topics have replicas on it already."""
    with starting(1) as cluster:
        simulator = cluster.simulator
        machines = cluster.machines.values()
        simulator.run_until_true(
            lambda: all(machine.is_ready for machine in machines), LONG_US, "all nodes are ready"
        )
        up, restarted, down = machines
        server = up.server
        assert server is not None
        brokers = server.node.image.brokers
        down.kill()
        simulator.run_until_true(
            lambda: brokers[down.node_id].fenced, LONG_US, "the killed node is fenced"
        )
        restarted.kill()
        restarted.start()
        began_us = simulator.now_us
        simulator.run_until_true(lambda: restarted.is_ready, LONG_US, "it is ready again")
        assert simulator.now_us - began_us < 5_000_000
        assert brokers[down.node_id].fenced
