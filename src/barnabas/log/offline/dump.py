"""The batches of a segment file that may be damaged: `barnabas log dump FILE`."""

from collections.abc import Iterator
from typing import NamedTuple

from barnabas.log.segment.scan import Flaw, ScannedBatch, scan_batches
from barnabas.log.storage import Disk
from barnabas.records.batch import BatchHeader
from barnabas.records.decode import decode_batch
from barnabas.records.errors import RecordsError
from barnabas.records.record import Record


class DumpedBatch(NamedTuple):
    """One batch. `problem` says what is wrong with it; `records` is empty unless asked for."""

    position: int
    header: BatchHeader
    problem: str | None
    records: list[Record]


class DumpedProblem(NamedTuple):
    """The rest of the file, from `position` on, cannot be read as batches."""

    position: int
    reason: str


def dump_segment(
    disk: Disk, path: str, *, records: bool = False
) -> Iterator[DumpedBatch | DumpedProblem]:
    """Every batch of a `.log` file from its start, and at most one problem, which comes last.

    A batch with a wrong CRC does not end the dump as long as its length leads to another batch.
    OSError if the file cannot be read.
    """
    file = disk.open(path)
    try:
        for found in scan_batches(file, file.size()):
            if isinstance(found, Flaw):
                yield DumpedProblem(found.position, found.reason)
            else:
                yield _dumped(found, records=records)
    finally:
        file.close()


def _dumped(batch: ScannedBatch, *, records: bool) -> DumpedBatch:
    problem = batch.flaw
    decoded: list[Record] = []
    if records and problem is None:
        try:
            decoded = decode_batch(batch.data)
        except RecordsError as error:
            problem = str(error)
    return DumpedBatch(batch.position, batch.header, problem, decoded)
