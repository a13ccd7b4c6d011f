"""Cutting off the end of a log, or all of it."""

from collections.abc import Iterator
from contextlib import contextmanager

from barnabas.log.compaction_progress import Progress
from barnabas.log.errors import StorageError, storage_errors
from barnabas.log.file_copy import copy_range
from barnabas.log.flusher import LogFlusher
from barnabas.log.local_log import LocalLog
from barnabas.log.producers.state import ProducerState
from barnabas.log.segment.file_names import segment_path
from barnabas.log.segment.segment import Segment
from barnabas.log.set_aside import sync_set_aside
from barnabas.log.start_mark import move_mark
from barnabas.log.state import LogState, write_state
from barnabas.log.state_file import StateFile


class LogTruncation:
    __slots__ = ("_flusher", "_log", "_producers", "_state_file")

    def __init__(
        self,
        log: LocalLog,
        producers: ProducerState,
        flusher: LogFlusher,
        state_file: StateFile,
    ) -> None:
        self._log = log
        self._producers = producers
        self._flusher = flusher
        self._state_file = state_file

    def truncate_to(self, offset: int, *, set_aside: str = "") -> None:
        """Cut the log so that it ends at `offset`, a boundary between batches, or earlier.

        A follower does that with records that its new leader does not have. What is cut off goes
        to the directory `set_aside`, if one is given. Raises `StorageError`.
        """
        log = self._log
        if offset >= log.log_end_offset:
            # It may have begun an epoch in which it then appended nothing.
            log.epochs.truncate_from(log.log_end_offset)
            return
        first = log.segments[0].base_offset if log.segments else log.log_end_offset
        # A whole segment is moved to `set_aside`; a part of one is copied, which takes longer.
        if offset < first or (set_aside and offset == first):
            self.truncate_fully_and_start_at(offset, set_aside=set_aside)
            return
        disk = log.files.disk
        log.compaction_progress.truncated(offset)
        self._state_file.invalidate()
        kept = log.segments.count_below(offset)
        last = log.segments[kept - 1]
        self._flusher.restart_at(min(log.flushed_offset, last.base_offset))
        with storage_errors(f"cannot truncate {log.directory}"):
            if set_aside:
                disk.make_directory(set_aside)
                move_mark(disk, set_aside, 0, offset)
                self._copy_end(last, offset, set_aside)
            # First the state, which then trusts nothing that is cut: this segment may grow to its
            # old size again. If the disk is full, it refuses here, and the log is as it was.
            self._state_file.write(sync=True, end_offset=offset)
            with self._cutting(offset):
                # Also one at `offset`, which would tell that a segment has begun there.
                self._producers.snapshots.drop_above(offset - 1)
                log.segments.remove_last(len(log.segments) - kept, log.files, set_aside)
                if set_aside:
                    sync_set_aside(disk, set_aside)
                disk.sync_directory(log.directory)
                last.truncate(last.locate(offset))

    def truncate_fully_and_start_at(self, offset: int, *, set_aside: str = "") -> None:
        """Remove everything and start again at `offset`: the leader has nothing before it.

        What is removed goes to the directory `set_aside`, if one is given. Raises `StorageError`.
        """
        log, disk = self._log, self._log.files.disk
        if not log.segments:
            set_aside = ""
        self._state_file.invalidate()
        self._flusher.restart_at(log.flushed_offset)
        with storage_errors(f"cannot truncate {log.directory}"):
            if set_aside:
                disk.make_directory(set_aside)
                move_mark(disk, set_aside, 0, log.segments[0].base_offset)
            # First the state, which then trusts nothing: a crash leaves the old log, to be cut
            # again, or an empty one.
            state = LogState(
                offset,
                [],
                {},
                offset,
                Progress(),
                expected_end=log.missed_end,
                closed_end=log.closed_end,
                suspect_from=log.suspect_from,
            )
            write_state(disk, log.directory, state, sync=True)
            self._flusher.restart_at(0)
            # Before the segments go: an empty log would else start at a mark from before.
            move_mark(disk, log.directory, log.marked_start, offset)
            log.marked_start = offset
            with self._cutting(offset):
                self._producers.snapshots.drop_above(-1)
                log.segments.remove_last(len(log.segments), log.files, set_aside)
                if set_aside:
                    sync_set_aside(disk, set_aside)
                disk.sync_directory(log.directory)
        self._flusher.restart_at(offset)
        log.compaction_progress.truncated(0)
        log.is_torn = False
        self._state_file.trust_all()
        log.lost_ranges.cut_at(-1)
        self._producers.clear()

    def _copy_end(self, segment: Segment, offset: int, set_aside: str) -> None:
        """Copy the batches from `offset` on. Raises OSError."""
        position = segment.locate(offset)
        if position < segment.size:
            path = segment_path(set_aside, offset)
            copy_range(self._log.files.disk, segment.log.file(), position, segment.size, path)

    @contextmanager
    def _cutting(self, offset: int) -> Iterator[None]:
        """Files are cut. However far that gets, the log is what is left of them.

        If none is left, the log is empty and starts at `offset`. If the disk fails, what was cut
        may come back: the log then refuses appends until it is opened, and thereby scanned, again.
        """
        log = self._log
        try:
            yield
        except (OSError, StorageError) as error:
            log.failure = f"{log.directory} could not be cut: {error}"
            raise
        finally:
            last = log.active = log.segments[-1] if log.segments else None
            if last is not None:
                log.log_end_offset = last.next_offset
                log.log_start_offset = min(log.log_start_offset, log.log_end_offset)
                log.committed_offset = min(log.committed_offset, log.log_end_offset)
            else:
                log.log_start_offset = log.log_end_offset = log.committed_offset = offset
            log.lost_ranges.cut_at(log.log_end_offset)
            # Not earlier: without its epochs a log that still has its records looks empty.
            log.epochs.truncate_from(log.log_end_offset if last is not None else -1)
            suspect_from = log.suspect_epochs_from
            if suspect_from is not None and (last is None or suspect_from >= log.log_end_offset):
                log.suspect_epochs_from = None
            self._producers.unload()
