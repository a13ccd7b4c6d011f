"""Who leads: preferred, any in sync, or at worst any at all, and then loudly."""

import pytest

from barnabas.controller.controller_config import ControllerConfig
from barnabas.controller.replica_ends import ReplicaEnd
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.elect_leaders import ElectLeadersRequest
from barnabas.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.controller.small_cluster import GRACE_MS, SESSION_MS, UNCLEAN, SmallCluster

PREFERRED, ANY = 0, 1


def test_the_next_in_sync_leads() -> None:
    cluster = SmallCluster(3)
    cluster.create([1, 2, 3])
    cluster.set_isr([1, 3])
    cluster.kill(1)
    assert cluster.state() == (3, [3])
    # It is elected, and then takes out who is gone.
    assert (cluster.partition().leader_epoch, cluster.partition().partition_epoch) == (1, 3)
    assert cluster.warnings == []


def test_nobody_leaves_the_set_for_a_leader_that_may_be_dead() -> None:
    """All are killed at once. The last who led comes back without its disk, or never."""
    cluster = SmallCluster(3)
    cluster.create([1, 2, 3])
    cluster.dead = {1, 2, 3}
    cluster.controller = cluster.new_controller(cluster.agreed)
    cluster.dead = {1}
    cluster.restart(2)
    cluster.restart(3)
    assert cluster.state() == (1, [1, 2, 3])
    cluster.kill(1)
    assert cluster.state() == (2, [2, 3])


def test_nobody_from_outside_leads() -> None:
    cluster = SmallCluster(3)
    cluster.create([1, 2, 3])
    cluster.set_isr([1])
    cluster.kill(1)
    assert cluster.state() == (-1, [1])
    cluster.restart(2)
    cluster.restart(3)
    assert cluster.state() == (-1, [1])
    cluster.restart(1)
    assert cluster.state() == (1, [1])


def test_unless_it_is_allowed_for_the_topic() -> None:
    cluster = SmallCluster(3)
    cluster.create([1, 2, 3], **UNCLEAN)
    cluster.create([1, 2, 3], name="u")
    for name in ("t", "u"):
        cluster.set_isr([1], name=name)
    cluster.kill(1)
    assert cluster.state(name="t") == (2, [2])
    assert cluster.state(name="u") == (-1, [1])
    (warning,) = cluster.warnings
    assert "unclean" in warning
    assert "t-0" in warning


def test_or_for_all() -> None:
    cluster = SmallCluster(3, static=UNCLEAN)
    cluster.create([1, 2, 3])
    cluster.create([1, 2, 3], name="u", **{"unclean.leader.election.enable": "false"})
    for name in ("t", "u"):
        cluster.set_isr([1], name=name)
    cluster.kill(1)
    assert cluster.state(name="t") == (2, [2])
    assert cluster.state(name="u") == (-1, [1])


@pytest.mark.parametrize(("resource_type", "resource_name"), [(2, "t"), (4, ""), (4, "1")])
def test_allowing_it_takes_effect_at_once(resource_type: int, resource_name: str) -> None:
    cluster = SmallCluster(2)
    cluster.create([2, 1])
    cluster.set_isr([2])
    cluster.kill(2)
    request = IncrementalAlterConfigsRequest(
        [
            AlterConfigsResource(
                resource_type, resource_name, [AlterableConfig(next(iter(UNCLEAN)), 0, "true")]
            )
        ],
        validate_only=True,
    )
    for validate_only, state in ((True, (-1, [2])), (False, (1, [1]))):
        request.validate_only = validate_only
        answer = cluster.agree(cluster.controller.incremental_alter_configs(request))
        assert [r.error_code for r in answer.responses] == [0]
        assert cluster.state() == state
    assert len(cluster.warnings) == 1


def test_preferred_leaders_by_request() -> None:
    cluster = SmallCluster(2)
    cluster.create([1, 2])
    assert cluster.elect(PREFERRED) == ErrorCode.ELECTION_NOT_NEEDED
    cluster.kill(1)
    assert cluster.elect(PREFERRED) == ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
    cluster.restart(1)
    assert cluster.elect(PREFERRED) == ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
    cluster.set_isr([1, 2])
    assert cluster.elect(PREFERRED) == 0
    assert cluster.state() == (1, [1, 2])
    assert cluster.elect(PREFERRED, 1) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert cluster.elect(PREFERRED, name="u") == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_any_leader_by_request() -> None:
    cluster = SmallCluster(2)
    cluster.create([1, 2])
    assert cluster.elect(ANY) == ErrorCode.ELECTION_NOT_NEEDED
    cluster.set_isr([1])
    cluster.kill(1)
    cluster.kill(2)
    assert cluster.elect(ANY) == ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE
    cluster.restart(2)
    assert cluster.elect(ANY) == 0
    assert cluster.state() == (2, [2])
    assert len(cluster.warnings) == 1


def test_who_has_hardly_anything_yet_is_the_last_choice() -> None:
    cluster = SmallCluster(3)
    cluster.create([1, 2])
    cluster.set_isr([1])
    cluster.move([3, 1, 2])
    cluster.ends[3] = ReplicaEnd(0, 3)
    cluster.kill(1)
    assert cluster.elect(ANY) == 0
    assert cluster.state() == (2, [2])


