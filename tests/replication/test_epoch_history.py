"""Where a leader's epochs began, asked of it."""

from hypothesis import given
from hypothesis import strategies as st

from barnabas.log.leader_epochs import LeaderEpochs
from barnabas.replication import EpochEnd, EpochHistory


def learned(
    leader: LeaderEpochs, end_offset: int, lowest: int
) -> tuple[list[tuple[int, int]], int]:
    """The starts, and how many requests it took."""
    history = EpochHistory(lowest, leader.latest)
    requests = 0
    while not history.is_complete:
        requests += 1
        history.answered(
            EpochEnd(*leader.end_offset_for(epoch, end_offset)) for epoch in history.next_epochs()
        )
    return history.starts(), requests


@given(
    st.lists(st.tuples(st.integers(1, 500), st.integers(1, 9)), min_size=1, max_size=8),
    st.integers(-1, 600),
)
def test_a_follower_that_has_learned_them_answers_like_its_leader(
    steps: list[tuple[int, int]], lowest: int
) -> None:
    leader = LeaderEpochs()
    epoch, offset = -1, 0
    for more, count in steps:
        epoch += more
        leader.assign(epoch, offset)
        offset += count
    known, _ = learned(leader, offset, lowest)
    follower = LeaderEpochs([each for each in leader.entries() if each[0] <= lowest])
    # Nothing is left of the other epochs but the last record.
    end = next((start for each, start in leader.entries() if each > lowest), offset)
    if follower.latest < epoch:
        follower.assign_behind_gap(known, end, epoch, offset - 1)
    for each in range(max(0, lowest), epoch + 1):
        of_leader = leader.end_offset_for(each, offset)
        assert (
            follower.end_offset_for(each, offset) == of_leader
            or of_leader[0] < 0
            or (each < leader.entries()[0][0])
        )


def test_few_epochs_far_apart_take_few_requests() -> None:
    leader = LeaderEpochs([(0, 0), (7, 10), (100_000, 20)])
    assert learned(leader, 30, -1) == ([(0, 0), (7, 10), (100_000, 20)], 2)


def test_before_the_first_epoch_there_was_none() -> None:
    assert EpochHistory(-1, 0).is_complete
    assert EpochHistory(-1, 0).starts() == [(0, 0)]


def test_a_leader_that_knows_nothing_ends_it() -> None:
    history = EpochHistory(-1, 3)
    history.answered([EpochEnd(-1, -1)] * 3)
    assert history.is_complete
    assert history.starts() == []
