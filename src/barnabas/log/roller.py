"""Beginning a new segment."""

from barnabas.log.errors import storage_errors
from barnabas.log.local_log import LocalLog
from barnabas.log.producers.state import ProducerState
from barnabas.log.segment.segment import Segment


class SegmentRoller:
    __slots__ = ("_log", "_producers")

    def __init__(self, log: LocalLog, producers: ProducerState) -> None:
        self._log = log
        self._producers = producers

    def roll(self, now_ms: int, base_offset: int | None = None) -> Segment:
        """Make a new active segment, at the log's end or behind. Raises `StorageError`.

        A later flush syncs the one before.
        """
        log = self._log
        table = self._producers.table
        end = log.log_end_offset
        segment = Segment(
            log.files,
            log.directory,
            end if base_offset is None else base_offset,
            log.config.index_interval_bytes,
            now_ms,
        )
        with storage_errors(f"cannot begin {segment.log.path}"):
            segment.log.create().truncate(0)
        if log.active is not None:
            log.active.spill_indexes()
            self._producers.snapshots.write(end, table)
        log.segments.append(segment)
        log.active = segment
        log.are_names_synced = False
        return segment
