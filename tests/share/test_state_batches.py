"""The stored batches of a share partition, next to a dictionary with one entry for each record."""

from hypothesis import given
from hypothesis import strategies as st

from barnabas.share.record_state import STORED_STATES
from barnabas.share.state.share_state import combine
from barnabas.share.state_write import StateBatch

_BATCHES = st.lists(
    st.builds(
        lambda first, size, state, count: StateBatch(first, first + size, state, count),
        st.integers(0, 30),
        st.integers(0, 8),
        st.sampled_from(sorted(STORED_STATES)),
        st.integers(0, 3),
    ),
    max_size=12,
)


@given(_BATCHES, _BATCHES, st.integers(0, 20))
def test_changes_are_laid_over_what_is_stored(
    earlier: list[StateBatch], later: list[StateBatch], start_offset: int
) -> None:
    stored = combine((), earlier, 0)
    combined = combine(stored, later, start_offset)
    expected: dict[int, tuple[object, int]] = {}
    for batch in [*earlier, *later]:
        for offset in range(batch.first, batch.last + 1):
            before = expected.get(offset)
            is_newer = before is not None and (
                before[0].is_terminal  # type: ignore[attr-defined]
                or before[1] > batch.delivery_count
            )
            if not is_newer or batch.state.is_terminal:
                expected[offset] = (batch.state, batch.delivery_count)
    found: dict[int, tuple[object, int]] = {}
    previous = -1
    for batch in combined:
        assert previous < batch.first <= batch.last
        previous = batch.last
        for offset in range(batch.first, batch.last + 1):
            found[offset] = (batch.state, batch.delivery_count)
    assert {at: each for at, each in found.items() if at >= start_offset} == {
        at: each for at, each in expected.items() if at >= start_offset
    }
