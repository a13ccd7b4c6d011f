"""How entries spread: acknowledgements, divergence, commitment, crashes."""

import pytest

from barnabas.raft import (
    Batch,
    BrokenInvariant,
    ElectionState,
    Entry,
    Envelope,
    LeaderChange,
    OffsetAndEpoch,
    Raft,
    RaftConfig,
    Recovered,
    Truncate,
)
from barnabas.raft.messages import (
    BeginQuorumEpochRequest,
    FetchRequest,
    FetchResponse,
    VoteRequest,
    VoteResponse,
)
from barnabas.wire.errors import ErrorCode
from tests.raft.cluster import Cluster
from tests.raft.single import single, voter_key


def test_what_a_leader_commits_is_applied_everywhere_in_order() -> None:
    cluster = Cluster(nodes=4, voters=3)
    cluster.elect()
    cluster.write(10)
    assert len(cluster.checker.committed) == 12
    assert {r.applied_end for r in cluster.alive()} == {cluster.checker.committed_end}


def test_a_follower_fetches_again_only_when_what_it_got_is_durable() -> None:
    raft, fetch = _follower(Recovered())
    assert (fetch.message.fetch_offset, fetch.message.last_fetched_epoch) == (0, 0)
    entries = (Entry(0, 1, LeaderChange(2)), Entry(1, 1, Batch(b"x", 2)))
    _answer(raft, fetch, FetchResponse(ErrorCode.NONE, 1, 2, 3, entries=entries))
    ready = raft.ready()
    assert [write.change for write in ready.writes] == list(entries)
    assert not ready.messages
    assert not ready.committed, "committed, but not durable here"
    raft.persisted(ready.writes[-1].sequence, 2)
    ready = raft.ready()
    assert [(e.message.fetch_offset, e.message.last_fetched_epoch) for e in ready.messages] == [
        (3, 1)
    ]
    assert ready.committed == list(entries)


def test_a_follower_drops_what_the_leader_does_not_have() -> None:
    old = [Entry(0, 1, LeaderChange(1)), Entry(1, 1, Batch(b"a")), Entry(2, 3, LeaderChange(1))]
    raft, fetch = _follower(Recovered(ElectionState(3), None, old), epoch=4)
    assert (fetch.message.fetch_offset, fetch.message.last_fetched_epoch) == (3, 3)
    point = OffsetAndEpoch(end_offset=1, epoch=1)
    _answer(raft, fetch, FetchResponse(ErrorCode.NONE, 4, 2, 1, diverging_epoch=point))
    ready = raft.ready()
    assert [write.change for write in ready.writes] == [Truncate(1)]
    raft.persisted(ready.writes[-1].sequence, 2)
    (fetch,) = raft.ready().messages
    assert (fetch.message.fetch_offset, fetch.message.last_fetched_epoch) == (1, 1)


def test_to_drop_what_is_committed_is_refused_loudly() -> None:
    raft, fetch = _follower(Recovered())
    entries = (Entry(0, 1, LeaderChange(2)), Entry(1, 1, Batch(b"a")))
    _answer(raft, fetch, FetchResponse(ErrorCode.NONE, 1, 2, 2, entries=entries))
    raft.persisted(raft.ready().writes[-1].sequence, 2)
    (fetch,) = raft.ready().messages
    point = OffsetAndEpoch(end_offset=1, epoch=1)
    with pytest.raises(BrokenInvariant, match="committed"):
        _answer(raft, fetch, FetchResponse(ErrorCode.NONE, 1, 2, 2, diverging_epoch=point))


def test_an_answer_to_an_earlier_fetch_is_not_taken() -> None:
    raft, fetch = _follower(Recovered())
    answer = FetchResponse(ErrorCode.NONE, 1, 2, 0, entries=(Entry(0, 1, LeaderChange(2)),))
    raft.receive(Envelope(2, 1, fetch.correlation_id - 1, answer), 1)
    assert not raft.ready().writes
    _answer(raft, fetch, answer)
    _answer(raft, fetch, answer)
    assert len(raft.ready().writes) == 1


def test_a_leader_counts_itself_only_for_what_is_durable() -> None:
    raft = _leader()
    written = raft.ready().writes
    raft.receive(Envelope(2, 1, 1, _fetch(2, offset=1, last_epoch=1)), 300)
    assert raft.high_watermark == 0
    raft.persisted(written[-1].sequence, 301)
    assert raft.high_watermark == 1


def test_a_leader_learns_a_commit_no_later_than_the_others() -> None:
    """Its disk may be slow or full: the majority without it acts on the entry meanwhile."""
    raft = _leader()
    raft.persisted(raft.ready().writes[-1].sequence, 300)
    raft.propose(Batch(b"x"), 300)
    assert [write.change.body for write in raft.ready().writes] == [Batch(b"x")]
    for node_id in (2, 3):
        raft.receive(Envelope(node_id, 1, node_id, _fetch(node_id, offset=3, last_epoch=1)), 301)
    ready = raft.ready()
    assert [e.message.high_watermark for e in ready.messages if e.correlation_id == 3] == [3]
    assert [entry.body for entry in ready.committed][-1] == Batch(b"x")


def test_a_leader_that_has_not_stored_that_it_leads_applies_nothing() -> None:
    raft = _leader()
    for node_id in (2, 3):
        raft.receive(Envelope(node_id, 1, node_id, _fetch(node_id, offset=2, last_epoch=1)), 300)
    assert raft.high_watermark == 2
    ready = raft.ready()
    assert not ready.committed
    raft.persisted(ready.writes[-1].sequence, 301)
    assert len(raft.ready().committed) == 2


