"""Who leads: elections, pre-votes, stepping down, handing over."""

from barnabas.raft import ElectionState, Envelope, VoterSet
from barnabas.raft.messages import BeginQuorumEpochRequest, VoteRequest, VoteResponse
from barnabas.wire.errors import ErrorCode
from tests.raft.cluster import Cluster
from tests.raft.single import single, voter_key


def test_one_of_three_is_elected_and_all_follow_it() -> None:
    cluster = Cluster()
    leader = cluster.elect()
    cluster.run(50)
    assert [cluster.raft(r).leader_id for r in cluster.alive()] == [leader.node_id] * 3
    assert cluster.raft(leader).high_watermark == 2, "the epoch begins, and who votes"


def test_the_first_leader_writes_who_votes_and_no_later_one_does() -> None:
    cluster = Cluster(nodes=4, voters=3)
    leader = cluster.elect()
    cluster.write()
    observer = cluster.replicas[4]
    assert cluster.voters(observer) == cluster.voters(leader)
    epoch = cluster.raft(leader).epoch
    cluster.call(leader, "resign")
    cluster.elect(beyond_epoch=epoch)
    cluster.write()
    written = [entry for entry in cluster.checker.committed if isinstance(entry.body, VoterSet)]
    assert [entry.base_offset for entry in written] == [1]


def test_a_lone_voter_leads_once_its_vote_is_durable() -> None:
    raft = single(voters=1)
    raft.tick(200)
    writes = raft.ready().writes
    assert writes[0].change == ElectionState(1, voter_key(1))
    assert not raft.is_leader
    raft.persisted(writes[0].sequence - 1, 201)
    assert not raft.is_leader, "something is durable, but not yet the vote"
    raft.persisted(writes[-1].sequence, 201)
    assert raft.is_leader


def test_a_vote_is_sent_when_it_is_durable_and_not_before() -> None:
    raft = single()
    raft.receive(Envelope(2, 1, 7, _vote_request(candidate=2)), 0)
    ready = raft.ready()
    assert not ready.messages
    assert ready.writes[-1].change == ElectionState(1, voter_key(2))
    raft.persisted(ready.writes[0].sequence, 1)
    assert not raft.ready().messages, "the epoch is durable, but not yet the vote"
    raft.persisted(ready.writes[-1].sequence, 1)
    assert [e.message for e in raft.ready().messages] == [
        VoteResponse(ErrorCode.NONE, 1, None, vote_granted=True)
    ]


def test_a_second_candidate_of_the_epoch_gets_no_vote() -> None:
    raft = single()
    for candidate in (2, 3, 2):
        raft.receive(Envelope(candidate, 1, 7, _vote_request(candidate)), 0)
    raft.persisted(raft.ready().writes[-1].sequence, 1)
    granted = [e.message.vote_granted for e in raft.ready().messages]
    assert granted == [True, False, True]


def test_a_vote_meant_for_another_directory_is_refused() -> None:
    raft = single()
    request = _vote_request(candidate=2)
    wiped = VoteRequest(1, request.candidate, voter_key(1, directory=9), 0, 0, pre_vote=False)
    raft.receive(Envelope(2, 1, 7, wiped), 0)
    answer = raft.ready().messages[0].message
    assert answer == VoteResponse(ErrorCode.INVALID_VOTER_KEY, 0, None, vote_granted=False)


def test_a_pre_vote_is_refused_while_the_leader_is_heard() -> None:
    raft = single()
    raft.receive(Envelope(2, 1, 1, BeginQuorumEpochRequest(1, 2, voter_key(1))), 0)
    raft.persisted(raft.ready().writes[-1].sequence, 0)
    raft.ready()
    answers = []
    for now_ms in (1_499, 1_500):
        raft.receive(Envelope(3, 1, now_ms, _vote_request(3, pre_vote=True)), now_ms)
        answers += [e.message.vote_granted for e in raft.ready().messages]
    assert answers == [False, True]
    assert raft.epoch == 1


def test_a_node_that_was_cut_off_disturbs_nobody_when_it_returns() -> None:
    cluster = Cluster()
    leader = cluster.elect()
    cluster.run(50)
    epoch = cluster.raft(leader).epoch
    lost = cluster.others(leader)[0]
    cluster.cut(lost)
    cluster.run(3_000)
    assert cluster.raft(lost).epoch == epoch, "no epoch is begun without the prospect of winning"
    cluster.heal()
    cluster.run(1_000)
    assert cluster.raft(leader).is_leader
    assert cluster.raft(leader).epoch == epoch
    assert cluster.raft(lost).leader_id == leader.node_id


def test_a_leader_that_no_majority_fetches_from_steps_down() -> None:
    cluster = Cluster()
    leader = cluster.elect()
    cluster.cut(leader)
    cluster.run(400)
    assert not cluster.raft(leader).is_leader
    assert len(cluster.leaders()) == 1


def test_a_leader_that_hears_nobody_but_is_heard_is_replaced() -> None:
    cluster = Cluster()
    leader = cluster.elect()
    cluster.cuts = [{(other.node_id, leader.node_id) for other in cluster.others(leader)}]
    successor = cluster.elect(beyond_epoch=cluster.raft(leader).epoch)
    assert successor is not leader
    cluster.run(500)
    assert cluster.leaders() == [successor]


def test_a_broken_connection_ends_the_wait_for_the_leader() -> None:
    cluster = Cluster()
    leader = cluster.elect()
    cluster.run(50)
    leader.crash()
    begin = cluster.now
    for other in cluster.others(leader):
        cluster.call(other, "disconnected", leader.node_id)
    cluster.elect()
    assert cluster.now - begin < 150, "less than the fetch timeout"


def test_leadership_is_handed_to_the_one_that_is_named() -> None:
    cluster = Cluster()
    leader = cluster.elect()
    cluster.run(50)
    target = cluster.others(leader)[1]
    assert cluster.call(leader, "transfer_leadership", target.node_id) is ErrorCode.NONE
    cluster.run(20)
    assert cluster.leaders() == [target]
    assert cluster.raft(target).epoch == cluster.raft(leader).epoch


def test_handing_over_to_one_that_is_away_is_given_up() -> None:
    cluster = Cluster()
    leader = cluster.elect()
    cluster.run(50)
    target = cluster.others(leader)[0]
    cluster.cut(target)
    cluster.write()
    cluster.call(leader, "transfer_leadership", target.node_id)
    assert cluster.propose() is None, "nothing is appended meanwhile"
    cluster.run(300)
    assert cluster.raft(leader).is_leader
    assert cluster.propose() is not None


def test_a_leader_that_resigns_is_followed_at_once() -> None:
    cluster = Cluster()
    leader = cluster.elect()
    cluster.run(50)
    cluster.call(leader, "resign")
    begin = cluster.now
    successor = cluster.elect()
    assert successor is not leader
    assert cluster.now - begin < 10


def _vote_request(candidate: int, *, pre_vote: bool = False) -> VoteRequest:
    return VoteRequest(1, voter_key(candidate), voter_key(1), 0, 0, pre_vote)
