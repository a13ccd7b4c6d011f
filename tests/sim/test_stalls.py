"""Nodes that stood still do not depose, or fence, those that work; the dead are still noticed."""

import pytest

from barnabas.raft import RaftConfig
from barnabas.sim.cluster import Cluster
from barnabas.sim.machine.machine import Machine
from tests.sim.calm_cluster import SESSION_US, running

SEEDS = range(5)
PATIENCE_US = RaftConfig().fetch_timeout_ms * 1000


def stand_still(cluster: Cluster, machines: list[Machine], for_us: int) -> None:
    simulator = cluster.simulator
    for machine in machines:
        assert machine.process is not None
        machine.process.pause()
    simulator.run_until(simulator.now_us + for_us)
    for machine in machines:
        assert machine.process is not None
        machine.process.resume()


def epoch_of(machine: Machine) -> int:
    assert machine.server is not None
    return machine.server.node.quorum.epoch


@pytest.mark.parametrize("seed", SEEDS)
def test_followers_that_stood_still_do_not_depose_the_controller(seed: int) -> None:
    """Longer than they believe in it, and less than it goes on without them."""
    with running(seed) as (cluster, controller):
        epoch = epoch_of(controller)
        followers = [each for each in cluster.machines.values() if each is not controller]
        for _ in range(3):
            stand_still(cluster, followers, PATIENCE_US + 200_000)
            cluster.simulator.run_until(cluster.simulator.now_us + 3_000_000)
        assert cluster.controller() is controller
        assert epoch_of(controller) == epoch


@pytest.mark.parametrize("seed", SEEDS)
def test_followers_that_stood_still_notice_that_the_controller_has_died(seed: int) -> None:
    with running(seed) as (cluster, controller):
        followers = [each for each in cluster.machines.values() if each is not controller]
        cluster.simulator.after(100_000, controller.kill)
        stand_still(cluster, followers, PATIENCE_US)
        cluster.simulator.run_until_true(
            lambda: cluster.controller() in followers, 2 * PATIENCE_US, "there is a controller"
        )


@pytest.mark.parametrize("seed", SEEDS)
def test_a_controller_that_stood_still_fences_nobody(seed: int) -> None:
    """Longer than a session, and less than the others believe in it."""
    with running(seed) as (cluster, controller):
        epochs = {node.node_id: node.lifecycle.epoch for node in cluster.nodes()}
        fenced = []
        for _ in range(3):
            stand_still(cluster, [controller], SESSION_US + 300_000)
            for _ in range(100):
                cluster.simulator.run_until(cluster.simulator.now_us + 10_000)
                fenced += [
                    broker.id
                    for node in cluster.nodes()
                    for broker in node.image.brokers.values()
                    if broker.fenced
                ]
            cluster.simulator.run_until(cluster.simulator.now_us + 1_000_000)
        assert fenced == []
        assert cluster.controller() is controller
        assert {node.node_id: node.lifecycle.epoch for node in cluster.nodes()} == epochs
