"""Where two logs part."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.log.leader_epochs import LeaderEpochs
from barnabas.replication import (
    EpochEnd,
    OutOfRange,
    divergence,
    follower_high_watermark,
    truncation_offset,
)


class Log:
    """The epochs of its records, one per offset."""

    def __init__(self, epochs: list[int]) -> None:
        self.records = epochs
        self.epochs = LeaderEpochs()
        for offset, epoch in enumerate(epochs):
            self.epochs.assign(epoch, offset)

    def end_offset_for(self, epoch: int) -> tuple[int, int]:
        return self.epochs.end_offset_for(epoch, len(self.records))

    def truncate_to(self, offset: int) -> None:
        del self.records[offset:]
        self.epochs.truncate_from(offset)

    @property
    def last_epoch(self) -> int:
        return self.records[-1] if self.records else -1


logs = st.lists(st.integers(0, 6), max_size=12).map(sorted)


@given(common=logs, of_leader=logs, of_follower=logs)
def test_a_follower_ends_where_the_paths_part(
    common: list[int], of_leader: list[int], of_follower: list[int]
) -> None:
    """Each epoch had one leader, so behind the fork the two have no epoch in common."""
    fork = max(common, default=0)
    leader = Log(common + [fork + 2 + 2 * epoch for epoch in of_leader])
    follower = Log(common + [fork + 1 + 2 * epoch for epoch in of_follower])
    leader.epochs.assign(1000, len(leader.records))  # it begins to lead
    for _ in range(50):
        end = len(follower.records)
        diverging = divergence(leader.end_offset_for, follower.last_epoch, end, 0)
        if diverging is None:
            break
        cut = truncation_offset(follower.end_offset_for, end, diverging)
        assert cut < end, "every answer brings them closer"
        follower.truncate_to(cut)
    else:
        pytest.fail("they never agree")
    assert follower.records == leader.records[: len(follower.records)]
    assert len(follower.records) >= len(common), "nothing that both have is cut off"


def test_who_has_nothing_is_on_every_path() -> None:
    assert divergence(Log([1, 1]).end_offset_for, -1, 0, 0) is None
    assert divergence(Log([1, 1]).end_offset_for, -1, 1, 1) is None


def test_who_has_records_has_to_say_of_which_epoch() -> None:
    with pytest.raises(OutOfRange):
        divergence(Log([1, 1]).end_offset_for, -1, 1, 0)


def test_an_epoch_from_nowhere() -> None:
    with pytest.raises(OutOfRange):
        divergence(Log([1, 1]).end_offset_for, 7, 2, 0)


def test_without_epochs_the_leaders_word_counts() -> None:
    assert truncation_offset(lambda _: (-1, -1), 10, EpochEnd(3, 7)) == 7


@pytest.mark.parametrize(
    ("own", "leaders", "end", "expected"),
    [(0, 5, 10, 5), (0, 50, 10, 10), (7, 5, 10, 7), (7, 5, 6, 6)],
)
def test_what_a_follower_knows_to_be_committed(
    own: int, leaders: int, end: int, expected: int
) -> None:
    assert follower_high_watermark(own, leaders, end) == expected
