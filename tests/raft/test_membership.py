"""Voters that come and go."""

from barnabas.raft import Proposal, Voter
from barnabas.wire.errors import ErrorCode
from tests.raft.cluster import Cluster


def _error(proposal: object) -> ErrorCode:
    assert isinstance(proposal, Proposal)
    return proposal.error_code


def test_an_observer_catches_up_and_becomes_a_voter() -> None:
    cluster = Cluster(nodes=4, voters=3)
    leader = cluster.elect()
    cluster.write(3)
    observer = cluster.replicas[4]
    assert observer.applied_end == leader.applied_end
    assert _error(cluster.call(leader, "add_voter", Voter(observer.key))) is ErrorCode.NONE
    cluster.run(50)
    assert [len(cluster.voters(r)) for r in cluster.alive()] == [4] * 4
    status = cluster.raft(leader).status()
    assert [replica.key.node_id for replica in status.voters] == [1, 2, 3, 4]


def test_an_observer_that_is_behind_does_not_become_a_voter() -> None:
    cluster = Cluster(nodes=4, voters=3)
    leader = cluster.elect()
    observer = cluster.replicas[4]
    cluster.write()
    cluster.cut(observer)
    cluster.write()
    error = _error(cluster.call(leader, "add_voter", Voter(observer.key)))
    assert error is ErrorCode.REQUEST_TIMED_OUT


def test_a_change_waits_for_the_one_before_it() -> None:
    cluster = Cluster(nodes=5)
    leader = cluster.elect()
    cluster.write()
    first, second = cluster.others(leader)[:2]
    assert _error(cluster.call(leader, "remove_voter", first.key)) is ErrorCode.NONE
    error = _error(cluster.call(leader, "remove_voter", second.key))
    assert error is ErrorCode.REQUEST_TIMED_OUT
    cluster.run(50)
    assert _error(cluster.call(leader, "remove_voter", second.key)) is ErrorCode.NONE


def test_a_new_leader_changes_nothing_before_it_has_committed() -> None:
    cluster = Cluster()
    leader = cluster.elect()
    other = cluster.others(leader)[0]
    error = _error(cluster.call(leader, "remove_voter", other.key))
    assert error is ErrorCode.REQUEST_TIMED_OUT
    cluster.run(50)
    assert _error(cluster.call(leader, "remove_voter", other.key)) is ErrorCode.NONE


def test_who_asks_for_nonsense_is_told() -> None:
    cluster = Cluster(nodes=2, voters=1)
    leader = cluster.elect()
    observer = cluster.others(leader)[0]
    cluster.run(200)
    assert _error(cluster.call(leader, "add_voter", Voter(leader.key))) is ErrorCode.DUPLICATE_VOTER
    assert _error(cluster.call(leader, "remove_voter", observer.key)) is ErrorCode.VOTER_NOT_FOUND
    assert _error(cluster.call(leader, "remove_voter", leader.key)) is ErrorCode.INVALID_REQUEST
    for method, argument in (("add_voter", Voter(observer.key)), ("remove_voter", leader.key)):
        error = _error(cluster.call(observer, method, argument))
        assert error is ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_a_leader_removes_itself_when_that_is_committed() -> None:
    cluster = Cluster()
    leader = cluster.elect()
    cluster.write()
    cluster.call(leader, "remove_voter", leader.key)
    assert cluster.raft(leader).is_leader
    cluster.run(300)
    (successor,) = cluster.leaders()
    assert successor is not leader
    cluster.write()
    assert leader.applied_end == successor.applied_end, "it goes on as an observer"
    assert leader.key not in cluster.voters(leader)


def test_a_removed_voter_that_does_not_know_disturbs_nobody() -> None:
    cluster = Cluster()
    leader = cluster.elect()
    cluster.write()
    removed = cluster.others(leader)[0]
    cluster.cut(removed)
    cluster.call(leader, "remove_voter", removed.key)
    cluster.run(1_000)
    epoch = cluster.raft(leader).epoch
    cluster.heal()
    cluster.run(1_000)
    assert (cluster.raft(leader).is_leader, cluster.raft(leader).epoch) == (True, epoch)
    assert removed.key not in cluster.voters(removed)


def test_a_change_that_is_not_committed_goes_with_its_entry() -> None:
    cluster = Cluster()
    leader = cluster.elect()
    cluster.write()
    cluster.cut(leader)
    cluster.call(leader, "remove_voter", cluster.others(leader)[0].key)
    assert len(cluster.voters(leader)) == 2
    cluster.elect(beyond_epoch=cluster.raft(leader).epoch)
    cluster.heal()
    cluster.run(500)
    assert len(cluster.voters(leader)) == 3


def test_a_leader_that_removed_itself_alone_knows_of_it_and_is_elected_again() -> None:
    """The other voter has less of the log, so no other can be."""
    cluster = Cluster(nodes=2)
    leader = cluster.elect()
    cluster.write()
    (other,) = cluster.others(leader)
    cluster.cut(leader)
    cluster.call(leader, "remove_voter", leader.key)
    cluster.run(1_000)
    cluster.heal()
    cluster.run(1_000)
    assert cluster.leaders() == [other]
    assert cluster.voters(leader) == cluster.voters(other) == (other.key,)


def test_a_wiped_voter_observes_until_it_is_replaced() -> None:
    cluster = Cluster()
    leader = cluster.elect()
    cluster.write(3)
    wiped = cluster.others(leader)[0]
    old_key = wiped.key
    wiped.wipe(99)
    cluster.start(wiped)
    cluster.run(500)
    assert wiped.applied_end == leader.applied_end
    assert wiped.key not in cluster.voters(leader)
    assert _error(cluster.call(leader, "add_voter", Voter(wiped.key))) is ErrorCode.DUPLICATE_VOTER
    cluster.call(leader, "remove_voter", old_key)
    cluster.run(50)
    assert _error(cluster.call(leader, "add_voter", Voter(wiped.key))) is ErrorCode.NONE
    cluster.run(50)
    assert wiped.key in cluster.voters(wiped)


def test_a_voter_finds_the_voters_that_have_replaced_all_others_while_it_was_down() -> None:
    """None of those that it knows is left. It asks the nodes that its settings name."""
    cluster = Cluster(nodes=5, voters=3)
    cluster.elect()
    cluster.write()
    late = cluster.replicas[3]
    late.crash()
    for joining in (cluster.replicas[4], cluster.replicas[5]):
        leader = cluster.elect()
        assert _error(cluster.call(leader, "add_voter", Voter(joining.key))) is ErrorCode.NONE
        cluster.run(100)
    for leaving in (late, cluster.replicas[1], cluster.replicas[2]):
        leader = cluster.elect()
        assert _error(cluster.call(leader, "remove_voter", leaving.key)) is ErrorCode.NONE
        cluster.run(1_000)
        leaving.crash()
    leader = cluster.elect()
    epoch = cluster.raft(leader).epoch
    assert [key.node_id for key in cluster.voters(leader)] == [4, 5]
    cluster.start(late)
    assert [key.node_id for key in cluster.voters(late)] == [1, 2, 3]
    cluster.run(2_000)
    assert cluster.voters(late) == cluster.voters(leader)
    assert late.applied_end == leader.applied_end
    assert (cluster.raft(leader).is_leader, cluster.raft(leader).epoch) == (True, epoch)
