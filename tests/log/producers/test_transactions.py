"""Which transactions go on in a log, which were aborted, and where committed records end."""

import json

import pytest

from barnabas.log import AbortedTransaction, Log, LogConfig, StorageError, checked_batches
from barnabas.log.producers.snapshot import decode_producers, encode_producers
from barnabas.wire.errors import ErrorCode
from tests.log.batches import batch, end, put, write
from tests.log.memory_disk import MemoryDisk

DIRECTORY = "data/t-0"
CONFIG = LogConfig(segment_bytes=300, retention_ms=1000, producer_id_expiration_ms=5000)


def opened(disk: MemoryDisk, config: LogConfig = CONFIG, now: int = 0) -> Log:
    return Log.open(disk, DIRECTORY, config, now)


def commit_all(log: Log) -> None:
    log.committed_offset = log.log_end_offset


def test_a_transaction_goes_on_until_its_marker_is_committed() -> None:
    log = opened(MemoryDisk())
    put(log, b"plain")
    assert log.producer_state.first_unstable_offset is None
    write(log, 7)
    write(log, 7)
    assert (
        log.producer_state.ongoing_transaction(7) == log.producer_state.first_unstable_offset == 1
    )
    assert log.producer_state.ongoing_transaction(7, 0) == 1
    assert log.producer_state.ongoing_transaction(7, 1) is None, "of another epoch"
    assert log.producer_state.ongoing_transaction(8) is None
    commit_all(log)
    end(log, 7, commit=True)
    assert log.producer_state.ongoing_transaction(7) is None
    assert log.producer_state.first_unstable_offset == 1, "the marker may still be lost"
    commit_all(log)
    assert log.producer_state.first_unstable_offset is None


def test_the_oldest_transaction_counts() -> None:
    log = opened(MemoryDisk())
    for producer_id in (1, 2, 3):
        write(log, producer_id)
    end(log, 2, commit=True)
    commit_all(log)
    assert log.producer_state.first_unstable_offset == 0
    end(log, 1, commit=True)
    assert log.producer_state.first_unstable_offset == 0
    commit_all(log)
    assert log.producer_state.first_unstable_offset == 2
    write(log, 1)
    end(log, 3, commit=False)
    commit_all(log)
    assert (
        log.producer_state.first_unstable_offset == log.producer_state.ongoing_transaction(1) == 5
    )


def test_a_marker_without_a_transaction_changes_nothing_but_the_epochs() -> None:
    log = opened(MemoryDisk())
    end(log, 7, commit=False, epoch=3, coordinator_epoch=5)
    assert log.producer_state.first_unstable_offset is None
    assert not log.producer_state.has_aborted_transactions
    entry = log.producer_state.table.get(7)
    assert entry is not None
    assert (entry.epoch, entry.coordinator_epoch) == (3, 5)


def test_aborted_transactions_of_a_range() -> None:
    log = opened(MemoryDisk(), LogConfig())
    write(log, 1)  # 0
    write(log, 2)  # 1
    end(log, 1, commit=False)  # 2
    write(log, 1)  # 3
    end(log, 2, commit=False)  # 4
    end(log, 1, commit=True)  # 5
    first = AbortedTransaction(1, 0, 2, 1)
    second = AbortedTransaction(2, 1, 4, 3)
    assert log.producer_state.aborted_transactions(0, 6) == [first, second]
    assert log.producer_state.aborted_transactions(0, 1) == [first]
    assert log.producer_state.aborted_transactions(0, 2) == [first, second]
    assert log.producer_state.aborted_transactions(3, 6) == [second]
    assert log.producer_state.aborted_transactions(5, 6) == []


