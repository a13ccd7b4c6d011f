"""Reads that see everything that was committed before them."""

from barnabas.raft import Envelope, ReadOutcome, Ready
from barnabas.raft.messages import BeginQuorumEpochRequest, BeginQuorumEpochResponse
from barnabas.wire.errors import ErrorCode
from tests.raft.cluster import Cluster
from tests.raft.single import single
from tests.raft.test_replication import _fetch, _leader


def test_a_read_is_answered_when_a_majority_has_confirmed_the_leader() -> None:
    cluster = Cluster()
    cluster.elect()
    cluster.write()
    cluster.read()
    assert cluster.checker.reads == 0
    cluster.run(3)
    assert cluster.checker.reads == 1


def test_a_read_of_a_new_leader_waits_for_its_first_commit() -> None:
    cluster = Cluster()
    leader = cluster.elect()
    cluster.read()
    cluster.run_until_true(lambda: cluster.checker.reads == 1)
    assert cluster.raft(leader).high_watermark == 2


def test_a_leader_that_is_cut_off_answers_no_read() -> None:
    cluster = Cluster()
    leader = cluster.elect()
    cluster.write()
    cluster.cut(leader)
    cluster.read()
    cluster.run(1_000)
    assert not cluster.raft(leader).is_leader
    assert cluster.checker.reads == 0
    cluster.heal()
    cluster.run(500)
    assert cluster.checker.reads == 0, "it failed with the leader that was asked"


def test_an_answer_to_an_earlier_question_confirms_no_read() -> None:
    """Another may lead since it was given, and have committed more."""
    raft = _leader()
    ready = raft.ready()
    (earlier,) = _questions(ready, receiver=2)
    raft.persisted(ready.writes[-1].sequence, 300)
    raft.receive(Envelope(2, 1, 90, _fetch(2, offset=2, last_epoch=1)), 300)
    raft.read("token", 301)
    (question,) = _questions(raft.ready(), receiver=2)
    answer = BeginQuorumEpochResponse(ErrorCode.NONE, 1, 1)
    raft.receive(Envelope(2, 1, earlier, answer), 302)
    assert raft.ready().reads == []
    raft.receive(Envelope(2, 1, question, answer), 303)
    assert raft.ready().reads == [ReadOutcome("token", ErrorCode.NONE)]


def _questions(ready: Ready, receiver: int) -> list[int]:
    """The numbers of the questions whether this still leads."""
    return [
        envelope.correlation_id
        for envelope in ready.messages
        if envelope.receiver == receiver and isinstance(envelope.message, BeginQuorumEpochRequest)
    ]


def test_a_lone_voter_answers_at_once() -> None:
    cluster = Cluster(nodes=1)
    cluster.elect()
    cluster.write()
    cluster.read()
    assert cluster.checker.reads == 1


def test_a_follower_refuses() -> None:
    raft = single()
    raft.read("token", 0)
    assert raft.ready().reads == [ReadOutcome("token", ErrorCode.NOT_LEADER_OR_FOLLOWER)]
