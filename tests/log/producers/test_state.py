"""The producers of an open log are loaded when they are needed."""

from barnabas.log import Log
from barnabas.log.producers.state import ProducerState
from barnabas.records.batch import parse_header
from tests.log.batches import batch, end, write
from tests.log.memory_disk import MemoryDisk
from tests.log.parts import CONFIG, DIRECTORY, local_log

NOW = 50_000


def closed(disk: MemoryDisk) -> None:
    """Producer 1 has an aborted transaction, producer 2 an ongoing one at offset 2."""
    log = Log.open(disk, DIRECTORY, CONFIG, NOW)
    write(log, 1, sequence=0, now=NOW)
    end(log, 1, commit=False, now=NOW)
    write(log, 2, sequence=0, now=NOW)
    log.committed_offset = log.log_end_offset
    log.close()


def test_the_table_is_loaded_when_it_is_needed() -> None:
    disk = MemoryDisk()
    closed(disk)
    log = local_log(disk, now_ms=NOW)
    state = ProducerState(log, [])
    assert state.loaded is None
    assert state.first_unstable_offset == 2
    assert state.loaded is state.table
    assert state.ongoing_transaction(2) == 2
    assert state.ongoing_transaction(2, producer_epoch=1) is None
    assert state.ongoing_transaction(1) is None
    assert state.has_aborted_transactions
    assert [each.producer_id for each in state.aborted_transactions(0, 3)] == [1]
    again = parse_header(
        batch([(NOW, b"k", b"v")], producer_id=1, producer_epoch=0, base_sequence=0)[0]
    )
    found = state.find_duplicate(again)
    assert found is not None
    assert found.base_offset == 0


def test_an_empty_log_has_no_producers() -> None:
    disk = MemoryDisk()
    closed(disk)
    state = ProducerState(local_log(disk), [])
    state.clear()
    assert list(state.table) == []
    state.expire(NOW)
