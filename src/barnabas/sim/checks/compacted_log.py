"""What is committed in a compacted partition, record by record.

Compaction rewrites batches, at another time on every replica. What is left of a record is as it
was committed, in the same order, and the newest value of a key is never gone. Two exceptions:
compaction removes records of aborted transactions, so the newest value must be there only if no
transaction wrote it; and a tombstone may go when its time is over.
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
        self._records: dict[int, _Content] = {}
        self._removable: set[int] = set()
        """Offsets of records that may be gone although none has replaced them."""

    def add(self, header: BatchHeader, batch: memoryview) -> None:
        for offset, content in _records(batch):
            self._records[offset] = content
            if header.is_transactional or header.is_control or content[1] is None:
                self._removable.add(offset)

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
                newest = offset
                found[offset] = content
            if header.next_offset >= end:
                break
        if whole:
            self._check_newest(where, found, end)

    def _check_newest(self, where: str, found: dict[int, _Content], end: int) -> None:
        """Behind `end` too: a replica that was started again has compacted up to a later offset
        than it calls committed."""
        newest = {key: offset for offset, (key, _) in self._records.items()}
        for key, offset in newest.items():
            if key is None or offset >= end or offset in self._removable:
                continue
            if offset not in found:
                raise Violation(f"{where} lacks {offset}, the newest value of {key!r}")


def _records(batch: memoryview) -> Iterable[tuple[int, _Content]]:
    for record in decode_batch(batch):
        key = None if record.key is None else bytes(record.key)
        yield record.offset, (key, None if record.value is None else bytes(record.value))