@pytest.mark.parametrize("how", ["abandon", "close"])
@pytest.mark.parametrize("lost", [(), (".txnindex",), (".snapshot",), (".txnindex", ".snapshot")])
def test_everything_is_known_after_a_stop(how: str, lost: tuple[str, ...]) -> None:
    disk = MemoryDisk()
    log = opened(disk)
    for number in range(12):
        write(log, 1, size=60)
        write(log, 2, size=60)
        end(log, 1, commit=number % 3 == 0)
        if number % 4 == 3:
            end(log, 2, commit=False, coordinator_epoch=number)
    write(log, 3)
    assert len(log.segment_infos()) > 5
    commit_all(log)
    log.flusher.flush()
    log.checkpoint()
    aborted = log.producer_state.aborted_transactions(0, log.log_end_offset)
    assert len(aborted) == 11
    before = encode_producers(log.producer_state.table)
    getattr(log, how)()
    for path in [path for path in disk.nodes if path.endswith(lost)] if lost else ():
        del disk.nodes[path]
    log = opened(disk)
    assert log.producer_state.aborted_transactions(0, log.log_end_offset) == aborted
    assert encode_producers(log.producer_state.table) == before
    assert (
        log.producer_state.ongoing_transaction(3)
        == log.producer_state.first_unstable_offset
        == log.log_end_offset - 1
    )
    log.close()
    log = opened(disk)
    assert log.recovery is None
    assert log.producer_state.aborted_transactions(0, log.log_end_offset) == aborted


def test_a_damaged_index_is_made_anew() -> None:
    disk = MemoryDisk()
    log = opened(disk)
    for _ in range(3):
        write(log, 1)
        end(log, 1, commit=False)
    aborted = log.producer_state.aborted_transactions(0, log.log_end_offset)
    log.close()
    for path, node in disk.nodes.items():
        if path.endswith(".txnindex"):
            node.data[:] = bytes(len(node.data))
    log = opened(disk)
    assert log.producer_state.aborted_transactions(0, log.log_end_offset) == aborted
    assert len(aborted) == 3


def test_an_index_is_not_trusted_after_a_power_loss() -> None:
    disk = MemoryDisk()
    log = opened(disk)
    for _ in range(3):
        write(log, 1)
        end(log, 1, commit=False)
    aborted = log.producer_state.aborted_transactions(0, log.log_end_offset)
    log.close()
    for path, node in disk.nodes.items():
        if path.endswith(".txnindex"):
            node.data[4] ^= 2  # of the producer id: the entry still fits
    log = Log.open(disk, log.directory, log.config, 0, power_lost=True)
    assert log.producer_state.aborted_transactions(0, log.log_end_offset) == aborted
    assert len(aborted) == 3


def test_truncation_brings_a_transaction_back() -> None:
    disk = MemoryDisk()
    log = opened(disk)
    write(log, 1)
    end(log, 1, commit=False)
    write(log, 2)
    end(log, 2, commit=False)
    write(log, 1)
    commit_all(log)
    log.truncate_to(3)
    assert (
        log.producer_state.ongoing_transaction(2) == log.producer_state.first_unstable_offset == 2
    )
    assert log.producer_state.ongoing_transaction(1) is None
    assert [t.producer_id for t in log.producer_state.aborted_transactions(0, 9)] == [1]
    end(log, 2, commit=True)
    log.close()
    log = opened(disk)
    assert [t.producer_id for t in log.producer_state.aborted_transactions(0, 9)] == [1]


@pytest.mark.parametrize("spilled", [False, True])
def test_truncation_into_an_index(spilled: bool) -> None:
    disk = MemoryDisk()
    log = opened(disk, LogConfig())
    for _ in range(3):
        write(log, 1)
        end(log, 1, commit=False)
    if spilled:
        log.close()
        log = opened(disk, LogConfig())
    log.truncate_to(4)
    write(log, 5)
    end(log, 5, commit=False)
    expected = [(1, 0), (1, 2), (5, 4)]
    for _ in range(2):
        found = log.producer_state.aborted_transactions(0, log.log_end_offset)
        assert [(each.producer_id, each.first_offset) for each in found] == expected
        log.close()
        log = opened(disk, LogConfig())


def test_a_snapshot_keeps_the_order_of_transactions() -> None:
    disk = MemoryDisk()
    log = opened(disk)
    write(log, 1)
    end(log, 1, commit=True)
    write(log, 2)
    write(log, 1)
    commit_all(log)
    log.close()
    log = opened(disk)
    assert (
        log.producer_state.first_unstable_offset == log.producer_state.ongoing_transaction(2) == 2
    )


