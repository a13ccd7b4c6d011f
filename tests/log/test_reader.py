"""The reader of a log: bounds, lost ranges, hints."""

import pytest

from barnabas.log import Log, LogConfig, OffsetOutOfRange, RecordsLost
from barnabas.log.local_log import LocalLog
from barnabas.log.lost_ranges import LostRange
from barnabas.log.reader import LogReader
from barnabas.records.decode import decode_records
from tests.log.batches import put
from tests.log.memory_disk import MemoryDisk
from tests.log.parts import CONFIG, DIRECTORY, local_log

COUNT = 9
SKIPPING = LogConfig(segment_bytes=400, index_interval_bytes=100, skip_lost_records=True)


def filled(config: LogConfig = CONFIG) -> LocalLog:
    disk = MemoryDisk()
    log = Log.open(disk, DIRECTORY, CONFIG, 0)
    for number in range(COUNT):
        put(log, b"%d" % number * 20, timestamp=1000 + number)
    log.close()
    return local_log(disk, config)


def offsets(data: memoryview) -> list[int]:
    return [record.offset for record in decode_records(data)]


def test_a_read_stays_within_the_log_and_its_bound() -> None:
    log = filled()
    reader = LogReader(log)
    assert offsets(reader.read(0, 1 << 20, upto_offset=2)) == [0, 1]
    assert not reader.read(COUNT, 1000)
    assert not reader.read(3, 1000, upto_offset=3)
    for offset in (-1, COUNT + 1):
        with pytest.raises(OffsetOutOfRange):
            reader.read(offset, 1000)
    log.log_start_offset = 4
    with pytest.raises(OffsetOutOfRange):
        reader.read(3, 1000)


def test_a_new_log_has_nothing_to_read() -> None:
    log = local_log(MemoryDisk())
    reader = LogReader(log)
    reader.expect_read_at_end()
    assert not reader.read(0, 1000)
    assert reader.offset_of_max_timestamp() is None


def test_a_read_ends_before_lost_records_and_fails_there() -> None:
    log = filled()
    log.lost_ranges.add(LostRange(2, 4, "rot"))
    reader = LogReader(log)
    assert offsets(reader.read(0, 1 << 20)) == [0, 1]
    for offset in (2, 3):
        with pytest.raises(RecordsLost, match="offsets 2 to 3"):
            reader.read(offset, 1000)
    assert offsets(reader.read(4, 1))[0] == 4


def test_lost_records_are_skipped_by_a_setting_unless_nothing_follows() -> None:
    log = filled(SKIPPING)
    log.lost_ranges.add(LostRange(2, 4, "rot"))
    log.lost_ranges.add(LostRange(COUNT - 1, COUNT, "rot"))
    reader = LogReader(log)
    assert offsets(reader.read(2, 1))[0] == 4
    with pytest.raises(RecordsLost):
        reader.read(COUNT - 1, 1)
    with pytest.raises(RecordsLost):
        reader.read(2, 1, upto_offset=4)


def test_offsets_by_timestamp() -> None:
    reader = LogReader(filled())
    found = reader.offset_for_timestamp(1004)
    assert found is not None
    assert (found.offset, found.timestamp) == (4, 1004)
    assert reader.offset_for_timestamp(2000) is None
    newest = reader.offset_of_max_timestamp()
    assert newest is not None
    assert newest.offset == COUNT - 1


def test_bytes_between_are_those_of_the_batches() -> None:
    log = filled()
    reader = LogReader(log)
    assert reader.bytes_between(0, COUNT) == log.size_bytes
    assert reader.bytes_between(1, 2) == len(reader.read(1, 1))
