"""A leader's view of who is in sync and what is committed."""

from barnabas.replication import IsrMember, LeaderState

LAG_MS = 1000
EPOCHS: dict[int, int | None] = {1: 11, 2: 12, 3: 13}


def leading(*isr: int, start: int = 0, epochs: dict[int, int | None] = EPOCHS) -> LeaderState:
    """Node 1 leads; 1, 2 and 3 have replicas."""
    state = LeaderState(1, 5, start, LAG_MS, epochs.get)
    state.assigned([1, 2, 3], isr, 7, now_ms=0)
    return state


def fetch(state: LeaderState, node_id: int, offset: int, end: int, now_ms: int = 0) -> bool:
    return state.fetched(node_id, node_id + 10, offset, 0, end, now_ms)


def test_committed_is_what_all_in_sync_have() -> None:
    state = leading(1, 2, 3)
    assert state.high_watermark(10, 10, 0) == -1, "no follower has fetched yet"
    fetch(state, 2, 10, 10)
    fetch(state, 3, 4, 10)
    assert state.high_watermark(10, 10, 0) == 4
    fetch(state, 3, 9, 10)
    assert state.high_watermark(10, 10, 0) == 9


def test_who_is_not_in_sync_is_not_waited_for() -> None:
    state = leading(1, 2)
    fetch(state, 2, 10, 10)
    assert state.high_watermark(10, 10, 0) == 10
    fetch(state, 3, 4, 10)
    assert state.high_watermark(10, 10, 0) == 10


def test_what_the_leader_has_not_flushed_is_not_committed() -> None:
    state = leading(1, 2)
    fetch(state, 2, 10, 10)
    assert state.high_watermark(6, 10, 0) == 6


def test_alone() -> None:
    state = LeaderState(1, 5, 0, LAG_MS, EPOCHS.get)
    state.assigned([1], [1], 7, 0)
    assert state.is_alone
    assert state.high_watermark(10, 10, 0) == 10
    assert state.propose(10, 10, 10**9) is None


def test_a_follower_at_the_end_is_in_sync_for_ever() -> None:
    state = leading(1, 2, 3)
    fetch(state, 2, 10, 10)
    fetch(state, 3, 10, 10)
    assert state.propose(10, 10, now_ms=10**9) is None


def test_a_follower_that_falls_behind_leaves() -> None:
    state = leading(1, 2, 3)
    fetch(state, 2, 10, 10)
    fetch(state, 3, 10, 10)
    assert state.any_at_end
    state.end_moves(10, now_ms=5000)
    fetch(state, 2, 11, 11, now_ms=5001)
    assert state.propose(10, 11, now_ms=5000 + LAG_MS) is None
    change = state.propose(10, 11, now_ms=5001 + LAG_MS)
    assert change is not None
    assert change.isr == (IsrMember(1, 11), IsrMember(2, 12))
    assert (change.leader_epoch, change.partition_epoch) == (5, 7)
    assert state.high_watermark(11, 11, 9000) == 10, "it counts until that is agreed"
    state.assigned([1, 2, 3], [1, 2], 8, 9000)
    assert state.high_watermark(11, 11, 9000) == 11


def test_under_load_a_follower_is_never_quite_at_the_end() -> None:
    """But it has what there was at its fetch before."""
    state = leading(1, 2)
    for now_ms in range(0, 10_000, 100):
        fetch(state, 2, now_ms, now_ms + 100, now_ms)
        state.end_moves(now_ms + 100, now_ms)
        assert state.propose(0, now_ms + 150, now_ms) is None


def test_a_slow_follower_had_caught_up_when_it_fetched_before() -> None:
    """It has what was there then, and not what was there when that arrived."""
    state = leading(1, 2)
    fetch(state, 2, 5, 10, now_ms=0)
    fetch(state, 2, 10, 20, now_ms=LAG_MS - 1)
    assert state.propose(10, 20, now_ms=LAG_MS) is None
    change = state.propose(10, 20, now_ms=LAG_MS + 1)
    assert change is not None
    assert [member.node_id for member in change.isr] == [1]


