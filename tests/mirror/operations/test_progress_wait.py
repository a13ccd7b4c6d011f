"""A command waits for flows as long as they get on."""

from barnabas.mirror.operations.progress_wait import ProgressWait, Remaining


def test_less_than_ever_before_is_progress() -> None:
    wait = ProgressWait(60)
    assert not wait.is_in_vain(Remaining(offsets=500), 0)
    assert not wait.is_in_vain(Remaining(offsets=400), 59)
    assert not wait.is_in_vain(Remaining(offsets=399), 118), "long after a minute"
    assert not wait.is_in_vain(Remaining(offsets=450), 178)
    assert wait.is_in_vain(Remaining(offsets=400), 179), "producers go on writing"


def test_a_partition_that_is_begun_is_progress_whatever_the_lag() -> None:
    wait = ProgressWait(60)
    assert not wait.is_in_vain(Remaining(unbegun=2, offsets=0), 0)
    assert not wait.is_in_vain(Remaining(unbegun=1, offsets=10_000), 60)
    assert not wait.is_in_vain(Remaining(unbegun=1, offsets=10_000), 120)
    assert wait.is_in_vain(Remaining(unbegun=1, offsets=10_000), 121)
