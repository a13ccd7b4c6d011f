"""How many records may be locked, and for which leader."""

from barnabas.client.share import held_records
from barnabas.client.share.held_records import HeldRecords
from tests.client.share.support import locked


def test_leaders_share_the_prefetch() -> None:
    held = HeldRecords(prefetch=10)
    held.add(locked(1, node_id=1))
    held.add(locked(2, node_id=1))
    assert [held.room(node, leaders=2) for node in (1, 2)] == [3, 5]
    assert HeldRecords(prefetch=2).room(1, leaders=3) == 1


def test_a_record_counts_once_until_it_is_settled() -> None:
    held = HeldRecords(prefetch=4)
    first, again = locked(1), locked(1)
    held.add(first)
    held.add(again)  # its lock was lost, and it has come again
    assert held.room(1, leaders=1) == 3
    held.discard(first)
    assert list(held) == [again]
    held.discard(again)
    held.discard(again)
    assert held.room(1, leaders=1) == 4


def test_delayed_records_make_room_up_to_a_bound(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(held_records, "MAX_DELAYED", 2)
    held = HeldRecords(prefetch=2)
    delayed = [locked(number) for number in range(2)]
    for each in delayed:
        held.add(each)
    assert held.room(1, leaders=1) == 0
    held.delay(delayed[0])
    assert held.room(1, leaders=1) == 1
    held.delay(delayed[1])
    assert held.room(1, leaders=1) == 0
    held.discard(delayed[0])
    assert held.room(1, leaders=1) == 2
