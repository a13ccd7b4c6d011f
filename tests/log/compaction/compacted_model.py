"""What a log is compared with after compaction: a list of everything that was ever appended.

A `Story` appends to a log and to that list. The dumbest reader there is turns either of them into a
dict: the last value of every key, of what was committed.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from barnabas.log import Log
from barnabas.records.batch import BatchHeader, parse_header
from barnabas.records.compression import Compression
from barnabas.records.control import ControlType, encode_end_marker, parse_control_record
from barnabas.records.decode import decode_batch, iter_batches
from barnabas.records.encode import encode_batch
from barnabas.records.record import Record
from tests.log.batches import Row

State = dict[bytes, bytes]

TRANSACTIONAL_IDS = (7, 8)
IDEMPOTENT_ID = 3
PLAIN = -1


@dataclass
class Told:
    """One record of the story."""

    offset: int
    key: bytes | None
    value: bytes | None
    producer_id: int
    is_committed: bool


@dataclass
class Story:
    """Appends, and remembers."""

    log: Log
    bumps_epochs: bool = True
    """Whether a producer's epoch grows with each transaction, and its sequences restart."""
    told: list[Told] = field(default_factory=list)
    _sequences: dict[int, int] = field(default_factory=dict)
    _epochs: dict[int, int] = field(default_factory=dict)
    _open: dict[int, list[Told]] = field(default_factory=dict)

    def append(
        self,
        rows: Sequence[Row],
        producer_id: int = PLAIN,
        compression: Compression = Compression.NONE,
    ) -> None:
        is_transactional = producer_id in TRANSACTIONAL_IDS
        sequence = -1
        if producer_id != PLAIN:
            sequence = self._sequences.get(producer_id, 0)
            self._sequences[producer_id] = sequence + len(rows)
        data = encode_batch(
            [(timestamp, key, value, ()) for timestamp, key, value in rows],
            compression=compression,
            producer_id=producer_id,
            producer_epoch=-1 if producer_id == PLAIN else self._epochs.get(producer_id, 0),
            base_sequence=sequence,
            transactional=is_transactional,
        )
        base_offset = self._store(data)
        for number, (_, key, value) in enumerate(rows):
            record = Told(base_offset + number, key, value, producer_id, not is_transactional)
            self.told.append(record)
            if is_transactional:
                self._open.setdefault(producer_id, []).append(record)

    def end(self, producer_id: int, *, commit: bool, timestamp: int = 100) -> None:
        if producer_id not in self._open:
            return
        if self.bumps_epochs:
            self._epochs[producer_id] = self._epochs.get(producer_id, 0) + 1
            self._sequences[producer_id] = 0
        marker = encode_end_marker(
            ControlType.COMMIT if commit else ControlType.ABORT,
            timestamp_ms=timestamp,
            producer_id=producer_id,
            producer_epoch=self._epochs.get(producer_id, 0),
            coordinator_epoch=0,
        )
        self._store(marker)
        for record in self._open.pop(producer_id):
            record.is_committed = commit

    def _store(self, data: bytearray) -> int:
        info = self.log.append(memoryview(data), [(0, parse_header(data))], 0, 0)
        self.log.committed_offset = self.log.log_end_offset
        return info.base_offset

    def stable_offset(self) -> int:
        first = min((records[0].offset for records in self._open.values()), default=None)
        return self.log.log_end_offset if first is None else first

    def state(self) -> State:
        stable = self.stable_offset()
        return last_values(
            (record.key, record.value)
            for record in self.told
            if record.is_committed and record.offset < stable
        )


def last_values(records: Iterable[tuple[bytes | None, bytes | None]]) -> State:
    state = {key: value for key, value in records if key is not None}
    return {key: value for key, value in state.items() if value is not None}


def batches_of(log: Log, start: int, end: int) -> list[tuple[BatchHeader, bytes]]:
    """As a consumer gets them: it goes on behind the last offset of a batch."""
    found: list[tuple[BatchHeader, bytes]] = []
    offset = start
    while offset < end:
        data = log.read(offset, 1 << 20, upto_offset=end)
        assert data, f"nothing at {offset}, below {end}"
        for header, batch in iter_batches(data):
            found.append((header, bytes(batch)))
            offset = header.next_offset
    return found


def committed_records(log: Log, start: int, end: int) -> list[Record]:
    """What a consumer of committed records makes of it, by the rule that every client has."""
    aborted = sorted(
        log.producer_state.aborted_transactions(start, end), key=lambda found: found.first_offset
    )
    skipped: set[int] = set()
    records: list[Record] = []
    for header, batch in batches_of(log, start, end):
        while aborted and aborted[0].first_offset <= header.last_offset:
            skipped.add(aborted.pop(0).producer_id)
        if header.is_control:
            for record in decode_batch(batch):
                if parse_control_record(record).type == ControlType.ABORT:
                    skipped.discard(header.producer_id)
        elif not (header.is_transactional and header.producer_id in skipped):
            records += [record for record in decode_batch(batch) if record.offset >= start]
    return records


def state_of(records: Iterable[Record]) -> State:
    return last_values((record.key, record.value) for record in records)


def producers_of(log: Log) -> dict[int, tuple[int, list[tuple[int, int]]]]:
    """What a retry is judged by: epoch of every producer, and the sequences of its last batches."""
    return {
        producer_id: (
            entry.epoch,
            [(each.base_sequence, each.last_sequence) for each in entry.batches],
        )
        for producer_id, entry in log.producer_state.table
    }
