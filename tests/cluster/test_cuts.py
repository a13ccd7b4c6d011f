"""Nodes that don't hear each other, or that are heard and don't hear."""

import time

import pytest

from tests.cluster.conftest import SESSION_S, TOPIC, hurt
from tests.cluster.faults import cut_between, cut_off
from tests.support.cluster import ClusterProcesses


@pytest.mark.parametrize(
    "way",
    [
        {},
        {"clients_too": True},
        {"from_others": False},
        {"to_others": False},
    ],
    ids=["both ways", "from clients too", "not heard", "not hearing"],
)
def test_a_leader(networked: ClusterProcesses, way: dict[str, bool]) -> None:
    with hurt(networked) as workload:
        with cut_off(networked, networked.leader_of(TOPIC), **way):
            time.sleep(SESSION_S)
            workload.wait_for_progress()
        networked.wait_until_whole()


@pytest.mark.parametrize(
    "way",
    [{}, {"from_others": False}, {"to_others": False}],
    ids=["both ways", "not heard", "not hearing"],
)
def test_the_controller(networked: ClusterProcesses, way: dict[str, bool]) -> None:
    with hurt(networked) as workload:
        with cut_off(networked, networked.controller(), **way):
            time.sleep(SESSION_S)
            workload.wait_for_progress()
        networked.wait_until_whole()


def test_a_leader_and_a_follower_whom_the_third_hears(networked: ClusterProcesses) -> None:
    with hurt(networked) as workload:
        leader = networked.leader_of(TOPIC)
        follower = next(node for node in networked.nodes.values() if node is not leader)
        with cut_between(networked, leader, follower):
            time.sleep(SESSION_S)
            workload.wait_for_progress()
        networked.wait_until_whole()
