"""A controller that the others no longer hear renews no session, not even that of its own node."""

import pytest

from barnabas.sim.cluster import Cluster
from barnabas.sim.machine.machine import Machine
from tests.sim.calm_cluster import LONG_US, running


def cut_off(cluster: Cluster, machine: Machine) -> None:
    others = [each.host for each in cluster.machines.values() if each is not machine]
    cluster.network.cut(
        {link for other in others for link in ((machine.host, other), (other, machine.host))}
    )


@pytest.mark.parametrize("seed", range(10))
def test_no_node_trusts_itself_when_another_controller_has_fenced_it(seed: int) -> None:
    """Others lead its partitions from then on: it would answer with old offsets."""
    with running(seed) as (cluster, controller):
        assert controller.server is not None
        node = controller.server.node
        assert not node.lifecycle.is_cut_off
        cut_off(cluster, controller)
        others = [each for each in cluster.nodes() if each is not node]
        cluster.simulator.run_until_true(
            lambda: any(other.image.brokers[node.node_id].fenced for other in others),
            LONG_US,
            "another controller has fenced the node of the former one",
        )
        assert node.lifecycle.is_cut_off
