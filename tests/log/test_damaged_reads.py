"""No damaged batch is handed to a reader: a clean stop trusts segments without a look into them."""

from collections.abc import Callable

import pytest

from barnabas.log import BatchDamaged, Log, LogConfig
from barnabas.records.decode import iter_batches
from tests.log.batches import put, readable
from tests.log.memory_disk import MemoryDisk
from tests.log.recovery.test_holes import CONFIG, COUNT, filled, opened, segments, value

Data = bytearray
EPOCH_AT = 12
LAST_OFFSET_DELTA_AT = 23


def second_batch(data: Data) -> int:
    return next(iter_batches(bytes(data)))[0].size


def zeros(data: Data) -> None:
    data[:] = bytes(len(data))


def payload(data: Data) -> None:
    data[second_batch(data) + 80] ^= 1


def offset_up(data: Data) -> None:
    data[second_batch(data) + 7] ^= 0x40


def offset_down(data: Data) -> None:
    data[second_batch(data) + 7] = 0


def length(data: Data) -> None:
    data[second_batch(data) + 11] ^= 0x10


def epoch(data: Data) -> None:
    data[second_batch(data) + EPOCH_AT + 3] ^= 2


DAMAGES = [zeros, payload, offset_up, offset_down, length, epoch]


def damaged(damage: Callable[[Data], None], config: LogConfig = CONFIG) -> Log:
    """A log that was closed, with damage in its second segment that its size does not show."""
    disk = MemoryDisk()
    filled(disk, vouched=True)
    damage(disk.nodes[segments(disk)[1]].data)
    log = opened(disk, config=config)
    assert log.recovery is None, "nothing was scanned"
    return log


def read_upto_damage(log: Log, max_bytes: int) -> dict[int, bytes]:
    """What a consumer gets before the damage; an endless loop would be no progress."""
    found: dict[int, bytes] = {}
    offset = log.log_start_offset
    while offset < log.log_end_offset:
        data = log.read(offset, max_bytes)
        assert data, f"nothing at {offset}, and no error"
        for header, batch in iter_batches(data):
            assert header.base_offset <= offset < header.next_offset, "records are skipped"
            found[offset] = bytes(batch)
            offset = header.next_offset
    return found


@pytest.mark.parametrize("max_bytes", [1, 400, 1 << 20])
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_batch_is_never_read(damage: Callable[[Data], None], max_bytes: int) -> None:
    log = damaged(damage)
    for _ in range(2):
        with pytest.raises(BatchDamaged):
            read_upto_damage(log, max_bytes)


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_reader_in_the_middle_of_the_segment_is_refused(damage: Callable[[Data], None]) -> None:
    log = damaged(damage)
    start = log.segments[1].base_offset + 1
    with pytest.raises(BatchDamaged):
        log.read(start, 1 << 20)


@pytest.mark.parametrize("damage", DAMAGES)
def test_the_scrubber_finds_the_same(damage: Callable[[Data], None]) -> None:
    log = damaged(damage)
    job = log.scrub.job(log.segments[1].base_offset)
    assert job is not None
    while job.step(1 << 20):
        pass
    assert job.rot is not None or job.garbled
    if job.rot is not None:
        assert job.rot.end <= log.segments[1].next_offset


def test_a_compacted_log_may_have_gaps() -> None:
    config = LogConfig(
        segment_bytes=500, index_interval_bytes=100, cleanup_policy=frozenset({"compact"})
    )
    log = damaged(offset_up, config)
    with pytest.raises(BatchDamaged):
        log.read(log.segments[1].base_offset, 1 << 20)


def test_a_whole_log_is_checked_once() -> None:
    disk = MemoryDisk()
    filled(disk, vouched=True)
    log = opened(disk)
    assert any(segment.unchecked_upto for segment in log.segments)
    assert readable(log) == {offset: value(offset) for offset in range(COUNT)}
    assert not any(segment.unchecked_upto for segment in log.segments)
    put(log, b"new")
    assert log.read(COUNT, 1 << 20)


def last_offset_delta(data: Data) -> None:
    data[second_batch(data) + LAST_OFFSET_DELTA_AT] ^= 0x80


def test_a_batch_that_seems_to_end_before_it_starts_is_cut_off_too() -> None:
    """Otherwise the log would end at a negative offset, and lose all that is before the damage."""
    log = damaged(last_offset_delta)
    segment = log.segments[1]
    first = next(iter_batches(log.read(segment.base_offset, 1)))[0]
    log.truncate_to(first.next_offset)
    assert log.log_end_offset == first.next_offset
