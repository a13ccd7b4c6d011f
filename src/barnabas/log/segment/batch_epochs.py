"""The leader epochs of a log's batches, read and written in place.

The epoch is four bytes of a batch's header. The CRC does not cover them, so a batch is as valid
with another epoch as before, and a crash while it is written leaves one of the two.
"""

from collections.abc import Iterable
from struct import Struct

from barnabas.log.epoch_order import EpochRun
from barnabas.log.segment.segment import Segment

_EPOCH = Struct(">i")
_EPOCH_AT = 12


def epoch_runs(segments: Iterable[Segment], start_offset: int) -> list[EpochRun]:
    """The epochs of all batches from `start_offset` on. Raises OSError or `StorageError`."""
    runs: list[EpochRun] = []
    end = 0
    for segment in segments:
        if segment.next_offset <= start_offset:
            end = segment.next_offset
            continue
        for _, header in segment.headers(segment.locate(start_offset)):
            epoch = header.partition_leader_epoch
            if runs and runs[-1].epoch == epoch:
                runs[-1] = runs[-1]._replace(batches=runs[-1].batches + 1)
            else:
                gap_start = end if end < header.base_offset else None
                runs.append(EpochRun(epoch, 1, header.base_offset, gap_start))
            end = header.next_offset
    return runs


def write_epoch(segments: Iterable[Segment], epoch: int, start: int, end: int | None = None) -> int:
    """Make `epoch` that of all batches from offset `start` up to, not including, `end`, and sync.

    Returns how many had another one. Raises OSError or `StorageError`.
    """
    written = 0
    for segment in segments:
        if segment.next_offset <= start or (end is not None and segment.base_offset >= end):
            continue
        before = written
        for position, header in segment.headers(segment.locate(start)):
            if end is not None and header.base_offset >= end:
                break
            if header.partition_leader_epoch != epoch:
                segment.log.file().write(_EPOCH.pack(epoch), position + _EPOCH_AT)
                written += 1
        if written > before:
            segment.log.file().sync()
    return written
