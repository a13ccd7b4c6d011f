"""A log on a real file system, example by example."""

from pathlib import Path

import pytest

from barnabas.log import Log, LogConfig, OffsetOutOfRange, OpenFiles, OsDisk, StorageError
from barnabas.records.batch import parse_header
from barnabas.records.compression import Compression
from barnabas.records.decode import decode_records
from tests.log.batches import batch, put, read_all, values

SMALL = LogConfig(segment_bytes=400, index_interval_bytes=100)


@pytest.fixture
def directory(tmp_path: Path) -> str:
    return f"{tmp_path}/t-0"


def open_log(directory: str, config: LogConfig = SMALL, now: int = 0) -> Log:
    return Log.open(OsDisk(), directory, config, now)


def test_a_new_log_makes_no_file_before_the_first_append(directory: str) -> None:
    log = open_log(directory)
    assert log.log_start_offset == log.log_end_offset == log.flushed_offset == 0
    assert not log.read(0, 100)
    assert list(Path(directory).iterdir()) == []
    log.close()
    assert list(Path(directory).iterdir()) == []


def test_append_patches_the_buffer_and_stores_it_as_it_is(directory: str) -> None:
    log = open_log(directory)
    put(log, b"a", b"b")
    buffer, batches = batch([(5, None, b"c")])
    info = log.append(buffer, batches, 3, 0)
    assert info == (2, 2, -1, 0)
    header = parse_header(buffer)
    assert (header.base_offset, header.partition_leader_epoch) == (2, 3)
    assert log.read(2, 1000) == buffer
    assert Path(f"{directory}/{0:020d}.log").read_bytes().endswith(buffer)


def test_one_append_of_several_batches(directory: str) -> None:
    log = open_log(directory, LogConfig())
    first, [(_, first_header)] = batch([(1, None, b"a"), (2, None, b"b")])
    second, [(_, second_header)] = batch([(9, None, b"c")])
    buffer = memoryview(bytearray(bytes(first) + bytes(second)))
    info = log.append(buffer, [(0, first_header), (len(first), second_header)], 0, 0)
    assert (info.base_offset, info.last_offset) == (0, 2)
    assert [(r.offset, r.value) for r in read_all(log)] == [(0, b"a"), (1, b"b"), (2, b"c")]
    assert [r.value for r in decode_records(log.read(2, 1))] == [b"c"]


def test_log_append_time_is_stamped_and_the_crc_stays_right(directory: str) -> None:
    log = open_log(directory, LogConfig(message_timestamp_type="LogAppendTime"))
    buffer, batches = batch([(1, None, b"a"), (2, None, b"b")], compression=Compression.ZSTD)
    info = log.append(buffer, batches, 0, 77)
    assert info.log_append_time_ms == 77
    assert [record.timestamp for record in read_all(log)] == [77, 77]
    assert log.reader.offset_for_timestamp(77) == (0, 77, 0)
    assert log.reader.offset_for_timestamp(78) is None


def test_rolls_by_size_and_reads_across_segments(directory: str) -> None:
    log = open_log(directory)
    for number in range(20):
        put(log, b"%d" % number * 50)
    assert len(log.segment_infos()) > 5
    assert all(segment.size_bytes <= 400 for segment in log.segment_infos())
    assert values(log) == [b"%d" % number * 50 for number in range(20)]
    assert log.size_bytes == sum(path.stat().st_size for path in Path(directory).glob("*.log"))
    assert log.reader.bytes_between(0, 20) == log.size_bytes
    assert log.reader.bytes_between(19, 20) == len(log.read(19, 1))
    assert log.reader.bytes_between(20, 20) == 0


def test_a_batch_larger_than_a_segment_gets_its_own(directory: str) -> None:
    log = open_log(directory)
    put(log, b"small")
    put(log, b"x" * 1000)
    put(log, b"small")
    assert [segment.base_offset for segment in log.segment_infos()] == [0, 1, 2]
    assert values(log) == [b"small", b"x" * 1000, b"small"]


def test_rolls_by_age_of_records(directory: str) -> None:
    log = open_log(directory, LogConfig(segment_ms=1000))
    put(log, b"a", timestamp=5000)
    put(log, b"b", timestamp=6000)
    assert len(log.segment_infos()) == 1
    put(log, b"c", timestamp=6001)
    assert len(log.segment_infos()) == 2


def test_rolls_by_the_clock_when_records_have_no_timestamps(directory: str) -> None:
    log = open_log(directory, LogConfig(segment_ms=1000))
    put(log, b"a", timestamp=-1, now=10)
    put(log, b"b", timestamp=-1, now=1010)
    assert len(log.segment_infos()) == 1
    put(log, b"c", timestamp=-1, now=1011)
    assert len(log.segment_infos()) == 2


def test_rolls_by_append_time_when_that_is_what_is_stored(directory: str) -> None:
    log = open_log(directory, LogConfig(segment_ms=1000, message_timestamp_type="LogAppendTime"))
    put(log, b"a", timestamp=5, now=10_000)
    put(log, b"b", timestamp=5, now=11_000)
    assert len(log.segment_infos()) == 1
    put(log, b"c", timestamp=5, now=11_001)
    assert len(log.segment_infos()) == 2


