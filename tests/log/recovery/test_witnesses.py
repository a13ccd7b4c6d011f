"""What the files of a log tell about records that are no longer in it."""

from random import Random

import pytest

from barnabas.log import Log, LogConfig
from barnabas.records.decode import iter_batches
from tests.log.batches import put
from tests.log.memory_disk import Crash, MemoryDisk
from tests.log.recovery.test_holes import COUNT, DIRECTORY, filled, opened, segments, value


def is_missed(log: Log) -> bool:
    """Whether the log ended behind where it ends now."""
    return log.recovery is not None and log.recovery.expected_end > log.log_end_offset


def cut_one_batch(disk: MemoryDisk, path: str) -> None:
    *_, (header, _) = iter_batches(bytes(disk.nodes[path].data))
    del disk.nodes[path].data[-header.size :]


@pytest.mark.parametrize("is_listed", [True, False])
def test_the_last_segment_is_missed(is_listed: bool) -> None:
    """It was not closed; `log.state` may have been written since it began."""
    disk = MemoryDisk()
    log = opened(disk)
    for number in range(COUNT):
        put(log, value(number))
    if is_listed:
        job = log.flusher.prepare()
        assert job is not None
        job.run()
        log.flusher.complete(job)
        log.checkpoint()
    log.abandon()
    disk.unlink(segments(disk)[-1])
    assert is_missed(opened(disk))


def test_an_end_that_is_lost_at_a_batch_is_missed() -> None:
    disk = MemoryDisk()
    filled(disk, vouched=False)
    disk.unlink(segments(disk)[-1])
    cut_one_batch(disk, segments(disk)[-1])
    assert is_missed(opened(disk))


def test_an_index_tells_of_batches_that_are_gone() -> None:
    disk = MemoryDisk()
    log = Log.open(disk, DIRECTORY, LogConfig(index_interval_bytes=0), 0)
    for number in range(5):
        put(log, value(number))
    assert log.active is not None
    log.active.spill_indexes()
    log.abandon()
    cut_one_batch(disk, segments(disk)[-1])
    log = opened(disk)
    assert log.recovery is not None
    assert (log.log_end_offset, log.recovery.expected_end) == (4, 5)


def test_an_index_without_its_segment_is_a_witness() -> None:
    disk = MemoryDisk()
    filled(disk, vouched=False)
    last = segments(disk)[-1].removesuffix(".log")
    disk.replace_file(f"{last}.index", bytes(7) + b"\x05")
    for path in [path for path in disk.nodes if path.endswith((".snapshot", "log.state"))]:
        disk.unlink(path)
    disk.unlink(f"{last}.log")
    assert is_missed(opened(disk))


def only_a_snapshot_is_left(disk: MemoryDisk) -> None:
    """The last segment is gone with its indexes, and the one before has lost its last batch."""
    last = segments(disk)[-1].removesuffix(".log")
    for path in [path for path in disk.nodes if path.startswith(last)]:
        if not path.endswith(".snapshot"):
            disk.unlink(path)
    for path in [path for path in disk.nodes if path.endswith("index")]:
        disk.unlink(path)
    cut_one_batch(disk, segments(disk)[-1])


def test_a_snapshot_alone_tells_of_a_lost_end() -> None:
    disk = MemoryDisk()
    filled(disk, vouched=False)
    only_a_snapshot_is_left(disk)
    assert is_missed(opened(disk))


def test_what_a_snapshot_told_is_known_when_it_is_gone() -> None:
    """The first start removes it: what it holds was cut off."""
    disk = MemoryDisk()
    log = opened(disk)
    put(log, value(0))
    log.checkpoint()
    for number in range(1, COUNT):
        put(log, value(number))
    log.abandon()
    only_a_snapshot_is_left(disk)
    for _ in range(3):
        log = opened(disk)
        assert is_missed(log)
        log.abandon()


def test_the_witness_is_heard_until_the_loss_is_known() -> None:
    """The files that told of the loss are gone after the first start."""
    disk = MemoryDisk()
    filled(disk, vouched=False)
    log = opened(disk)
    log.checkpoint()
    log.abandon()
    disk.unlink(segments(disk)[-1])
    cut_one_batch(disk, segments(disk)[-1])
    for _ in range(3):
        log = opened(disk)
        assert is_missed(log)
        log.abandon()
    log = opened(disk)
    log.checkpoint()
    log.truncate_to(1)
    log.abandon()
    log = opened(disk)
    assert is_missed(log)
    log.loss_is_known()
    log.abandon()
    assert not is_missed(opened(disk))


def test_a_loss_that_was_refetched_is_forgotten() -> None:
    disk = MemoryDisk()
    filled(disk, vouched=False)
    disk.unlink(segments(disk)[-1])
    log = opened(disk)
    assert log.recovery is not None
    while log.log_end_offset < log.recovery.expected_end:
        put(log, value(log.log_end_offset))
    log.close()
    assert opened(disk).recovery is None


@pytest.mark.parametrize("seed", range(300))
def test_a_log_that_has_lost_nothing_is_not_doubted(seed: int) -> None:
    """Wherever the process is killed: in a roll, a truncation, a close, a recovery."""
    random = Random(seed)
    disk = MemoryDisk()
    steps = random.randrange(400)

    def step(_: str) -> None:
        nonlocal steps
        steps -= 1
        if steps < 0:
            raise Crash

    config = LogConfig(segment_bytes=500, index_interval_bytes=100)
    for _ in range(3):
        disk.on_step = step
        try:
            log = Log.open(disk, DIRECTORY, config, 0, power_lost=False)
            assert not is_missed(log)
            for _ in range(random.randrange(60)):
                _change(log, random)
            if random.random() < 0.5:
                log.close()
        except Crash:
            steps = random.randrange(400)
        disk.on_step = None
    assert not is_missed(Log.open(disk, DIRECTORY, config, 0, power_lost=False))


def _change(log: Log, random: Random) -> None:
    match random.randrange(14):
        case 5:
            log.truncate_fully_and_start_at(random.randint(0, log.log_end_offset + 5))
        case 0:
            start, end = log.log_start_offset, log.log_end_offset
            log.truncate_to(random.randint(start, end))
        case 1:
            job = log.flusher.prepare()
            if job is not None:
                job.run()
                log.flusher.complete(job)
        case 2:
            log.checkpoint()
        case 3:
            assert log.active is None or log.active.spill_indexes()
        case 4:
            deletion = log.retention.delete_records_before(
                random.randint(log.log_start_offset, log.log_end_offset)
            )
            if deletion is not None:
                deletion.run()
        case _:
            put(log, value(log.log_end_offset))
