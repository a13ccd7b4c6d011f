"""The history of leader epochs."""

from hypothesis import given
from hypothesis import strategies as st

from barnabas.log.leader_epochs import LeaderEpochs


@given(
    steps=st.lists(st.tuples(st.integers(0, 3), st.integers(1, 5)), max_size=20),
    cut=st.integers(0, 60),
)
def test_every_offset_has_the_epoch_it_was_appended_with(
    steps: list[tuple[int, int]], cut: int
) -> None:
    epochs = LeaderEpochs()
    assigned: list[int] = []
    epoch = 0
    for raised, count in steps:
        epoch += raised
        epochs.assign(epoch, len(assigned))
        assigned += [epoch] * count
    assert [epochs.epoch_for(offset) for offset in range(len(assigned))] == assigned
    for known in set(assigned):
        end = max(offset for offset, found in enumerate(assigned) if found == known) + 1
        assert epochs.end_offset_for(known, len(assigned)) == (known, end)
    assert epochs.end_offset_for(epoch + 1, len(assigned)) == (-1, -1)
    assert LeaderEpochs(epochs.entries()).entries() == epochs.entries()

    epochs.truncate_from(cut)
    kept = assigned[:cut]
    assert [epochs.epoch_for(offset) for offset in range(len(kept))] == kept
    assert epochs.latest == (kept[-1] if kept else -1)

    first = len(kept) // 2
    epochs.truncate_before(first)
    assert [epochs.epoch_for(offset) for offset in range(first, len(kept))] == kept[first:]
    assert epochs.latest == (kept[-1] if kept else -1)


def test_an_epoch_without_a_record_is_replaced() -> None:
    epochs = LeaderEpochs([(1, 0), (2, 10)])
    epochs.assign(3, 10)
    assert epochs.entries() == [(1, 0), (3, 10)]
    assert epochs.end_offset_for(2, 20) == (1, 10)
    epochs.assign(2, 15)
    epochs.assign(-1, 15)
    assert epochs.entries() == [(1, 0), (3, 10)]


def test_an_epoch_before_the_first_known_one() -> None:
    assert LeaderEpochs([(4, 7)]).end_offset_for(2, 20) == (2, 7)
    assert LeaderEpochs().end_offset_for(0, 0) == (-1, -1)


def test_where_later_epochs_start() -> None:
    epochs = LeaderEpochs([(1, 0), (3, 10), (4, 12)])
    assert [epochs.start_above(epoch) for epoch in (0, 1, 2, 3, 4)] == [0, 10, 10, 12, None]
