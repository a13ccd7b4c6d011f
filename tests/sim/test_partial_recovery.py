"""A majority must make progress while the others are cut off; without a majority there is none."""

import pytest

from barnabas.sim.checks.history import Place
from barnabas.sim.partial_recovery import PartialRecovery
from barnabas.sim.process.simulator import Stuck
from barnabas.sim.workloads.administrator import Administrator
from tests.sim.calm_cluster import LONG_US, running

_PLACE = Place("t", 0)


def test_a_majority_elects_leaders_and_accepts_records() -> None:
    with running(1) as (cluster, _):
        client = cluster.client("admin")
        administrator = Administrator(client, list(cluster.machines), 3)
        client.run(administrator.create_topic("t", 1, {}))
        cluster.simulator.run_until(cluster.simulator.now_us + 1000)
        cluster.simulator.run_until_true(lambda: client.is_done, LONG_US, "there is a topic")
        PartialRecovery(cluster, [_PLACE]).check()
        assert cluster.history.acknowledged[_PLACE]
        cluster.simulator.run_until_true(cluster.is_whole, LONG_US, "the cut has ended")


def test_a_cluster_that_makes_no_progress_is_stuck() -> None:
    with running(1) as (cluster, controller):
        controller.kill()
        with pytest.raises(Stuck, match="the others lead"):
            PartialRecovery(cluster, []).check()
