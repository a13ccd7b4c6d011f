"""Snapshots in place of the beginning of the log."""

import pytest

from tests.raft.cluster import Cluster


def test_who_was_away_gets_the_snapshot_and_what_came_after_it() -> None:
    cluster = Cluster()
    leader = cluster.elect()
    cluster.write()
    away = cluster.others(leader)[0]
    cluster.cut(away)
    cluster.write(5)
    leader.take_snapshot()
    cluster.pump(leader)
    cluster.write(2)
    cluster.heal()
    cluster.run(500)
    raft = cluster.raft(away)
    assert raft.log_start_offset == cluster.raft(leader).log_start_offset > 0
    assert away.applied_end == leader.applied_end
    assert away.digest == leader.digest


def test_a_replica_starts_again_from_its_snapshot() -> None:
    cluster = Cluster(nodes=1)
    (replica,) = cluster.alive()
    cluster.elect()
    cluster.write(5)
    replica.take_snapshot()
    cluster.pump(replica)
    cluster.run(5)
    digest, end = replica.digest, replica.applied_end
    assert not replica.disk.entries
    replica.crash()
    cluster.start(replica)
    assert (replica.digest, replica.applied_end) == (digest, end)
    cluster.elect()
    cluster.write()
    assert replica.applied_end > end


def test_an_observer_learns_the_voters_from_the_snapshot() -> None:
    cluster = Cluster(nodes=4, voters=3)
    leader = cluster.elect()
    cluster.cut(cluster.replicas[4])
    cluster.write(3)
    leader.take_snapshot()
    cluster.pump(leader)
    cluster.heal()
    cluster.run(500)
    assert cluster.voters(cluster.replicas[4]) == cluster.voters(leader)


def test_a_later_snapshot_makes_a_download_begin_again() -> None:
    cluster = Cluster()
    leader = cluster.elect()
    away = cluster.others(leader)[0]
    cluster.cut(away)
    cluster.write(2)
    leader.take_snapshot()
    cluster.pump(leader)
    cluster.heal()
    cluster.run_until_true(lambda: cluster.raft(away)._state.role.download is not None)
    cluster.propose()
    cluster.run(5)
    leader.take_snapshot()
    cluster.pump(leader)
    cluster.run(500)
    assert away.applied_end == leader.applied_end
    assert cluster.raft(away).log_start_offset == cluster.raft(leader).log_start_offset


def test_only_what_was_applied_can_be_in_a_snapshot() -> None:
    cluster = Cluster(nodes=1)
    (replica,) = cluster.alive()
    cluster.elect()
    cluster.write()
    with pytest.raises(ValueError, match="not of what was applied"):
        cluster.raft(replica).take_snapshot(replica.applied_end + 1, b"")