def test_a_follower_whose_disk_was_full_is_behind_until_it_has_applied_what_it_missed() -> None:
    raft, fetch = _follower(Recovered())
    first, second = Entry(0, 1, LeaderChange(2)), Entry(1, 1, Batch(b"x"))
    _answer(raft, fetch, FetchResponse(ErrorCode.NONE, 1, 2, 1, entries=(first,)))
    written = raft.ready().writes
    assert not raft.is_behind
    raft.stood_still()
    raft.persisted(written[-1].sequence, 2)
    ready = raft.ready()
    assert ready.committed == [first]
    assert raft.is_behind, "it has room, and has yet to hear what was decided meanwhile"
    _answer(raft, ready.messages[-1], FetchResponse(ErrorCode.NONE, 1, 2, 2, entries=(second,)))
    written = raft.ready().writes
    assert raft.is_behind
    raft.persisted(written[-1].sequence, 3)
    assert raft.ready().committed == [second]
    assert not raft.is_behind


def test_a_leader_hears_a_majority_no_longer_than_its_followers_believe_in_it() -> None:
    raft = _leader()
    patience_ms = RaftConfig().fetch_timeout_ms
    assert raft.hears_majority(200 + patience_ms), "a majority has voted for it"
    assert not raft.hears_majority(201 + patience_ms)
    raft.receive(Envelope(2, 1, 1, _fetch(2, offset=0, last_epoch=0)), 300)
    assert raft.hears_majority(300 + patience_ms)
    assert not raft.hears_majority(301 + patience_ms)
    assert raft.is_leader
    assert not single().hears_majority(0)


def test_a_leader_sends_what_is_not_durable_yet() -> None:
    raft = _leader()
    raft.receive(Envelope(2, 1, 1, _fetch(2, offset=0, last_epoch=0)), 300)
    answers = [e.message for e in raft.ready().messages if isinstance(e.message, FetchResponse)]
    assert [entry.body for entry in answers[0].entries] == [LeaderChange(1), raft.voters]


def test_entries_of_an_earlier_epoch_wait_for_one_of_the_leaders_own() -> None:
    old = [Entry(0, 1, LeaderChange(2)), Entry(1, 1, Batch(b"a"))]
    raft = _leader(Recovered(ElectionState(1), None, old))
    raft.persisted(raft.ready().writes[-1].sequence, 300)
    raft.receive(Envelope(2, 1, 1, _fetch(2, offset=2, last_epoch=1, epoch=2)), 300)
    assert raft.high_watermark == 0
    raft.receive(Envelope(2, 1, 2, _fetch(2, offset=3, last_epoch=2, epoch=2)), 300)
    assert raft.high_watermark == 3


def test_a_fetch_that_does_not_agree_acknowledges_nothing() -> None:
    old = [Entry(0, 1, LeaderChange(2)), Entry(1, 3, LeaderChange(2))]
    raft = _leader(Recovered(ElectionState(3), None, old))
    raft.persisted(raft.ready().writes[-1].sequence, 300)
    raft.ready()
    raft.receive(Envelope(2, 1, 1, _fetch(2, offset=3, last_epoch=2, epoch=4)), 300)
    (answer,) = [e.message for e in raft.ready().messages]
    assert answer.diverging_epoch == (1, 1)
    assert raft.high_watermark == 0


def test_what_was_committed_survives_the_crash_of_everybody() -> None:
    cluster = Cluster()
    cluster.elect()
    cluster.write(5)
    committed = cluster.checker.committed_end
    for replica in cluster.alive():
        replica.crash()
        cluster.start(replica)
    cluster.elect()
    cluster.write()
    assert cluster.checker.committed_end > committed
    assert {r.applied_end for r in cluster.alive()} == {cluster.checker.committed_end}


def test_a_write_reported_durable_must_have_been_handed_out() -> None:
    raft = single(voters=1)
    raft.tick(200)
    with pytest.raises(ValueError, match="handed out"):
        raft.persisted(1, 200)


def test_a_follower_has_nothing_proposed() -> None:
    assert single().propose(Batch(b"x"), 0).error_code is ErrorCode.NOT_LEADER_OR_FOLLOWER


def _follower(recovered: Recovered, epoch: int = 1) -> tuple[Raft, Envelope]:
    """Node 1 following node 2, and the fetch it has sent."""
    raft = single(recovered=recovered)
    raft.receive(Envelope(2, 1, 1, BeginQuorumEpochRequest(epoch, 2, voter_key(1))), 0)
    raft.persisted(raft.ready().writes[-1].sequence, 1)
    (fetch,) = [e for e in raft.ready().messages if isinstance(e.message, FetchRequest)]
    return raft, fetch


def _answer(raft: Raft, fetch: Envelope, response: FetchResponse) -> None:
    raft.receive(Envelope(2, 1, fetch.correlation_id, response), 1)


def _leader(recovered: Recovered | None = None) -> Raft:
    """Node 1 leading three, in the epoch after the recovered one, its first entry not durable."""
    raft = single(recovered=recovered)
    raft.tick(200)
    for _ in range(2):
        ready = raft.ready()
        if ready.writes:
            raft.persisted(ready.writes[-1].sequence, 200)
            ready.messages += raft.ready().messages
        for envelope in ready.messages:
            if isinstance(envelope.message, VoteRequest) and envelope.receiver == 2:
                answer = VoteResponse(ErrorCode.NONE, envelope.message.epoch, None, True)
                raft.receive(Envelope(2, 1, envelope.correlation_id, answer), 200)
    assert raft.is_leader
    return raft


def _fetch(node_id: int, *, offset: int, last_epoch: int, epoch: int = 1) -> FetchRequest:
    return FetchRequest(epoch, voter_key(node_id), offset, last_epoch, 0, 1 << 20, 500)
