"""Opening whatever a crash, or worse, has left."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.log import File, Log, LogConfig
from barnabas.log.storage import OsDisk
from tests.log.batches import batch, put, read_all, readable, values
from tests.log.compaction.compacting import compacted
from tests.log.memory_disk import MemoryDisk
from tests.support.tier import examples

CONFIG = LogConfig(segment_bytes=500, index_interval_bytes=100)
DIRECTORY = "data/t-0"


def filled(disk: MemoryDisk, count: int = 12) -> list[bytes | None]:
    """A log of several segments, abandoned as by kill -9."""
    log = Log.open(disk, DIRECTORY, CONFIG, 0)
    for number in range(count):
        put(log, b"%04d" % number * 20, timestamp=number)
    stored = values(log)
    log.abandon()
    return stored


def reopened(disk: MemoryDisk) -> Log:
    return Log.open(disk, DIRECTORY, CONFIG, 0)


def logs(disk: MemoryDisk) -> list[str]:
    return sorted(path for path in disk.nodes if path.endswith(".log"))


def test_kill_loses_nothing() -> None:
    disk = MemoryDisk()
    stored = filled(disk)
    log = reopened(disk)
    assert values(log) == stored
    assert log.recovery is not None
    assert log.recovery.cut_bytes == 0
    assert log.flushed_offset == 0


@given(cut=st.integers(0, 500), garbage=st.binary(max_size=200), number=st.integers(0, 3))
@settings(max_examples=examples(150))
def test_torn_anywhere_leaves_the_batches_before(cut: int, garbage: bytes, number: int) -> None:
    disk = MemoryDisk()
    stored = filled(disk)
    path = logs(disk)[number % len(logs(disk))]
    node = disk.nodes[path]
    del node.data[min(cut, len(node.data)) :]
    node.data += garbage
    log = reopened(disk)
    kept = [record.value for record in read_all(log)]
    base = int(path.rpartition("/")[2][:20])
    assert kept == [value for value in stored if value in kept], "nothing invented, in order"
    assert kept == stored[: len(kept)], "no hole"
    assert kept[:base] == stored[:base]
    put(log, b"more")
    assert values(log)[-1] == b"more"
    log.close()
    log = reopened(disk)
    assert log.recovery is None
    assert values(log)[:-1] == kept


@pytest.mark.parametrize("tail", [b"\0" * 4096, b"\0", b"\xff" * 100, b"\0" * 8 + b"\x7f" * 80])
def test_tails_that_are_no_batches_are_cut(tail: bytes) -> None:
    disk = MemoryDisk()
    stored = filled(disk)
    node = disk.nodes[logs(disk)[-1]]
    size = len(node.data)
    node.data += tail
    log = reopened(disk)
    assert values(log) == stored
    assert len(node.data) == size
    assert log.recovery is not None
    assert log.recovery.cut_bytes == len(tail)
    assert log.recovery.flaw


def test_a_flipped_bit_in_the_middle_cuts_there_and_drops_later_segments() -> None:
    disk = MemoryDisk()
    stored = filled(disk)
    node = disk.nodes[logs(disk)[1]]
    base = int(logs(disk)[1].rpartition("/")[2][:20])
    node.data[-1] ^= 1
    log = reopened(disk)
    kept = values(log)
    assert base <= len(kept) < len(stored)
    assert kept == stored[: len(kept)]
    assert log.recovery is not None
    assert log.recovery.dropped_segments == 2
    assert "CRC" in log.recovery.flaw
    assert len(logs(disk)) == 2


def test_only_what_was_not_synced_is_scanned() -> None:
    disk = MemoryDisk()
    filled(disk)
    log = reopened(disk)
    job = log.flusher.prepare()
    assert job is not None
    job.run()
    log.flusher.complete(job)
    log.checkpoint()
    active_size = log.segment_infos()[-1].size_bytes
    log.abandon()
    # A flipped bit in a synced segment is not looked for: proof that it was not scanned.
    disk.nodes[logs(disk)[0]].data[-1] ^= 1
    log = reopened(disk)
    assert log.recovery is not None
    assert log.recovery.scanned_bytes == active_size
    assert log.log_end_offset == 12


def test_a_damaged_old_segment_does_not_take_synced_ones_with_it() -> None:
    disk = MemoryDisk()
    stored = filled(disk)
    reopened(disk).close()
    node = disk.nodes[logs(disk)[1]]
    lost = len(node.data) // 100
    del node.data[-50:]
    log = reopened(disk)
    kept = readable(log)
    assert len(stored) - lost <= len(kept) < len(stored)
    assert kept == {offset: stored[offset] for offset in kept}
    assert 11 in kept
    assert log.log_end_offset == 12


@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
@pytest.mark.parametrize("damage", ["missing", "half", "longer", "noise", "zeros", "shifted"])
def test_damaged_indexes_change_no_answer(suffix: str, damage: str) -> None:
    disk = MemoryDisk()
    config = LogConfig(segment_bytes=3000, index_interval_bytes=100)
    log = Log.open(disk, DIRECTORY, config, 0)
    for number in range(60):
        put(log, b"%04d" % number * 20, timestamp=number)
    expected = [bytes(log.read(offset, size)) for offset in range(0, 60, 6) for size in (1, 2000)]
    expected_times = [log.reader.offset_for_timestamp(time) for time in range(65)]
    log.close()
    for path in [path for path in disk.nodes if path.endswith(suffix)]:
        data = disk.nodes[path].data
        assert data, "there is an index to be damaged"
        match damage:
            case "missing":
                del disk.nodes[path]
            case "half":
                del data[len(data) // 2 - 3 :]
            case "longer":
                data += b"\x01" * 24
            case "noise":
                data[:] = bytes((7 * number + 3) % 256 for number in range(len(data)))
            case "zeros":
                data[:] = bytes(len(data))
            case "shifted":
                size = 8 if suffix == ".index" else 12
                for at in range(size - 1, len(data), size):
                    data[at] ^= 1  # the last bit of a position, or of an offset
    log = Log.open(disk, DIRECTORY, config, 0)
    for number, answer in enumerate(expected):
        # Each question to a fresh log: an index that was once rejected is rebuilt.
        log = Log.open(disk, DIRECTORY, config, 0)
        assert bytes(log.read(number // 2 * 6, (1, 2000)[number % 2])) == answer
        log.abandon()
    assert [log.reader.offset_for_timestamp(time) for time in range(65)] == expected_times


def test_leftovers_are_cleared_away() -> None:
    disk = MemoryDisk()
    stored = filled(disk)
    leftovers = [
        f"{DIRECTORY}/{0:020d}.log.deleted",
        f"{DIRECTORY}/{0:020d}.log.cleaned",
        f"{DIRECTORY}/{0:020d}.index.cleaned",
        f"{DIRECTORY}/log.state.tmp",
        f"{DIRECTORY}/{999:020d}.index",
        f"{DIRECTORY}/{999:020d}.timeindex",
        f"{DIRECTORY}/{999:020d}.snapshot",
    ]
    for path in leftovers:
        disk.open(path, create=True).write(b"garbage", 0)
    disk.open(f"{DIRECTORY}/notes.log", create=True).write(b"not ours", 0)
    assert values(reopened(disk)) == stored
    assert not [path for path in leftovers if disk.exists(path)]
    assert disk.exists(f"{DIRECTORY}/notes.log")


def test_an_epoch_without_a_record_ends_with_the_process() -> None:
    """A rebuilt cluster takes the replica with the latest epoch: that has to be one of records."""
    disk = MemoryDisk()
    log = Log.open(disk, DIRECTORY, CONFIG, 0)
    put(log, b"a", epoch=1)
    log.appender.begin_epoch(2)
    assert log.latest_epoch == 2
    log.close()
    log = reopened(disk)
    assert log.recovery is None, "the epochs are those of the state"
    assert log.epochs.entries() == [(1, 0)]


def test_an_empty_segment_file_keeps_the_end_offset() -> None:
    disk = MemoryDisk()
    disk.make_directory(DIRECTORY)
    disk.open(f"{DIRECTORY}/{42:020d}.log", create=True)
    disk.open(f"{DIRECTORY}/{42:020d}.start", create=True)
    log = reopened(disk)
    assert (log.log_start_offset, log.log_end_offset) == (42, 42)
    assert put(log, b"a").base_offset == 42


@given(
    names=st.lists(
        st.sampled_from(
            [
                f"{number:020d}{suffix}"
                for number in (0, 5, 10)
                for suffix in (".log", ".index", ".timeindex", ".snapshot", ".log.cleaned")
            ]
            + ["log.state", "x", ".log", "99999999999999999999.log"]
        ),
        unique=True,
    ),
    contents=st.lists(st.binary(max_size=150), min_size=20, max_size=20),
)
@settings(max_examples=examples(100))
def test_no_garbage_breaks_an_opening(names: list[str], contents: list[bytes]) -> None:
    disk = MemoryDisk()
    disk.make_directory(DIRECTORY)
    for name, content in zip(names, contents, strict=False):
        disk.open(f"{DIRECTORY}/{name}", create=True).write(content, 0)
    log = reopened(disk)
    end = log.log_end_offset
    assert log.size_bytes == 0
    if end < 2**62:
        assert put(log, b"a").base_offset == end


def test_state_of_another_shape_is_ignored() -> None:
    for content in (b"", b"{", b"[]", b"null", b'{"version":1}', b'{"version":2}', b"\xff\xfe"):
        disk = MemoryDisk()
        stored = filled(disk)
        disk.replace_file(f"{DIRECTORY}/log.state", content)
        assert values(reopened(disk)) == stored


def test_a_directory_that_can_not_be_read_is_a_storage_error(tmp_path: Path) -> None:
    from barnabas.log import StorageError

    (tmp_path / "t-0").write_text("a file, no directory")
    with pytest.raises(StorageError):
        Log.open(OsDisk(), f"{tmp_path}/t-0", CONFIG, 0)


def test_compressed_and_multi_record_batches_survive() -> None:
    disk = MemoryDisk()
    log = reopened(disk)
    log.append(*batch([(n, b"k", b"v" * n) for n in range(30)]), 4, 0)
    log.append(*batch([(n, b"k", b"v" * n) for n in range(30)]), 7, 0)
    log.abandon()
    log = reopened(disk)
    assert len(read_all(log)) == 60
    assert log.latest_epoch == 7
    assert log.end_offset_for_epoch(4) == (4, 30)
    assert log.end_offset_for_epoch(6) == (4, 30)
    assert log.end_offset_for_epoch(2) == (2, 0)


def test_a_segment_that_was_cut_and_grew_back_to_its_size_is_scanned() -> None:
    disk = MemoryDisk()
    filled(disk, 3)
    reopened(disk).close()
    log = reopened(disk)
    log.truncate_to(2)
    put(log, b"other" * 16)
    log.abandon()
    log = reopened(disk)
    assert log.recovery is not None
    assert values(log)[2] == b"other" * 16


@pytest.mark.parametrize("gone", [[0], [1], [2], [3], [1, 2], [0, 1, 2, 3]])
def test_segments_that_are_gone_are_told_from_retention(gone: list[int]) -> None:
    """Retention marks the log's start."""
    disk = MemoryDisk()
    filled(disk)
    reopened(disk).close()
    paths = logs(disk)
    assert len(paths) == 4
    for number in gone:
        del disk.nodes[paths[number]]
    log = reopened(disk)
    assert log.recovery is not None
    lost = [name for name in log.recovery.lost.split(", ") if name.endswith("bytes)")]
    assert len(lost) == len(gone)
    for number in gone:
        assert paths[number].rpartition("/")[2] in log.recovery.lost
    log.checkpoint()
    again = reopened(disk)
    assert list(again.lost_ranges) == list(log.lost_ranges), "until the loss is accepted"
    is_whole = not again.lost_ranges and not again.expected_end
    assert (again.recovery is None) == is_whole


