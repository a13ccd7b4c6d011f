"""Which leader epochs can be true, compared with a search through all choices."""

from itertools import combinations, pairwise

from hypothesis import assume, given
from hypothesis import strategies as st

from barnabas.log.epoch_order import EpochRun, SettledEpoch, settle_epochs

EPOCHS = st.lists(st.integers(0, 6), min_size=1, max_size=8)


def runs(epochs: list[int]) -> list[EpochRun]:
    return [EpochRun(epoch, 1, offset) for offset, epoch in enumerate(epochs)]


def settled(*epochs: int, lowest: int = 0, highest: int | None = None) -> list[SettledEpoch]:
    return settle_epochs(runs(list(epochs)), lowest, highest)


def test_a_batch_between_others_of_one_epoch_is_of_that_epoch() -> None:
    for garbled in (0, 7, 2**30, -(2**31) + 3):
        assert settled(3, 3, garbled, 3, 4) == [
            SettledEpoch(epoch, True) for epoch in (3, 3, 3, 3, 4)
        ]


def test_a_batch_between_two_epochs_may_be_of_either_and_the_later_one_is_safe() -> None:
    assert settled(3, 3, 7, 5, 5)[2] == SettledEpoch(5, False)
    assert settled(3, 3, 1, 5, 5)[2] == SettledEpoch(5, False)


def test_what_comes_last_is_bounded_by_the_leader_only() -> None:
    assert settled(3, 3, 1)[2] == SettledEpoch(None, False)
    assert settled(3, 3, 1, highest=9)[2] == SettledEpoch(9, False)
    assert settled(3, 3, 12, highest=9)[2] == SettledEpoch(9, False)
    assert settled(3, 3, 12, highest=3)[2] == SettledEpoch(3, True)


def test_if_either_of_two_may_be_wrong_neither_is_believed() -> None:
    assert settled(3, 4, 3) == [SettledEpoch(3, True), *[SettledEpoch(None, False)] * 2]


def test_many_batches_outweigh_one() -> None:
    long, short = EpochRun(3, 1000, 0), EpochRun(9, 1, 1000)
    assert settle_epochs([long, short, long], 0) == [SettledEpoch(3, True)] * 3


@given(EPOCHS)
def test_certain_is_what_all_longest_choices_in_order_have(epochs: list[int]) -> None:
    numbers = range(len(epochs))
    choices = [
        set(chosen)
        for size in range(len(epochs) + 1)
        for chosen in combinations(numbers, size)
        if all(epochs[a] <= epochs[b] for a, b in pairwise(chosen))
    ]
    longest = max(map(len, choices))
    certain = set.intersection(*(chosen for chosen in choices if len(chosen) == longest))
    for at, (epoch, is_exact) in enumerate(settle_epochs(runs(epochs), 0)):
        following = min((each for each in certain if each >= at), default=None)
        before = max((each for each in certain if each < at), default=None)
        assert epoch == (None if following is None else epochs[following])
        below = 0 if before is None else epochs[before]
        assert is_exact == (at in certain or epoch == below)


@given(EPOCHS.map(sorted), st.integers(0, 7), st.integers(-2, 9))
def test_one_wrong_epoch_never_misleads_if_it_shows(true: list[int], at: int, value: int) -> None:
    stored = list(true)
    stored[at % len(true)] = value
    assume(any(a > b for a, b in pairwise([0, *stored])))
    found = settle_epochs(runs(stored), 0)
    for epoch, (said, is_exact) in zip(true, found, strict=True):
        assert said is None or said >= epoch
        assert not is_exact or said == epoch
    substitutes = [said for said, _ in found if said is not None]
    assert substitutes == sorted(substitutes)
    assert all(said is None for said, _ in found[len(substitutes) :])
