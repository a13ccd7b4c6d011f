"""A disk that refuses: nothing of a failed append is there, and everything before it is."""

import errno
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.log import Log, LogConfig, StorageError
from tests.log.batches import batch, put, values
from tests.log.memory_disk import MemoryDisk
from tests.support.tier import examples

CONFIG = LogConfig(segment_bytes=500, index_interval_bytes=100)
DIRECTORY = "data/t-0"


@given(capacity=st.integers(0, 3000), sizes=st.lists(st.integers(0, 300), min_size=1, max_size=30))
@settings(max_examples=examples(150))
def test_a_full_disk_takes_nothing_or_all(capacity: int, sizes: list[int]) -> None:
    disk = MemoryDisk()
    disk.capacity = capacity
    log = Log.open(disk, DIRECTORY, CONFIG, 0)
    stored: list[bytes | None] = []
    for size in sizes:
        end = log.log_end_offset
        value = b"%d" % len(stored) * size
        header = batch([(1, None, value)], producer_id=1, producer_epoch=0, base_sequence=end)
        try:
            log.append(*header, 0, 0)
        except StorageError:
            assert log.log_end_offset == end
            assert log.producer_state.find_duplicate(header[1][0][1]) is None
        else:
            stored.append(value)
        assert values(log) == stored
    disk.capacity = 1 << 30
    put(log, b"room again")
    assert values(log) == [*stored, b"room again"]
    log.abandon()
    log = Log.open(disk, DIRECTORY, CONFIG, 0)
    assert values(log) == [*stored, b"room again"]


def test_until_the_torn_end_is_cut_off_nothing_is_appended() -> None:
    disk = MemoryDisk()
    log = Log.open(disk, DIRECTORY, LogConfig(), 0)
    put(log, b"first")
    disk.capacity = disk.used() + 30

    def fail(name: str) -> None:
        if name == "truncate":
            raise OSError(errno.EIO, "Input/output error")

    disk.on_step = fail
    with pytest.raises(StorageError, match="No space"):
        put(log, b"second" * 100)
    disk.capacity = 1 << 30
    with pytest.raises(StorageError, match="torn"):
        put(log, b"third")
    assert values(log) == [b"first"]
    with pytest.raises(StorageError, match="torn"):
        log.close()
    disk.on_step = None
    put(log, b"fourth")
    assert values(log) == [b"first", b"fourth"]
    log.close()
    assert values(Log.open(disk, DIRECTORY, LogConfig(), 0)) == [b"first", b"fourth"]


def test_closing_on_a_full_disk_raises_and_the_next_open_scans() -> None:
    disk = MemoryDisk()
    log = Log.open(disk, DIRECTORY, CONFIG, 0)
    for number in range(10):
        put(log, b"%d" % number * 100)
    disk.capacity = disk.used()
    with pytest.raises(StorageError):
        log.close()
    assert disk.open_files == 0
    log = Log.open(disk, DIRECTORY, CONFIG, 0)
    assert log.recovery is not None
    assert values(log) == [b"%d" % number * 100 for number in range(10)]


def test_a_real_file_size_limit(tmp_path: Path) -> None:
    """The system cuts a write short and then refuses: what RLIMIT_FSIZE does, and a full disk."""
    script = """
        import resource, signal, sys
        from barnabas.log import Log, LogConfig, OsDisk, StorageError
        from tests.log.batches import put, values

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, resource.RLIM_INFINITY))
        log = Log.open(OsDisk(), sys.argv[1], LogConfig(), 0)
        count = 0
        try:
            while True:
                put(log, b"x" * 900)
                count += 1
        except StorageError as error:
            print(error)
        assert count == 10, count
        assert values(log) == [b"x" * 900] * 10
        assert log.size_bytes == sum(len(log.read(n, 1)) for n in range(10))
        put(log, b"small")
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
        put(log, b"y" * 900)
        assert values(log) == [b"x" * 900] * 10 + [b"small", b"y" * 900]
        log.close()
    """
    path = f"{tmp_path}/t-0"
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), path],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "File too large" in done.stdout
