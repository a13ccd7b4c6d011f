"""What is committed in a compacted partition, record by record.

Compaction rewrites batches, at another time on every replica. What is left of a record is as it
was committed, in the same order, and the newest value of a key is never gone. Two exceptions:
compaction removes records of aborted transactions, so the newest value must be there only if no
transaction wrote it; and a tombstone may go when its time is over.

Only finished segments below the high watermark are compacted. Behind them every record is there.
"""

from collections.abc import Iterable

from barnabas.records.batch import BatchHeader
from barnabas.records.decode import decode_batch
from barnabas.sim.checks.history import Violation

Stored = Iterable[tuple[BatchHeader, memoryview]]
_Content = tuple[bytes | None, bytes | None]
"""Key and value."""


class CompactedLog:
    """Of one partition; told of each batch when it is committed."""

    def __init__(self) -> None:
        self.keeps_tombstones = False
        """Whether no tombstone's time is ever over."""
        self._finished_end = 0
        """The end of the finished and committed segments, of the replica that has most of them."""
        self._records: dict[int, _Content] = {}
        self._newest: dict[bytes | None, int] = {}
        self._removable: set[int] = set()
        """Offsets of records that may be gone although none has replaced them."""

    def add(self, header: BatchHeader, batch: memoryview) -> None:
        for offset, content in _records(batch):
            self._records[offset] = content
            self._newest[content[0]] = offset
            is_tombstone = content[1] is None and not self.keeps_tombstones
            if header.is_transactional or header.is_control or is_tombstone:
                self._removable.add(offset)

    def finished(self, end: int) -> None:
        """A replica may compact what is below `end`."""
        self._finished_end = max(end, self._finished_end)

    def is_replaced_behind(self, key: bytes, end: int) -> bool:
        """Whether the newest record of a key is at `end` or later."""
        return self._newest.get(key, -1) >= end

    def may_be_gone(self, key: bytes) -> bool:
        """Whether the newest record of a key is a tombstone whose time may be over."""
        return self._newest.get(key) in self._removable

    def check_gap(self, where: str, start: int, end: int) -> None:
        """Between two records of a reader or replica that follow each other is nothing."""
        for offset in range(max(start, self._finished_end), end):
            if offset in self._records:
                raise Violation(
                    f"{where} lacks {offset}, and only what is below {self._finished_end} can be "
                    "compacted"
                )

    def check(self, where: str, stored: Stored, start: int, end: int, *, whole: bool) -> None:
        """Compare a replica's records from `start` to `end`; `whole` if its log begins there."""
        found: dict[int, _Content] = {}
        newest = start - 1
        for header, batch in stored:
            for offset, content in _records(batch):
                if not start <= offset < end:
                    continue
                known = self._records.get(offset)
                if known != content:
                    raise Violation(f"{where} has {content} at {offset}, but {known} was committed")
                if offset <= newest:
                    raise Violation(f"{where} has {offset} behind {newest}")
                self.check_gap(where, newest + 1, offset)
                newest = offset
                found[offset] = content
            if header.next_offset >= end:
                break
        self.check_gap(where, newest + 1, end)
        if whole:
            self._check_newest(where, found, end)

    def _check_newest(self, where: str, found: dict[int, _Content], end: int) -> None:
        """Behind `end` too: a replica that was started again has compacted up to a later offset
        than it calls committed."""
        newest = {key: offset for offset, (key, _) in self._records.items()}
        held = {key: offset for offset, (key, _) in found.items()}
        for key, offset in newest.items():
            if key is None or offset >= end or offset in found:
                continue
            if self._records[offset][1] is None and key in held:
                raise Violation(
                    f"{where} has {held[key]}, of the key {key!r}, and lacks {offset}, which "
                    "deletes it"
                )
            if offset not in self._removable:
                raise Violation(f"{where} lacks {offset}, the newest value of {key!r}")


def _records(batch: memoryview) -> Iterable[tuple[int, _Content]]:
    for record in decode_batch(batch):
        key = None if record.key is None else bytes(record.key)
        yield record.offset, (key, None if record.value is None else bytes(record.value))
