"""A retried batch is known, whatever happened since the original."""

from collections.abc import Iterable
from dataclasses import replace
from heapq import nsmallest

import pytest

from barnabas.log import AppendInfo, Log, LogConfig
from barnabas.log.producers import table as producer_table
from barnabas.log.producers.snapshot import decode_producers, encode_producers
from barnabas.log.producers.table import ProducerTable
from barnabas.log.producers.transactions import EndMarker
from barnabas.records.batch import BatchHeader
from barnabas.wire.errors import ErrorCode
from tests.log.batches import batch, put
from tests.log.memory_disk import MemoryDisk

DIRECTORY = "data/t-0"
CONFIG = LogConfig(segment_bytes=300, retention_ms=1000, producer_id_expiration_ms=5000)


def send(
    log: Log, sequence: int, *, producer_id: int = 1, epoch: int = 0, count: int = 2, now: int = 0
) -> AppendInfo:
    """What a broker does with a produced batch."""
    buffer, batches = made(sequence, producer_id=producer_id, epoch=epoch, count=count)
    return log.producer_state.find_duplicate(batches[0][1]) or log.append(buffer, batches, 0, now)


def made(
    sequence: int, *, producer_id: int = 1, epoch: int = 0, count: int = 2
) -> tuple[memoryview, list[tuple[int, BatchHeader]]]:
    return batch(
        [(10, None, b"v" * 10)] * count,
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
    )


def opened(disk: MemoryDisk, config: LogConfig = CONFIG, now: int = 0) -> Log:
    return Log.open(disk, DIRECTORY, config, now)


def test_the_last_five_batches_are_known() -> None:
    log = opened(MemoryDisk())
    originals = [send(log, sequence) for sequence in range(0, 14, 2)]
    end = log.log_end_offset
    for number in range(2, 7):
        assert send(log, number * 2) == originals[number]
    assert log.log_end_offset == end
    assert log.producer_state.find_duplicate(made(2)[1][0][1]) is None, "too long ago"


def test_what_is_no_duplicate() -> None:
    log = opened(MemoryDisk())
    send(log, 0)
    for other in (made(0, producer_id=2), made(0, epoch=1), made(0, count=3), made(2)):
        assert log.producer_state.find_duplicate(other[1][0][1]) is None
    send(log, 0, epoch=1)
    assert log.producer_state.find_duplicate(made(0)[1][0][1]) is None, (
        "an older epoch's batches are forgotten"
    )
    put(log, b"no producer")
    assert log.producer_state.find_duplicate(batch([(1, None, b"x")])[1][0][1]) is None


def test_what_is_out_of_sequence() -> None:
    def error(sequence: int, **how: int) -> ErrorCode:
        return log.producer_state.sequence_error(made(sequence, **how)[1][0][1])

    log = opened(MemoryDisk())
    assert error(7) is ErrorCode.NONE, "its start is unknown"
    send(log, 0)
    send(log, 2)
    assert error(4) is ErrorCode.NONE
    for gap in (6, 3, 1, 0):
        assert error(gap) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert error(0, epoch=1) is ErrorCode.NONE
    assert error(4, epoch=1) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    send(log, 0, epoch=1)
    assert error(4) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert error(9, producer_id=2) is ErrorCode.NONE


def test_sequences_wrap_around() -> None:
    log = opened(MemoryDisk())
    original = send(log, 2**31 - 1, count=3)
    assert log.producer_state.sequence_error(made(2)[1][0][1]) is ErrorCode.NONE
    assert (
        log.producer_state.sequence_error(made(0)[1][0][1])
        is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    )
    assert send(log, 2**31 - 1, count=3) == original


def test_known_after_a_kill_and_after_a_clean_stop() -> None:
    disk = MemoryDisk()
    log = opened(disk)
    originals = {sequence: send(log, sequence) for sequence in range(0, 40, 2)}
    assert len(log.segment_infos()) > 3
    for stop in (log.abandon, log.close):
        stop()
        log = opened(disk)
        for sequence in (30, 32, 34, 36, 38):
            assert send(log, sequence) == originals[sequence]
        log.abandon()
        log = opened(disk)


def test_known_after_every_batch_was_deleted_by_retention() -> None:
    disk = MemoryDisk()
    log = opened(disk)
    original = send(log, 0)
    job = log.retention.apply(10**6)
    assert job is not None
    job.run()
    assert log.size_bytes == 0
    assert send(log, 0)[:2] == original[:2]
    log.abandon()
    log = opened(disk)
    assert send(log, 0)[:2] == original[:2]
    put(log, b"x" * 300)
    put(log, b"x" * 300)
    job = log.retention.apply(10**6)
    log.abandon()
    assert send(opened(disk), 0)[:2] == original[:2]


def test_snapshots_do_not_pile_up() -> None:
    disk = MemoryDisk()
    log = opened(disk)
    for sequence in range(0, 200, 2):
        send(log, sequence)
        job = log.retention.apply(10**6)
        if job is not None:
            job.run()
    snapshots = [path for path in disk.nodes if path.endswith(".snapshot")]
    assert len(snapshots) <= len(log.segment_infos()) + 1


