"""Absurd epochs stop no replica, and a replica that was down for long can still return."""

import pytest

from barnabas.raft import MAX_EPOCH, ElectionState, Envelope, OffsetAndEpoch, Raft, Recovered
from barnabas.raft.epochs import MAX_JUMP
from barnabas.raft.messages import (
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    FetchRequest,
    FetchSnapshotRequest,
    Request,
    VoteRequest,
    VoteResponse,
)
from barnabas.raft.voters import ReplicaKey
from barnabas.wire.errors import ErrorCode
from tests.raft.cluster import Cluster
from tests.raft.single import single, voter_key

LARGEST = 2**31 - 1


def vote(
    epoch: int,
    *,
    candidate: ReplicaKey | None = None,
    last: tuple[int, int] = (0, 0),
    pre_vote: bool = False,
) -> VoteRequest:
    return VoteRequest(epoch, candidate or voter_key(2), voter_key(1), *last, pre_vote=pre_vote)


def requests_of(epoch: int) -> list[Request]:
    """All that one replica asks of another, of an epoch."""
    return [
        vote(epoch),
        vote(epoch, pre_vote=True),
        vote(epoch, last=(epoch, LARGEST)),
        BeginQuorumEpochRequest(epoch, 2, voter_key(1)),
        EndQuorumEpochRequest(epoch, 2, (voter_key(1),)),
        FetchRequest(epoch, voter_key(2), 0, 0, 0, 1000, 0),
        FetchRequest(epoch, voter_key(2), LARGEST, epoch, 0, 1000, 0),
        FetchSnapshotRequest(epoch, voter_key(2), OffsetAndEpoch(1, epoch), 0, 1000),
    ]


def answer(raft: Raft, message: Request, now_ms: int = 0) -> list[object]:
    raft.receive(Envelope(2, 1, 7, message), now_ms)
    ready = raft.ready()
    if ready.writes:
        raft.persisted(ready.writes[-1].sequence, now_ms)
        ready = raft.ready()
    return [envelope.message for envelope in ready.messages if envelope.correlation_id == 7]


@pytest.mark.parametrize("epoch", [LARGEST, LARGEST - 1, MAX_EPOCH + 1, MAX_JUMP + 1])
@pytest.mark.parametrize("number", range(len(requests_of(0))))
def test_an_absurd_epoch_changes_nothing(number: int, epoch: int) -> None:
    raft = single()
    (said,) = answer(raft, requests_of(epoch)[number])
    assert said.error_code is ErrorCode.INVALID_REQUEST  # type: ignore[attr-defined]
    assert raft.epoch == 0
    assert not getattr(said, "vote_granted", False)


@pytest.mark.parametrize("number", range(len(requests_of(0))))
def test_an_absurd_epoch_unseats_no_leader(number: int) -> None:
    cluster = Cluster()
    leader = cluster.elect()
    cluster.run(50)
    raft = cluster.raft(leader)
    epoch = raft.epoch
    sender = cluster.others(leader)[0].node_id
    raft.receive(
        Envelope(sender, leader.node_id, 7, requests_of(LARGEST)[number]),
        leader.local_ms(cluster.now),
    )
    assert raft.is_leader
    assert raft.epoch == epoch
    cluster.write()


def test_who_is_behind_by_more_hears_it_in_an_answer() -> None:
    raft = single()
    far = 50 * MAX_JUMP
    (said,) = answer(raft, BeginQuorumEpochRequest(far, 2, voter_key(1)))
    assert said.error_code is ErrorCode.INVALID_REQUEST  # type: ignore[attr-defined]
    raft.tick(1_000)
    asked = [each for each in raft.ready().messages if isinstance(each.message, VoteRequest)]
    assert asked, "it hears no leader, so it asks for votes"
    fenced = VoteResponse(ErrorCode.FENCED_LEADER_EPOCH, far, 2, vote_granted=False)
    raft.receive(Envelope(2, 1, asked[0].correlation_id, fenced), 1_001)
    assert (raft.epoch, raft.leader_id) == (far, 2)


def test_who_hears_its_leader_does_not_believe_a_single_answer() -> None:
    raft = single()
    answer(raft, BeginQuorumEpochRequest(1, 2, voter_key(1)))
    assert raft.leader_id == 2
    wild = VoteResponse(ErrorCode.FENCED_LEADER_EPOCH, 50 * MAX_JUMP, 3, vote_granted=False)
    raft.receive(Envelope(3, 1, 99, wild), 1)
    assert (raft.epoch, raft.leader_id) == (1, 2)


def test_nobody_stands_beyond_the_last_epoch() -> None:
    raft = single(voters=1, recovered=Recovered(ElectionState(MAX_EPOCH)))
    raft.tick(10_000)
    assert raft.epoch == MAX_EPOCH
    assert not raft.is_leader


@pytest.mark.parametrize("pre_vote", [False, True])
def test_only_a_voter_is_elected(pre_vote: bool) -> None:
    raft = single()
    for unknown in (voter_key(9), voter_key(2, directory=77)):
        (said,) = answer(raft, vote(1, candidate=unknown, pre_vote=pre_vote))
        assert isinstance(said, VoteResponse)
        assert not said.vote_granted
    (said,) = answer(raft, vote(1, pre_vote=pre_vote))
    assert isinstance(said, VoteResponse)
    assert said.vote_granted


def test_one_that_became_a_voter_by_what_is_not_here_yet_is_elected() -> None:
    raft = single()
    (said,) = answer(raft, vote(1, candidate=voter_key(4), last=(1, 3)))
    assert isinstance(said, VoteResponse)
    assert said.vote_granted
