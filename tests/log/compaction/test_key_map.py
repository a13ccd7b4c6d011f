"""The key map against a dict."""

from hypothesis import given
from hypothesis import strategies as st

from barnabas.log.compaction.key_map import MAX_SPAN, SLOT_BYTES, KeyMap

keys = st.one_of(st.binary(max_size=3), st.sampled_from([b"", b"a", b"b" * 100]))


def last_offset(found: KeyMap, key: bytes) -> int:
    """The first offset at which a record of this key would not be replaced; -1 if none is."""
    low, high = found.base_offset - 1, found.base_offset + MAX_SPAN
    if found.unreplaced([record(0, key)], low):
        return -1
    while high - low > 1:
        middle = (low + high) // 2
        if found.unreplaced([record(0, key)], middle):
            high = middle
        else:
            low = middle
    return high


def record(offset_delta: int, key: bytes | None) -> tuple[int, int, int, int, bytes | None, bool]:
    return 0, 0, 0, offset_delta, key, False


@given(
    batches=st.lists(st.lists(st.one_of(st.none(), keys), min_size=1, max_size=8), max_size=20),
    base_offset=st.integers(0, 2**62),
    asked=st.lists(keys),
)
def test_it_knows_the_last_offset_of_every_key(
    batches: list[list[bytes | None]], base_offset: int, asked: list[bytes]
) -> None:
    known: dict[bytes, int] = {}
    found = KeyMap(base_offset, sum(map(len, batches)) or 1)
    offset = base_offset
    for batch in batches:
        assert found.has_room_for(len(batch), offset + len(batch) - 1)
        found.put([record(delta, key) for delta, key in enumerate(batch)], offset)
        known |= {key: offset + delta for delta, key in enumerate(batch) if key is not None}
        offset += len(batch)
    assert found.count == len(known)
    for key in {*known, *asked}:
        assert last_offset(found, key) == known.get(key, -1)


def test_a_full_one_has_no_room_and_still_answers() -> None:
    found = KeyMap(0, 100)
    for number in range(100):
        assert found.has_room_for(1, number)
        found.put([record(0, b"%d" % number)], number)
    assert not found.has_room_for(1, 100)
    assert [last_offset(found, b"%d" % number) for number in range(100)] == list(range(100))
    assert last_offset(found, b"absent") == -1


def test_offsets_that_lie_too_far_apart() -> None:
    found = KeyMap(10, 100)
    assert found.has_room_for(1, 10 + MAX_SPAN)
    assert not found.has_room_for(1, 11 + MAX_SPAN)
    found.put([record(0, b"far")], 10 + MAX_SPAN)
    assert last_offset(found, b"far") == 10 + MAX_SPAN


def test_its_size_is_what_was_asked_for() -> None:
    for size_bytes in (1 << 16, 1 << 20, (1 << 20) + 7):
        capacity = KeyMap.capacity_of(size_bytes)
        slots = len(KeyMap(0, capacity)._places)
        assert 0.99 * size_bytes <= slots * SLOT_BYTES <= size_bytes
        assert capacity * 21 <= size_bytes <= capacity * 22


@given(rows=st.lists(st.one_of(st.none(), keys), min_size=1, max_size=30))
def test_the_last_record_of_each_key_is_left(rows: list[bytes | None]) -> None:
    records = [record(delta, key) for delta, key in enumerate(rows)]
    found = KeyMap(5, len(rows))
    found.put(records, 5)
    last = {key: delta for delta, key in enumerate(rows) if key is not None}
    assert [left[3] for left in found.unreplaced(records, 5)] == sorted(last.values())
    assert found.unreplaced(records, 5 + len(rows)) == [r for r in records if r[4] is not None]