def test_all_partitions_at_once() -> None:
    cluster = SmallCluster(3)
    cluster.create([1, 2], [2, 1], [3, 2], [1, 3])
    cluster.kill(1)
    cluster.restart(1)
    cluster.set_isr([2, 1])
    request = ElectLeadersRequest(PREFERRED, None)
    answer = cluster.agree(cluster.controller.elect_leaders(request, {}))
    (topic,) = answer.replica_election_results
    assert [(r.partition_id, r.error_code) for r in topic.partition_result] == [
        (0, 0),
        (3, ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE),
    ]
    answer = cluster.agree(cluster.controller.elect_leaders(ElectLeadersRequest(7, None), {}))
    assert answer.error_code == ErrorCode.INVALID_REQUEST


# -- balance ---------------------------------------------------------------------------------------


def balanced(**limits: int | bool) -> ControllerConfig:
    return ControllerConfig(SESSION_MS, GRACE_MS, **limits)  # type: ignore[arg-type]


def return_of(cluster: SmallCluster, broker_id: int) -> None:
    cluster.kill(broker_id)
    cluster.restart(broker_id)


def test_leadership_goes_back_soon_after_a_return() -> None:
    cluster = SmallCluster(2, balanced(leader_return_delay_ms=500))
    cluster.create([1, 2], [1, 2])
    return_of(cluster, 1)
    cluster.tick(500)
    assert cluster.records == []  # it is not in sync yet
    cluster.set_isr([1, 2], 0)
    cluster.set_isr([1, 2], 1)
    assert cluster.controller.next_deadline_ms() == cluster.now_ms + 500
    cluster.tick(499)
    assert cluster.records == []
    cluster.tick(1)
    assert [cluster.state(index) for index in (0, 1)] == [(1, [1, 2])] * 2


def test_leadership_does_not_go_to_a_broker_that_learns_nothing() -> None:
    """Its disk is full: it would not know that it leads."""
    config = balanced(leader_imbalance_check_interval_ms=1000, leader_return_delay_ms=10_000)
    cluster = SmallCluster(2, config)
    cluster.create([1, 2])
    return_of(cluster, 1)
    cluster.set_isr([1, 2])
    replayed = cluster.end_offset
    cluster.create([2], name="another")
    for _ in range(2):
        cluster.beat(1, offset=replayed)
    cluster.tick(1000 - cluster.now_ms)
    assert cluster.state() == (2, [1, 2])
    assert cluster.elect(PREFERRED) == ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
    assert cluster.state() == (2, [1, 2])
    cluster.beat(1)
    cluster.tick(1000)
    assert cluster.state() == (1, [1, 2])


def test_a_broker_that_was_behind_is_looked_at_again_soon() -> None:
    cluster = SmallCluster(
        2, balanced(leader_imbalance_check_interval_ms=100_000, leader_return_delay_ms=500)
    )
    cluster.create([1, 2])
    return_of(cluster, 1)
    cluster.set_isr([1, 2])
    replayed = cluster.end_offset
    cluster.create([2], name="another")
    for _ in range(2):
        cluster.beat(1, offset=replayed)
    cluster.tick(500)
    assert cluster.state() == (2, [1, 2])
    cluster.beat(1)
    cluster.tick(500)
    assert cluster.state() == (1, [1, 2])


def test_and_is_looked_at_now_and_then() -> None:
    config = balanced(leader_imbalance_check_interval_ms=1000, leader_return_delay_ms=10_000)
    cluster = SmallCluster(2, config)
    cluster.create([1, 2])
    return_of(cluster, 1)
    cluster.set_isr([1, 2])
    cluster.tick(1000 - cluster.now_ms)
    assert cluster.state() == (1, [1, 2])
    assert cluster.controller.next_deadline_ms() == 2000


def test_but_not_if_that_is_switched_off() -> None:
    cluster = SmallCluster(2, balanced(auto_leader_rebalance=False))
    cluster.create([1, 2])
    return_of(cluster, 1)
    cluster.set_isr([1, 2])
    for broker_id in (1, 2):
        cluster.beat(broker_id)
    assert cluster.controller.next_deadline_ms() == cluster.now_ms + SESSION_MS
    cluster.now_ms += 1_000_000
    cluster.beat(1)
    cluster.beat(2)
    cluster.tick()
    assert cluster.state() == (2, [1, 2])


def test_many_leaders_move_in_several_steps() -> None:
    cluster = SmallCluster(2, balanced(max_elections_at_a_time=2, leader_return_delay_ms=0))
    cluster.create(*[[1, 2]] * 5)
    return_of(cluster, 1)
    for index in range(5):
        cluster.set_isr([1, 2], index)
    moved = []
    while (deadline := cluster.controller.next_deadline_ms()) < cluster.now_ms + 100:
        cluster.tick(max(0, deadline - cluster.now_ms))
        moved.append(len(cluster.records))
    assert moved == [2, 2, 1]


@pytest.mark.parametrize(("tolerated", "leader"), [(50, 2), (49, 1), (0, 1)])
def test_a_little_imbalance_is_left_alone(tolerated: int, leader: int) -> None:
    """Others lead one of the two partitions that node 1 should."""
    config = balanced(leader_imbalance_percentage=tolerated, leader_return_delay_ms=0)
    cluster = SmallCluster(2, config)
    cluster.create([1, 2], [1, 2])
    cluster.set_isr([1], 1)
    cluster.set_isr([1, 2], 1)
    cluster.kill(1)
    cluster.restart(1)
    cluster.set_isr([1, 2], 0)
    assert cluster.elect(PREFERRED, 0) == 0
    cluster.set_isr([1, 2], 1)
    cluster.tick()
    assert cluster.state(1) == (leader, [1, 2])
