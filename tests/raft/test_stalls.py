"""A replica whose node stood still does not blame others for what it could not have heard."""

from barnabas.raft import Envelope, Raft, RaftConfig
from barnabas.raft.messages import (
    BeginQuorumEpochRequest,
    FetchRequest,
    FetchResponse,
    VoteRequest,
    VoteResponse,
)
from barnabas.wire.errors import ErrorCode
from tests.raft.single import single, voter_key

CONFIG = RaftConfig()
PATIENCE_MS = CONFIG.fetch_timeout_ms


def follower(now_ms: int = 0) -> Raft:
    """One that has just heard of its leader, node 2, and fetches from it."""
    raft = single(config=CONFIG)
    begin = BeginQuorumEpochRequest(epoch=1, leader_id=2, voter=voter_key(1))
    raft.receive(Envelope(2, 1, 1, begin), now_ms)
    raft.persisted(raft.ready().writes[-1].sequence, now_ms)
    assert raft.leader_id == 2
    raft.ready()
    return raft


def stand_for_election(raft: Raft, now_ms: int) -> bool:
    raft.tick(now_ms)
    return any(isinstance(sent.message, VoteRequest) for sent in raft.ready().messages)


def test_a_follower_that_stood_still_does_not_stand_for_election() -> None:
    raft = follower()
    raft.tick(100)
    raft.stalled(2 * PATIENCE_MS)
    assert not stand_for_election(raft, 100 + 2 * PATIENCE_MS)
    assert raft.leader_id == 2


def test_it_does_when_the_leader_stays_silent() -> None:
    raft = follower()
    raft.stalled(2 * PATIENCE_MS)
    assert not stand_for_election(raft, 3 * PATIENCE_MS - 1)
    assert stand_for_election(raft, 3 * PATIENCE_MS)


def test_one_that_did_not_stand_still_does_so_at_once() -> None:
    raft = follower()
    assert stand_for_election(raft, PATIENCE_MS)


def test_one_that_stands_still_again_and_again_notices_in_the_end() -> None:
    raft = follower()
    now_ms, step_ms = 0, PATIENCE_MS // 2
    while not stand_for_election(raft, now_ms):
        now_ms += step_ms
        raft.stalled(step_ms)
        assert now_ms <= CONFIG.max_forgiven_ms + PATIENCE_MS + step_ms
    assert now_ms >= CONFIG.max_forgiven_ms + PATIENCE_MS


def test_an_answer_of_the_leader_begins_the_count_anew() -> None:
    raft = follower()
    raft.stalled(CONFIG.max_forgiven_ms)
    answered_ms = CONFIG.max_forgiven_ms + CONFIG.request_timeout_ms
    raft.tick(answered_ms)  # the fetch is given up and sent again, so its number is known
    (fetch,) = (s for s in raft.ready().messages if isinstance(s.message, FetchRequest))
    answer = FetchResponse(ErrorCode.NONE, 1, 2, 0)
    raft.receive(Envelope(2, 1, fetch.correlation_id, answer), answered_ms)
    raft.stalled(CONFIG.max_forgiven_ms)
    assert not stand_for_election(raft, answered_ms + CONFIG.max_forgiven_ms + PATIENCE_MS - 1)
    assert stand_for_election(raft, answered_ms + CONFIG.max_forgiven_ms + PATIENCE_MS)


def test_it_does_not_help_others_to_depose_a_leader_that_it_could_not_hear() -> None:
    raft = follower()
    raft.stalled(2 * PATIENCE_MS)
    assert not grants_pre_vote(raft, 2 * PATIENCE_MS)
    assert grants_pre_vote(raft, 3 * PATIENCE_MS + 1)


def grants_pre_vote(raft: Raft, now_ms: int) -> bool:
    request = VoteRequest(
        epoch=1,
        candidate=voter_key(3),
        voter=voter_key(1),
        last_epoch=1,
        last_offset=10,
        pre_vote=True,
    )
    raft.receive(Envelope(3, 1, 77, request), now_ms)
    (answer,) = (s.message for s in raft.ready().messages if isinstance(s.message, VoteResponse))
    return answer.vote_granted


def test_a_leader_gets_no_more_time() -> None:
    """It may have been replaced; its node counts on it to step down."""
    raft = single(config=CONFIG)
    raft.tick(2 * CONFIG.election_timeout_ms)
    for voter in (2, 3):
        answer_votes(raft, voter)
    assert raft.is_leader
    raft.stalled(10_000)
    raft.tick(20_000)
    assert not raft.is_leader


def answer_votes(raft: Raft, voter: int) -> None:
    ready = raft.ready()
    if ready.writes:
        raft.persisted(ready.writes[-1].sequence, 600)
    for sent in (*ready.messages, *raft.ready().messages):
        if isinstance(sent.message, VoteRequest) and sent.receiver == voter:
            answer = VoteResponse(ErrorCode.NONE, raft.epoch, None, vote_granted=True)
            raft.receive(Envelope(voter, 1, sent.correlation_id, answer), 600)
