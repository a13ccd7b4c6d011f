"""Acknowledgements on their way: ranges, one for each offset, and what goes into a request."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from barnabas.client.share.acknowledge_type import AcknowledgeType, ranges_of
from barnabas.client.share.acknowledgements import PendingAcknowledgement, PendingAcknowledgements
from barnabas.client.share.queue_message import Acknowledgement
from barnabas.errors import LockLost
from tests.client.share.support import OTHER, PARTITION, locked

ACCEPT, RELEASE, RENEW = AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.RENEW


@given(st.dictionaries(st.integers(0, 60), st.sampled_from(AcknowledgeType)))
def test_ranges_say_the_same_as_the_offsets(types: dict[int, AcknowledgeType]) -> None:
    ranges = ranges_of(types)
    said = {
        offset: kind
        for first, last, kinds in ranges
        for offset, kind in zip(
            range(first, last + 1),
            kinds * (last - first + 1) if len(kinds) == 1 else kinds,
            strict=True,
        )
    }
    assert said == types
    ends = [(each.first, each.last) for each in ranges]
    assert all(last + 1 < first for (_, last), (first, _) in itertools.pairwise(ends))


def test_one_type_stands_for_a_whole_range() -> None:
    assert ranges_of(dict.fromkeys(range(5, 9), ACCEPT)) == [(5, 8, [ACCEPT])]


def pending(offset: int, kind: AcknowledgeType = ACCEPT) -> PendingAcknowledgement:
    return PendingAcknowledgement(offset, kind, locked(offset), Acknowledgement())


def test_what_ends_a_lock_replaces_its_renewal() -> None:
    waiting = PendingAcknowledgements()
    renewal = pending(3, RENEW)
    waiting.add(PARTITION, renewal)
    waiting.add(PARTITION, pending(3))
    waiting.add(PARTITION, pending(3, RENEW))
    taken = waiting.take(lambda _: True, renewals=True)
    assert [each.kind for each in taken[PARTITION]] == [ACCEPT]
    assert renewal.answer is not None
    assert renewal.answer.done()
    assert not waiting.partitions()


def test_the_answer_to_the_first_of_two_is_for_both() -> None:
    waiting = PendingAcknowledgements()
    first, second = pending(3), pending(3)
    waiting.add(PARTITION, first)
    waiting.add(PARTITION, second)
    assert first.answer is not None
    assert second.answer is not None
    assert not second.answer.done()
    lost = LockLost("its lock has expired")
    first.answer.finish(lost)
    assert second.answer.exception(0) is lost


def test_a_fetch_takes_no_renewals_along() -> None:
    waiting = PendingAcknowledgements()
    waiting.add(PARTITION, pending(1, RENEW))
    waiting.add(PARTITION, pending(2))
    taken = waiting.take(lambda _: True, renewals=False)
    assert [each.offset for each in taken[PARTITION]] == [2]
    assert waiting.take(lambda _: True, renewals=False) == {}
    assert [each.offset for each in waiting.take(lambda _: True, renewals=True)[PARTITION]] == [1]


def test_a_leader_gets_what_is_about_its_partitions() -> None:
    waiting = PendingAcknowledgements()
    waiting.add(PARTITION, pending(1))
    waiting.add(OTHER, pending(1))
    assert list(waiting.take(lambda each: each == OTHER, renewals=True)) == [OTHER]
    assert waiting.partitions() == [PARTITION]


def test_after_a_refusal_each_goes_alone() -> None:
    waiting = PendingAcknowledgements()
    waiting.add_alone(PARTITION, [pending(1), pending(2)])
    waiting.add(PARTITION, pending(7))
    requests = [waiting.take(lambda _: True, renewals=True) for _ in range(4)]
    offsets = [[each.offset for each in request.get(PARTITION, [])] for request in requests]
    assert offsets == [[7], [1], [2], []]


def test_what_finds_no_leader_ends_with_its_lock() -> None:
    waiting = PendingAcknowledgements()
    waiting.add(PARTITION, pending(1))
    assert waiting.expired(29.9) == []
    assert [each.offset for _, each in waiting.expired(30.0)] == [1]
    assert waiting.partitions() == []