def test_a_follower_that_does_not_keep_up_leaves() -> None:
    state = leading(1, 2)
    left = None
    for now_ms in range(0, 10_000, 100):
        fetch(state, 2, now_ms // 10, now_ms + 100, now_ms)
        left = left or state.propose(0, now_ms + 100, now_ms)
    assert left is not None
    assert left.isr == (IsrMember(1, 11),)


def test_a_follower_joins_with_all_that_is_committed_and_led_in_this_epoch() -> None:
    state = leading(1, 2, start=8)
    fetch(state, 2, 20, 20)
    fetch(state, 3, 7, 7)
    assert not state.can_join(3, 5, 20, 0), "it may not have truncated yet"
    fetch(state, 3, 8, 8)
    assert not state.can_join(3, 9, 20, 0)
    assert not state.can_join(3, 8, 20, LAG_MS + 1), "it does not keep up"
    assert state.can_join(3, 8, 20, 0)
    change = state.propose(8, 20, 0)
    assert change is not None
    assert [member.node_id for member in change.isr] == [1, 2, 3]
    assert state.high_watermark(20, 20, 0) == 8, "it may be in the set by now"
    assert state.propose(8, 20, 10**9) is None, "one change at a time"


def test_a_refused_proposal_is_made_again_when_it_is_due() -> None:
    state = leading(1, 2)
    fetch(state, 2, 20, 20)
    fetch(state, 3, 20, 20)
    change = state.propose(20, 20, 0)
    assert change is not None
    assert not state.is_change_due(20, 20, 0)
    state.refused(change)
    assert state.is_change_due(20, 20, 0)


def test_an_answer_about_another_proposal_changes_nothing() -> None:
    state = leading(1, 2)
    fetch(state, 2, 20, 20)
    fetch(state, 3, 20, 20)
    change = state.propose(20, 20, 0)
    assert change is not None
    state.refused(change._replace(partition_epoch=3))
    assert state.pending == change


def test_nobody_joins_who_is_fenced_or_lives_another_life() -> None:
    epochs = dict(EPOCHS)
    state = leading(1, 2, epochs=epochs)
    fetch(state, 3, 20, 20)
    epochs[3] = None
    assert not state.can_join(3, 0, 20, 0)
    epochs[3] = 14
    assert not state.can_join(3, 0, 20, 0)
    assert not fetch(state, 3, 20, 20), "that life is over"
    assert state.fetched(3, 14, 20, 0, 20, 0)
    assert state.can_join(3, 0, 20, 0)
    epochs[3] = None
    assert not fetch(state, 3, 25, 20), "an older life of it"


def test_who_is_about_to_join_is_waited_for() -> None:
    """Else a follower would never have all that is committed while there is traffic."""
    state = leading(1)
    fetch(state, 2, 95, 95, now_ms=100)
    assert state.high_watermark(100, 100, now_ms=200) == 95
    assert state.high_watermark(100, 100, now_ms=101 + LAG_MS) == 100, "but not for ever"


def test_who_was_proposed_counts_until_that_is_decided_even_if_it_falls_behind() -> None:
    """It may be in the set already, and be elected, before the leader hears of it."""
    state = leading(1, 2)
    fetch(state, 2, 10, 10)
    fetch(state, 3, 10, 10)
    change = state.propose(10, 10, now_ms=0)
    assert change is not None
    assert [member.node_id for member in change.isr] == [1, 2, 3]
    state.end_moves(10, now_ms=1)
    late_ms = 10 * LAG_MS
    fetch(state, 2, 12, 12, late_ms)
    assert state.high_watermark(12, 12, late_ms) == 10
    state.refused(change)
    assert state.high_watermark(12, 12, late_ms) == 12


def test_what_was_agreed_before_a_proposal_decides_nothing_about_it() -> None:
    """The image is applied again, for another reason: the member may be in the set all the same."""
    state = leading(1, 2)
    fetch(state, 2, 10, 10)
    fetch(state, 3, 10, 10)
    assert state.propose(10, 10, now_ms=0) is not None
    state.end_moves(10, now_ms=1)
    late_ms = 10 * LAG_MS
    fetch(state, 2, 12, 12, late_ms)
    state.assigned([1, 2, 3], [1, 2], 7, late_ms)
    assert state.pending is not None
    assert state.high_watermark(12, 12, late_ms) == 10
    state.assigned([1, 2, 3], [1, 2], 8, late_ms)
    assert state.pending is None
    assert state.high_watermark(12, 12, late_ms) == 12


def test_records_are_deleted_without_followers_that_are_down() -> None:
    """DeleteRecords would else wait for one that is down until it is back."""
    epochs = dict(EPOCHS)
    state = leading(1, 2, epochs=epochs)
    state.fetched(2, 12, 10, 6, 10, 0)
    state.fetched(3, 13, 10, 2, 10, 0)
    assert not state.confirm_deletion(6)
    epochs[3] = None
    assert state.confirm_deletion(6)


def test_strangers_are_not_heard() -> None:
    assert not leading(1, 2).fetched(9, 19, 5, 0, 5, 0)


def test_a_leader_elected_uncleanly_has_recovered_when_all_have_followed_it() -> None:
    state = LeaderState(1, 5, 0, LAG_MS, EPOCHS.get)
    state.assigned([1, 2, 3], [1], 7, 0, is_recovering=True)
    assert state.propose(0, 0, 0) is None
    state.fetched(2, 12, 0, 0, 0, 0)
    change = state.propose(0, 0, 0)
    assert change is not None
    assert (change.isr, change.is_recovering) == ((IsrMember(1, 11), IsrMember(2, 12)), True)
    state.assigned([1, 2, 3], [1, 2], 8, 0, is_recovering=True)
    assert state.propose(0, 0, 0) is None
    state.fetched(3, 13, 0, 0, 0, 0)
    change = state.propose(0, 0, 0)
    assert change is not None
    assert len(change.isr) == 3
    assert not change.is_recovering


def test_nothing_is_committed_that_an_eligible_leader_lacks() -> None:
    state = LeaderState(1, 5, 0, LAG_MS, EPOCHS.get)
    state.assigned([1, 2, 3], [1], 7, 0, eligible=[3])
    assert state.high_watermark(20, 20, 0) == 0
    state.assigned([1, 2, 3], [1], 8, 0)
    assert state.high_watermark(20, 20, 0) == 20


def test_replicas_that_can_serve_a_consumer() -> None:
    state = leading(1, 2)
    state.fetched(2, 12, 20, 5, 20, 0)
    state.fetched(3, 13, 20, 5, 20, 0)
    assert state.replicas_with(5) == [(2, 20)]
    assert state.replicas_with(20) == [(2, 20)]
    assert state.replicas_with(4) == state.replicas_with(21) == []


def test_a_new_leader_speaks_for_members_whom_it_has_not_heard_yet() -> None:
    state = leading(1, 2, 3, epochs={1: 11, 2: None, 3: 13})
    change = state.propose(10, 10, now_ms=0)
    assert change is not None
    assert change.isr == (IsrMember(1, 11), IsrMember(3, 13))


def test_who_was_removed_by_the_controller_has_to_catch_up_to_join_again() -> None:
    """As a follower whose disk is full: it fetches, and stores nothing."""
    state = leading(1, 2, 3)
    fetch(state, 2, 10, 10)
    fetch(state, 3, 10, 10)
    state.end_moves(10, now_ms=100)
    fetch(state, 2, 12, 12, now_ms=101)
    assert state.high_watermark(12, 12, 102) == 10
    state.assigned([1, 2, 3], [1, 2], 8, 103)
    fetch(state, 3, 10, 12, now_ms=104)
    assert not state.can_join(3, 10, 12, 104)
    assert state.high_watermark(12, 12, 104) == 12
    fetch(state, 3, 12, 12, now_ms=105)
    assert state.can_join(3, 12, 12, 105)


def test_a_follower_that_has_missed_removed_deletions_copies_all_again() -> None:
    state = leading(1, 2)
    assert state.must_start_over(3, 5, 0, 8), "it may have what a removed tombstone deleted"
    assert not state.must_start_over(3, 8, 0, 8)
    assert not state.must_start_over(3, 5, 5, 8), "the leader's log starts there"
    assert not state.must_start_over(2, 5, 0, 8), "who is in sync has the tombstones"
    assert not state.must_start_over(9, 5, 0, 8)


def test_a_follower_that_has_begun_again_is_sent_what_is_left() -> None:
    state = leading(1, 2)
    assert not state.must_start_over(3, 0, 0, 8)
    fetch(state, 3, 0, 20)
    assert not state.must_start_over(3, 4, 0, 8)
    fetch(state, 3, 4, 20)
    assert state.must_start_over(3, 3, 0, 8), "it has lost records since, and not those before"
    assert state.must_start_over(3, 5, 0, 9), "the leader has removed more since"
    assert not state.must_start_over(3, 9, 0, 9)


def test_deletions_stay_until_all_live_followers_have_them() -> None:
    epochs: dict[int, int | None] = dict(EPOCHS)
    state = leading(1, 2, epochs=epochs)
    assert state.lowest_end == -1
    fetch(state, 2, 20, 20)
    fetch(state, 3, 4, 20)
    assert state.lowest_end == 4
    epochs[3] = None
    assert state.lowest_end == 20
    epochs[2] = None
    assert state.lowest_end > 2**60


def test_a_deletion_is_confirmed_when_all_live_followers_have_made_it() -> None:
    epochs: dict[int, int | None] = dict(EPOCHS)
    state = leading(1, 2, epochs=epochs)
    assert not state.confirm_deletion(5), "no follower has fetched yet"
    state.fetched(2, 12, 20, 5, 20, 0)
    state.fetched(3, 13, 20, 4, 20, 0)
    assert not state.confirm_deletion(5)
    epochs[3] = None
    assert state.confirm_deletion(5), "who is down, and can not be elected, is not waited for"


def test_a_deletion_waits_for_all_who_may_be_elected_even_if_they_are_down() -> None:
    epochs: dict[int, int | None] = dict(EPOCHS)
    state = leading(1, 2, epochs=epochs)
    state.fetched(2, 12, 20, 5, 20, 0)
    state.fetched(3, 13, 20, 0, 20, 0)
    epochs[3] = None
    state.assigned([1, 2, 3], [1, 2], 8, 0, eligible=[3])
    assert not state.confirm_deletion(5), "it is elected if it is back and the others are down"
    state.assigned([1, 2, 3], [1, 2], 9, 0)
    assert state.confirm_deletion(5)
    epochs[3] = 13
    state = leading(1, 2, epochs=epochs)
    state.fetched(2, 12, 20, 5, 20, 0)
    state.fetched(3, 13, 20, 0, 20, 0)
    assert state.propose(20, 20, 0) is not None
    epochs[3] = None
    assert not state.confirm_deletion(5), "it may be in the set by now"


def test_a_follower_joins_without_the_records_that_clients_were_told_are_deleted() -> None:
    state = LeaderState(1, 5, 0, LAG_MS, EPOCHS.get, log_start_offset=3)
    state.assigned([1, 2, 3], [1, 2], 7, 0)
    state.fetched(3, 13, 20, 2, 20, 0)
    assert not state.can_join(3, 20, 20, 0), "an earlier leader may have told clients so"
    state.fetched(3, 13, 20, 3, 20, 0)
    assert state.can_join(3, 20, 20, 0)
    state.fetched(2, 12, 20, 5, 20, 0)
    assert not state.confirm_deletion(5)
    assert state.can_join(3, 20, 20, 0), "no client was told of that one"
    state.fetched(3, 13, 20, 5, 20, 0)
    assert state.confirm_deletion(5)
    state.fetched(3, 13, 20, 4, 20, 0)
    assert not state.can_join(3, 20, 20, 0)