def test_the_state_does_not_vouch_for_what_a_compaction_replaces() -> None:
    """A crash before the next checkpoint: the new segment has the size of the old one."""
    disk = MemoryDisk()
    config = LogConfig(segment_bytes=300, cleanup_policy=frozenset({"compact"}))
    log = Log.open(disk, DIRECTORY, config, 0)
    for number in range(12):
        log.append(*batch([(number, b"%d" % (number % 2), b"%04d" % number * 20)]), 0, 0)
    log.flusher.flush()
    log.checkpoint()
    before = len(logs(disk))
    assert compacted(log, disk, 0)
    assert len(logs(disk)) < before
    assert [record.offset for record in read_all(log)] == [9, 10, 11]
    log.abandon()
    log = Log.open(disk, DIRECTORY, config, 0)
    assert log.recovery is not None
    assert log.recovery.lost == ""
    for offset in range(10):
        assert [record.offset for record in read_all(log, offset)] == [9, 10, 11]


def test_a_log_that_was_closed_well_is_opened_without_a_look_into_its_files() -> None:
    """A broker opens thousands of them before it is ready."""

    class Counting(MemoryDisk):
        opened = 0

        def open(self, path: str, *, create: bool = False) -> File:
            self.opened += 1
            return super().open(path, create=create)

    disk = Counting()
    stored = filled(disk)
    reopened(disk).close()
    disk.opened = 0
    disk.on_step = lambda name: pytest.fail(f"{name} changes the disk")
    log = reopened(disk)
    assert disk.opened == 0
    assert log.log_end_offset == len(stored)