def test_beginning_anew_forgets_everything() -> None:
    log = opened(MemoryDisk())
    write(log, 1)
    end(log, 1, commit=False)
    write(log, 1)
    log.truncate_fully_and_start_at(100)
    assert log.producer_state.first_unstable_offset is None
    assert not log.producer_state.has_aborted_transactions
    assert list(log.producer_state.table) == []


def test_a_follower_knows_what_the_leader_knows() -> None:
    leader = opened(MemoryDisk())
    for _ in range(4):
        write(leader, 1, epoch=2, sequence=-1, size=70)
        write(leader, 2)
        end(leader, 1, epoch=2, commit=False, coordinator_epoch=3)
    follower = opened(MemoryDisk(), LogConfig())
    while follower.log_end_offset < leader.log_end_offset:
        data = leader.read(follower.log_end_offset, 200)
        follower.append_as_follower(*checked_batches(data, follower.log_end_offset), now_ms=0)
    assert encode_producers(follower.producer_state.table) == encode_producers(
        leader.producer_state.table
    )
    end_offset = leader.log_end_offset
    aborted = leader.producer_state.aborted_transactions(0, end_offset)
    assert follower.producer_state.aborted_transactions(0, end_offset) == aborted
    assert len(aborted) == 4
    assert (
        follower.producer_state.first_unstable_offset
        == leader.producer_state.first_unstable_offset
        == 0
    )


def test_retention_takes_the_index_along() -> None:
    disk = MemoryDisk()
    log = opened(disk)
    write(log, 9, size=200)
    for _ in range(6):
        write(log, 1, size=150)
        end(log, 1, commit=False)
    job = log.retention.apply(10**6)
    assert job is not None
    job.run()
    assert not log.producer_state.has_aborted_transactions
    assert not [path for path in disk.nodes if ".txnindex" in path]
    assert log.producer_state.ongoing_transaction(9) == 0, "it has not ended"
    assert log.producer_state.first_unstable_offset == log.log_start_offset


def test_an_index_that_can_not_be_written_stays_in_memory() -> None:
    disk = MemoryDisk()
    log = opened(disk)
    write(log, 1)
    end(log, 1, commit=False)

    def refuse(name: str) -> None:
        if name == "truncate":
            raise OSError("no")

    disk.on_step = refuse
    assert not log.segments[0].aborted.spill()
    disk.on_step = None
    assert len(log.producer_state.aborted_transactions(0, 9)) == 1


def test_an_ongoing_transaction_never_expires() -> None:
    log = opened(MemoryDisk())
    write(log, 1, now=1000)
    write(log, 2, now=1000)
    end(log, 2, commit=True, now=1000)
    log.producer_state.expire(100_000)
    assert [producer_id for producer_id, _ in log.producer_state.table] == [1]


def test_truncation_does_not_make_producers_older() -> None:
    log = opened(MemoryDisk(), LogConfig(producer_id_expiration_ms=5000))  # so large: no snapshot
    write(log, 1, now=50_000)
    end(log, 1, commit=True, now=50_000)
    put(log, b"x", now=50_000)
    log.truncate_to(2)
    assert log.producer_state.table.get(1) is not None  # loaded again: only then it can expire
    log.producer_state.expire(54_000)
    assert log.producer_state.table.get(1) is not None


def test_what_may_follow_in_a_transaction() -> None:
    def error(sequence: int, *, epoch: int, transactional: bool) -> ErrorCode:
        made = batch(
            [(0, None, b"v")],
            producer_id=1,
            producer_epoch=epoch,
            base_sequence=sequence,
            transactional=transactional,
        )
        return log.producer_state.sequence_error(made[1][0][1])

    log = opened(MemoryDisk())
    write(log, 1, epoch=1, sequence=0)
    assert error(1, epoch=1, transactional=True) is ErrorCode.NONE
    assert error(1, epoch=1, transactional=False) is ErrorCode.INVALID_TXN_STATE
    assert error(0, epoch=2, transactional=True) is ErrorCode.INVALID_TXN_STATE
    assert error(1, epoch=0, transactional=True) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert error(-1, epoch=0, transactional=True) is ErrorCode.INVALID_PRODUCER_EPOCH
    end(log, 1, epoch=1, commit=True)
    assert error(1, epoch=1, transactional=True) is ErrorCode.NONE, "the classic way: it goes on"
    end(log, 1, epoch=2, commit=True)
    assert error(1, epoch=1, transactional=True) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert error(1, epoch=2, transactional=True) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert error(0, epoch=2, transactional=True) is ErrorCode.NONE