def test_a_damaged_snapshot_is_replaced_by_the_headers() -> None:
    disk = MemoryDisk()
    log = opened(disk)
    originals = [send(log, sequence) for sequence in range(0, 40, 2)]
    log.close()
    for path in [path for path in disk.nodes if path.endswith(".snapshot")]:
        disk.nodes[path].data[len(disk.nodes[path].data) // 2] ^= 0x40
    log = opened(disk)
    assert send(log, 38) == originals[-1]


@pytest.mark.parametrize("with_snapshot", [False, True])
def test_truncation_forgets_what_it_cuts(with_snapshot: bool) -> None:
    disk = MemoryDisk()
    log = opened(disk)
    first = send(log, 0)
    send(log, 2)
    if with_snapshot:
        log.close()
        log = opened(disk)
    log.truncate_to(2)
    assert send(log, 0) == first
    assert log.producer_state.find_duplicate(made(2)[1][0][1]) is None


def test_idle_producers_expire() -> None:
    log = opened(MemoryDisk())
    send(log, 0, producer_id=1, now=1000)
    send(log, 0, producer_id=2, now=4000)
    log.producer_state.expire(6001)
    assert log.producer_state.find_duplicate(made(0, producer_id=1)[1][0][1]) is None
    assert log.producer_state.find_duplicate(made(0, producer_id=2)[1][0][1]) is not None


def test_log_append_time_is_answered_again() -> None:
    log = opened(MemoryDisk(), LogConfig(message_timestamp_type="LogAppendTime"))
    original = send(log, 0, now=123)
    assert original.log_append_time_ms == 123
    assert send(log, 0, now=999) == original


def test_a_snapshot_is_whole_or_nothing() -> None:
    table = ProducerTable(100)
    for producer_id in range(3):
        for sequence in range(7):
            header = made(sequence, producer_id=producer_id)[1][0][1]
            table.update(header, sequence * 10, -1, 55)
    data = encode_producers(table)
    loaded = decode_producers(data, 100)
    assert loaded is not None
    assert encode_producers(loaded) == data
    assert loaded.find_duplicate(made(6, producer_id=2)[1][0][1]) is not None
    for size in range(len(data)):
        assert decode_producers(data[:size], 100) is None
    for at in range(len(data)):
        damaged = bytearray(data)
        damaged[at] ^= 1
        assert decode_producers(bytes(damaged), 100) is None


def test_nothing_overtakes_the_first_batch_of_a_producer() -> None:
    log = opened(MemoryDisk())
    refused, behind = made(4)[1][0][1], made(6)[1][0][1]
    log.producer_state.table.hold_back(behind, ErrorCode.NOT_ENOUGH_REPLICAS, 0)
    log.producer_state.table.hold_back(refused, ErrorCode.KAFKA_STORAGE_ERROR, 0)
    log.producer_state.table.hold_back(behind, ErrorCode.NOT_ENOUGH_REPLICAS, 0)
    assert log.producer_state.sequence_error(behind) is ErrorCode.KAFKA_STORAGE_ERROR
    assert log.producer_state.sequence_error(made(9, epoch=1)[1][0][1]) is ErrorCode.NONE
    assert log.producer_state.sequence_error(made(9, producer_id=2)[1][0][1]) is ErrorCode.NONE
    assert log.producer_state.sequence_error(refused) is ErrorCode.NONE
    send(log, 4)
    assert log.producer_state.sequence_error(behind) is ErrorCode.NONE


def test_what_is_behind_a_refused_batch_is_refused_for_the_same_reason() -> None:
    """Some clients make of OUT_OF_ORDER_SEQUENCE_NUMBER a new epoch for all their partitions."""
    log = opened(MemoryDisk())
    send(log, 0)
    stored, refused, behind, last = (made(sequence)[1][0][1] for sequence in (0, 2, 4, 6))
    log.producer_state.table.hold_back(stored, ErrorCode.NOT_ENOUGH_REPLICAS, 0)
    assert log.producer_state.sequence_error(behind) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    log.producer_state.table.hold_back(refused, ErrorCode.KAFKA_STORAGE_ERROR, 0)
    log.producer_state.table.hold_back(behind, ErrorCode.NOT_ENOUGH_REPLICAS, 0)
    log.producer_state.table.hold_back(stored, ErrorCode.NOT_ENOUGH_REPLICAS, 0)
    assert log.producer_state.sequence_error(behind) is ErrorCode.KAFKA_STORAGE_ERROR
    assert log.producer_state.sequence_error(last) is ErrorCode.KAFKA_STORAGE_ERROR
    assert log.producer_state.sequence_error(stored) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert log.producer_state.sequence_error(refused) is ErrorCode.NONE
    send(log, 2)
    assert log.producer_state.sequence_error(behind) is ErrorCode.NONE
    assert log.producer_state.sequence_error(last) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_what_is_behind_the_refused_first_batch_of_an_epoch() -> None:
    log = opened(MemoryDisk())
    send(log, 0)
    log.producer_state.table.hold_back(made(0, epoch=1)[1][0][1], ErrorCode.KAFKA_STORAGE_ERROR, 0)
    behind = made(2, epoch=1)[1][0][1]
    assert log.producer_state.sequence_error(behind) is ErrorCode.KAFKA_STORAGE_ERROR
    send(log, 0, epoch=1)
    assert log.producer_state.sequence_error(behind) is ErrorCode.NONE


def test_what_is_held_back_is_forgotten_in_the_end() -> None:
    log = opened(MemoryDisk())
    log.producer_state.table.hold_back(made(0)[1][0][1], ErrorCode.NOT_ENOUGH_REPLICAS, 1000)
    log.producer_state.expire(6001)
    assert log.producer_state.sequence_error(made(2)[1][0][1]) is ErrorCode.NONE


def test_so_many_are_held_back_and_not_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(producer_table, "_MAX_HELD_BACK", 2)
    log = opened(MemoryDisk())
    for producer_id in (1, 2, 1, 3):
        refused = made(9 - producer_id, producer_id=producer_id)[1][0][1]
        log.producer_state.table.hold_back(refused, ErrorCode.NOT_ENOUGH_REPLICAS, 0)
    errors = [log.producer_state.sequence_error(made(9, producer_id=i)[1][0][1]) for i in (1, 2, 3)]
    refused_too = ErrorCode.NOT_ENOUGH_REPLICAS
    assert errors == [ErrorCode.NONE, refused_too, refused_too], "the oldest is forgotten"


def test_so_many_producers_are_known_and_not_more() -> None:
    log = opened(MemoryDisk(), replace(CONFIG, max_producers=20))
    for producer_id in range(20):
        send(log, 0, producer_id=producer_id, now=100 + producer_id)
    for producer_id in (0, 1):
        send(log, 2, producer_id=producer_id, now=200)
    send(log, 0, producer_id=77, now=201)
    known = [producer_id for producer_id, _ in log.producer_state.table]
    assert known == [0, 1, *range(4, 20), 77], "the longest idle are forgotten"
    assert send(log, 2, producer_id=1).base_offset == 42, "a retry is still recognized"


def test_a_producer_in_a_transaction_is_not_forgotten() -> None:
    log = opened(MemoryDisk(), replace(CONFIG, max_producers=10))
    buffer, batches = batch(
        [(10, None, b"v")], producer_id=5, producer_epoch=0, base_sequence=0, transactional=True
    )
    log.append(buffer, batches, 0, 0)
    for producer_id in range(100, 130):
        send(log, 0, producer_id=producer_id, now=producer_id)
    table = log.producer_state.table
    assert table.ongoing_transaction(5) == 0
    assert len(list(table)) <= 10


COMMIT = EndMarker(is_commit=True, coordinator_epoch=0)


def begin(table: ProducerTable, producer_id: int, now: int = 0) -> None:
    """The producer's first batch, of a transaction, is stored."""
    _, batches = batch(
        [(10, None, b"v")],
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=0,
        transactional=True,
    )
    table.update(batches[0][1], producer_id, -1, now)


def test_a_table_full_of_transactions_is_not_searched_for_each_producer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    searches: list[int] = []

    def counted(count: int, idle: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
        searches.append(count)
        return nsmallest(count, idle)

    monkeypatch.setattr(producer_table, "nsmallest", counted)
    table = ProducerTable(100)
    for producer_id in range(140):
        begin(table, producer_id)
    assert len(list(table)) == 140, "none can be forgotten"
    assert len(searches) == 4, "once for each tenth"
    for producer_id in range(140):
        header = made(0, producer_id=producer_id)[1][0][1]
        table.end(
            header,
            EndMarker(is_commit=True, coordinator_epoch=0),
            200 + producer_id,
            producer_id,
            0,
        )
    for producer_id in range(200, 211):
        table.update(made(0, producer_id=producer_id)[1][0][1], producer_id, -1, 300)
    known = [producer_id for producer_id, _ in table]
    assert len(known) <= 100, "all beyond the limit are forgotten, not just a tenth"
    assert known[-11:] == list(range(200, 211))


def test_the_limit_holds_again_after_producers_have_expired() -> None:
    table = ProducerTable(100)
    for producer_id in range(200):
        begin(table, producer_id)
    for producer_id in range(200):
        header = made(0, producer_id=producer_id)[1][0][1]
        table.end(header, COMMIT, 200 + producer_id, 0, 0)
    table.expire(now_ms=5000, expiration_ms=1000)
    assert not list(table)
    for producer_id in range(300, 420):
        table.update(made(0, producer_id=producer_id)[1][0][1], producer_id, -1, 5000)
    assert len(list(table)) <= 100
