"""Replicas that left the in-sync set when nothing was committed without them any more."""

import pytest

from barnabas.controller.lost_replicas import OFFLINE_DIRECTORY, UNWRITABLE_DIRECTORY
from barnabas.controller.replica_ends import ReplicaEnd
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.controller.small_cluster import GRACE_MS, UNCLEAN, SmallCluster, directory

TWO = {"min.insync.replicas": "2"}


@pytest.fixture
def cluster() -> SmallCluster:
    cluster = SmallCluster(3)
    cluster.create([1, 2, 3], **TWO)
    return cluster


def eligible(cluster: SmallCluster) -> tuple[int, list[int], list[int]]:
    partition = cluster.partition()
    return partition.leader, partition.isr, partition.elr


def test_who_leaves_a_set_that_stays_large_enough_is_not_eligible(cluster: SmallCluster) -> None:
    cluster.set_isr([1, 2])
    assert eligible(cluster) == (1, [1, 2], [])


def test_who_leaves_when_it_becomes_too_small_is(cluster: SmallCluster) -> None:
    cluster.set_isr([1, 2])
    cluster.set_isr([1])
    assert eligible(cluster) == (1, [1], [2])
    cluster.set_isr([1, 3])
    assert eligible(cluster) == (1, [1, 3], [])


def test_several_may_leave_at_once(cluster: SmallCluster) -> None:
    cluster.kill(2, 3)
    assert eligible(cluster) == (1, [1], [2, 3])


def test_an_eligible_replica_leads_when_nobody_in_sync_is_there(cluster: SmallCluster) -> None:
    cluster.kill(2, 3)
    cluster.restart(3)
    cluster.kill(1)
    assert eligible(cluster) == (3, [3], [1, 2])
    assert cluster.partition().leader_recovery_state == 0
    assert cluster.warnings == []


def test_the_wiped_disk_of_the_last_in_sync_does_not_win(cluster: SmallCluster) -> None:
    """Two nodes are killed, the third loses its disk: those two have everything."""
    cluster.kill(2, 3)
    cluster.kill(1)
    cluster.ends[1] = ReplicaEnd(-1, 0)
    cluster.join(1, log_dir=directory(1, 9))
    assert eligible(cluster) == (-1, [], [2, 3])
    assert cluster.elect(1) == 0  # there is no other yet
    assert eligible(cluster) == (1, [1], [])


def test_but_waits_for_those_that_have_everything(cluster: SmallCluster) -> None:
    cluster.kill(2, 3)
    cluster.kill(1)
    cluster.join(1, log_dir=directory(1, 9))
    cluster.restart(2)
    assert eligible(cluster) == (2, [2], [3])


def test_an_unclean_election_asks_who_has_most() -> None:
    cluster = SmallCluster(3)
    cluster.create([1, 2, 3])
    cluster.kill(2, 3)
    cluster.kill(1)
    cluster.ends = {1: ReplicaEnd(-1, 0), 2: ReplicaEnd(0, 600), 3: ReplicaEnd(0, 590)}
    cluster.join(1, log_dir=directory(1, 9))
    cluster.restart(3)
    cluster.restart(2)
    assert cluster.state() == (-1, [])
    assert cluster.elect(1) == 0
    assert cluster.state() == (2, [2])
    assert "broker 1 up to 0 (epoch -1), broker 2 up to 600 (epoch 0)" in cluster.warnings[0]


def test_a_newer_epoch_counts_for_more_than_a_longer_log() -> None:
    assert max(ReplicaEnd(2, 10), ReplicaEnd(1, 600)) == ReplicaEnd(2, 10)


def test_who_loses_something_is_not_eligible(cluster: SmallCluster) -> None:
    cluster.kill(2, 3)
    cluster.restart(2)
    assert cluster.lose(2) == 0
    assert eligible(cluster) == (1, [1], [3])


def test_who_loses_something_hands_over(cluster: SmallCluster) -> None:
    assert cluster.lose(1) == 0
    assert eligible(cluster) == (2, [2, 3], [])


def test_unless_nobody_can_take_over(cluster: SmallCluster) -> None:
    cluster.kill(2, 3)
    assert cluster.lose(1) == ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE
    assert eligible(cluster) == (1, [1], [2, 3])
    cluster.restart(3)
    assert cluster.lose(1) == 0
    assert eligible(cluster) == (3, [3], [2])


def test_an_only_replica_stays_whatever_it_has_lost() -> None:
    cluster = SmallCluster(1)
    cluster.create([1])
    assert cluster.lose(1) == 0
    assert cluster.state() == (1, [1])


@pytest.mark.parametrize(("topic", "index", "error"), [("t", 7, 3), ("u", 0, 6)])
def test_a_loss_must_be_about_a_replica(topic: str, index: int, error: int) -> None:
    cluster = SmallCluster(2)
    cluster.create([1])
    cluster.create([2], name="u")
    assert cluster.lose(1, index, topic) == error