def test_which_markers_are_taken() -> None:
    def error(epoch: int, coordinator_epoch: int, *, grows: bool) -> ErrorCode:
        return log.producer_state.table.marker_error(1, epoch, coordinator_epoch, epoch_grows=grows)

    log = opened(MemoryDisk())
    assert error(0, 0, grows=True) is ErrorCode.NONE
    write(log, 1, epoch=4)
    assert error(4, 0, grows=False) is ErrorCode.NONE
    assert error(4, 0, grows=True) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert error(3, 0, grows=False) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert not log.producer_state.table.has_ended(1, 5, 0, epoch_grows=True)
    end(log, 1, epoch=5, commit=True, coordinator_epoch=2)
    assert log.producer_state.table.has_ended(1, 5, 0, epoch_grows=True)
    assert error(6, 1, grows=False) is ErrorCode.TRANSACTION_COORDINATOR_FENCED
    assert error(6, 2, grows=True) is ErrorCode.NONE
    write(log, 1, epoch=5)
    assert not log.producer_state.table.has_ended(1, 5, 0, epoch_grows=True), "the next one goes on"
    assert error(5, 2, grows=True) is ErrorCode.INVALID_PRODUCER_EPOCH


def test_a_batch_that_compaction_has_emptied_begins_nothing() -> None:
    log = opened(MemoryDisk())
    _, batches = batch(
        [(0, b"k", b"v")], producer_id=1, producer_epoch=0, base_sequence=4, transactional=True
    )
    header = batches[0][1]
    log.producer_state.table.update(header._replace(record_count=0), 0, -1, 0)
    assert log.producer_state.ongoing_transaction(1) is None
    entry = log.producer_state.table.get(1)
    assert entry is not None
    assert entry.last_sequence == 4


def test_snapshots_of_before_transactions_are_read() -> None:
    header = batch([(0, None, b"v")], producer_id=3, producer_epoch=1, base_sequence=5)[1][0][1]
    log = opened(MemoryDisk())
    log.producer_state.table.update(header, 40, 123, 77)
    old = bytes.fromhex(
        "0001 547b4a72"
        "0000000000000003 0001 000000000000004d 01"
        "00000005 00000005 0000000000000028 0000000000000028 000000000000007b"
    )
    table = decode_producers(old, 100)
    assert table is not None
    assert table.find_duplicate(header) == log.producer_state.table.find_duplicate(header)
    entry = table.get(3)
    assert entry is not None
    assert (entry.last_append_ms, entry.transaction_offset, entry.coordinator_epoch) == (77, -1, -1)


def test_nothing_is_stable_while_producers_can_not_be_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    disk = MemoryDisk()
    log = opened(disk)
    write(log, 1)
    end(log, 1, commit=True)
    commit_all(log)
    log.close()
    log = opened(disk)

    def refuse(*_: object) -> None:
        raise OSError("no")

    with monkeypatch.context() as broken:
        broken.setattr("barnabas.log.producers.snapshot_files.SnapshotFiles.load", refuse)
        assert log.producer_state.first_unstable_offset == log.log_start_offset
        with pytest.raises(StorageError):
            _ = log.producer_state.table
    assert log.producer_state.first_unstable_offset is None


def test_a_state_of_before_transactions_is_believed() -> None:
    disk = MemoryDisk()
    log = opened(disk)
    put(log, b"plain")
    log.close()
    path = f"{DIRECTORY}/log.state"
    state = json.loads(disk.read_file(path).splitlines()[0])
    state["segments"] = [segment[:8] for segment in state["segments"]]
    disk.replace_file(path, json.dumps(state).encode())
    log = opened(disk)
    assert log.recovery is None
    assert log.log_end_offset == 1