def test_read_limits(directory: str) -> None:
    log = open_log(directory, LogConfig(index_interval_bytes=100))
    for number in range(10):
        put(log, bytes([number]) * 30)
    size = len(log.read(0, 1))
    assert len(log.read(0, size * 3)) == size * 3
    assert len(log.read(0, size * 4 - 1)) == size * 3
    assert len(log.read(0, size - 1)) == size
    assert not log.read(0, size - 1, min_one=False)
    assert not log.read(0, 0, min_one=False)
    assert len(log.read(0, 1 << 20, upto_offset=4)) == size * 4
    assert len(log.read(3, 1 << 20, upto_offset=4)) == size
    assert not log.read(4, 1 << 20, upto_offset=4)
    assert not log.read(10, 1 << 20)
    for offset in (-1, 11):
        with pytest.raises(OffsetOutOfRange):
            log.read(offset, 1)


def test_long_reads_stop_at_whole_batches_wherever_they_begin(directory: str) -> None:
    log = open_log(directory, LogConfig(index_interval_bytes=300))
    stored = []
    for number in range(200):
        buffer, batches = batch([(1, None, b"%d" % number * (number % 17))])
        log.append(buffer, batches, 0, 0)
        stored.append(bytes(buffer))
    for start in range(0, 200, 7):
        for max_bytes in (1500, 4000, 20_000):
            expected = b""
            for data in stored[start:]:
                if len(expected) + len(data) > max_bytes:
                    break
                expected += data
            assert log.read(start, max_bytes) == expected


def test_a_clean_stop_needs_no_scan_and_loses_nothing(directory: str) -> None:
    log = open_log(directory)
    for number in range(30):
        put(log, b"%d" % number * 20, timestamp=number, epoch=number // 10)
    expected = read_all(log), log.segment_infos(), log.size_bytes
    log.close()
    log = open_log(directory)
    assert log.recovery is None
    assert (read_all(log), log.segment_infos(), log.size_bytes) == expected
    assert log.flushed_offset == log.log_end_offset == 30
    assert log.reader.offset_for_timestamp(17) == (17, 17, 1)
    assert [log.end_offset_for_epoch(epoch) for epoch in (0, 1, 2, 3)] == [
        (0, 10),
        (1, 20),
        (2, 30),
        (-1, -1),
    ]
    put(log, b"more", epoch=2)
    assert log.log_end_offset == 31


def test_a_clean_stop_right_after_a_checkpoint(directory: str) -> None:
    log = open_log(directory, LogConfig(index_interval_bytes=50))
    for number in range(10):
        put(log, b"%d" % number * 20)
    job = log.flusher.prepare(everything=True)
    assert job is not None
    job.run()
    log.flusher.complete(job)
    log.checkpoint()
    log.close()
    assert open_log(directory).recovery is None


def test_a_clean_stop_right_after_segments_were_deleted(directory: str) -> None:
    log = open_log(directory, LogConfig(segment_bytes=400, index_interval_bytes=50))
    for number in range(5):
        put(log, b"%d" % number * 50)
    assert len(log.segment_infos()) == 2
    job = log.flusher.prepare(everything=True)
    assert job is not None
    job.run()
    log.flusher.complete(job)
    assert log.retention.delete_records_before(log.segment_infos()[-1].base_offset) is not None
    log.close()
    assert open_log(directory).recovery is None


def test_an_unchanged_log_writes_no_state(directory: str) -> None:
    log = open_log(directory)
    put(log, b"a")
    log.close()
    state = Path(directory, "log.state")
    written = state.stat().st_mtime_ns, state.stat().st_ino
    log = open_log(directory)
    assert log.read(0, 100)
    log.checkpoint()
    log.close()
    assert (state.stat().st_mtime_ns, state.stat().st_ino) == written


def test_many_logs_share_few_descriptors(tmp_path: Path) -> None:
    disk = OsDisk()
    files = OpenFiles(disk, limit=5)
    logs = [Log.open(disk, f"{tmp_path}/t-{n}", SMALL, 0, files=files) for n in range(30)]
    for round_number in range(3):
        for number, log in enumerate(logs):
            put(log, b"%d:%d" % (number, round_number))
            assert files.count == min(round_number * 30 + number + 1, 5)
    for number, log in enumerate(logs):
        assert values(log) == [b"%d:%d" % (number, n) for n in range(3)]
        log.close()
    assert files.count == 0


def test_timestamp_lookup_is_exact_to_the_record(directory: str) -> None:
    log = open_log(directory, LogConfig(index_interval_bytes=50))
    rows = [[10, 30, 20], [25, 5], [40, 35, 60], [50]]
    for timestamps in rows:
        codec = Compression.GZIP if len(timestamps) == 2 else Compression.NONE
        log.append(*batch([(t, None, b"x" * 30) for t in timestamps], compression=codec), 0, 0)
    flat = [timestamp for timestamps in rows for timestamp in timestamps]
    for wanted in range(70):
        expected = next(((o, t, 0) for o, t in enumerate(flat) if t >= wanted), None)
        assert log.reader.offset_for_timestamp(wanted) == expected
    assert log.reader.offset_of_max_timestamp() == (7, 60, 0)


def test_max_timestamp_of_an_empty_log(directory: str) -> None:
    assert open_log(directory).reader.offset_of_max_timestamp() is None


def test_a_closed_log_takes_no_more(directory: str) -> None:
    """Its state says where it ended: what came later would not be known at the next start."""
    log = open_log(directory)
    put(log, b"a")
    log.close()
    with pytest.raises(StorageError, match="is closed"):
        put(log, b"b")