@pytest.mark.parametrize("resource", [(2, "t"), (4, "")])
def test_fewer_replicas_may_have_to_be_in_sync(resource: tuple[int, str]) -> None:
    """Then the leader commits without the eligible ones, which are so no longer."""
    cluster = SmallCluster(3, static={} if resource[0] == 2 else TWO)
    cluster.create([1, 2, 3], **(TWO if resource[0] == 2 else {}))
    cluster.kill(2, 3)
    assert eligible(cluster) == (1, [1], [2, 3])
    config = AlterConfigsResource(*resource, [AlterableConfig("min.insync.replicas", 0, "1")])
    request = IncrementalAlterConfigsRequest([config])
    cluster.agree(cluster.controller.incremental_alter_configs(request))
    assert eligible(cluster) == (1, [1], [])


def test_an_eligible_replica_is_not_moved_away_if_it_is_the_last(cluster: SmallCluster) -> None:
    cluster.kill(2, 3)
    cluster.kill(1)
    cluster.join(1, log_dir=directory(1, 9))
    assert cluster.move([1]) == 0  # 2 and 3 stay until 1 is in sync
    assert eligible(cluster) == (-1, [], [2, 3])


def test_who_lost_something_has_to_be_heard_of_again_before_it_joins(cluster: SmallCluster) -> None:
    """A new leader epoch: what it had fetched before the loss counts no more."""
    epoch = cluster.partition().leader_epoch
    assert cluster.lose(3) == 0
    assert eligible(cluster) == (1, [1, 2], [])
    assert cluster.partition().leader_epoch == epoch + 1


def test_who_is_only_offline_leaves_if_another_is_in_sync(cluster: SmallCluster) -> None:
    cluster.kill(2, 3)
    cluster.kill(1)
    cluster.register(1, previous_epoch=cluster.epoch(1))
    assert cluster.lose(1, directory=OFFLINE_DIRECTORY) == 0
    assert eligible(cluster) == (-1, [], [2, 3])


def test_and_stays_if_nobody_is() -> None:
    cluster = SmallCluster(3)
    cluster.create([1, 2, 3])
    cluster.kill(2, 3)
    cluster.kill(1)
    cluster.register(1, previous_epoch=cluster.epoch(1))
    refused = ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE
    assert cluster.lose(1, directory=OFFLINE_DIRECTORY) == refused
    assert not cluster.beat(1).is_fenced
    assert eligible(cluster) == (1, [1], [])


def test_a_leader_that_can_not_append_is_replaced(cluster: SmallCluster) -> None:
    assert cluster.lose(1, directory=UNWRITABLE_DIRECTORY) == 0
    assert eligible(cluster) == (2, [2, 3], [])
    assert cluster.partition().leader_recovery_state == 0


def test_it_has_all_records_so_it_is_eligible_when_the_set_is_too_small(
    cluster: SmallCluster,
) -> None:
    cluster.set_isr([1, 2])
    assert cluster.lose(1, directory=UNWRITABLE_DIRECTORY) == 0
    assert eligible(cluster) == (2, [2], [1])


def test_the_set_does_not_shrink_to_one_that_may_be_dead() -> None:
    cluster = SmallCluster(2)
    cluster.create([1, 2], **{"min.insync.replicas": "1"})
    assert cluster.lose(1, directory=UNWRITABLE_DIRECTORY) == 0
    assert eligible(cluster) == (2, [1, 2], [])
    assert cluster.lose(1, directory=UNWRITABLE_DIRECTORY) == 0, "the new leader removes it"
    assert eligible(cluster) == (2, [1, 2], [])


def test_it_stays_if_no_other_in_sync_is_up(cluster: SmallCluster) -> None:
    cluster.kill(2, 3)
    refused = ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE
    assert cluster.lose(1, directory=UNWRITABLE_DIRECTORY) == refused
    assert eligible(cluster) == (1, [1], [2, 3])


def test_a_follower_that_can_not_append_leaves(cluster: SmallCluster) -> None:
    assert cluster.lose(3, directory=UNWRITABLE_DIRECTORY) == 0
    assert eligible(cluster) == (1, [1, 2], [])
    assert cluster.lose(3, directory=UNWRITABLE_DIRECTORY) == 0, "it has left already"


def test_a_new_controller_holds_the_elections_that_were_under_way() -> None:
    cluster = SmallCluster(2)
    cluster.create([1, 2], **UNCLEAN)
    cluster.set_isr([1])
    expired = cluster.controller
    expired.disconnected(1, cluster.now_ms)
    cluster.now_ms += GRACE_MS
    decision = expired.tick(cluster.now_ms)
    assert decision.to_recover
    decision.to_recover.clear()  # and then it is gone
    cluster.agree(decision)
    assert cluster.state() == (-1, [1])
    cluster.controller = cluster.new_controller(cluster.agreed)
    assert cluster.controller.next_deadline_ms() == cluster.now_ms
    cluster.tick()
    assert cluster.state() == (2, [2])
