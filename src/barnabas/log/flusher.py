"""When a log has to be flushed, and the jobs that do it.

Where `flush.messages` or `flush.ms` is set, a record is acknowledged only after it is on stable
storage. The file FLUSH_MARK in the log's directory says that this holds for every record in it: a
power loss then takes away nothing that was acknowledged. The flush that makes the file covers
everything that was in the log before.
"""

from barnabas.log.config import LogConfig
from barnabas.log.errors import StorageError, storage_errors
from barnabas.log.file_copy import write_file_again
from barnabas.log.flush_job import FLUSH_MARK, FlushJob, flush_job
from barnabas.log.local_log import LocalLog
from barnabas.log.segment.file_names import METADATA_FILE


class LogFlusher:
    __slots__ = ("_log", "_running", "oldest_unflushed_ms", "prepared_offset")

    def __init__(self, log: LocalLog) -> None:
        self._log = log
        self._running: FlushJob | None = None
        self.prepared_offset = log.flushed_offset
        """Everything below is flushed, or is being flushed."""
        self.oldest_unflushed_ms = log.opened_ms
        """When the record at `prepared_offset` was appended."""

    @property
    def is_required(self) -> bool:
        """Consumers may see a record only once it is flushed."""
        config = self._log.config
        return config.flushes_by_count or config.flushes_by_age

    @property
    def deadline_ms(self) -> int | None:
        """When the next flush is due: 0 for at once, None if there is nothing to flush.

        What a running job covers does not count.
        """
        log, prepared = self._log, self.prepared_offset
        config, active = log.config, log.active
        unflushed = log.log_end_offset - prepared
        if log.failure is not None or active is None or unflushed <= 0:
            return None
        if prepared < active.base_offset:
            return 0
        if config.flushes_by_count and unflushed >= config.flush_messages:
            return 0
        return self.oldest_unflushed_ms + config.flush_ms if config.flushes_by_age else None

    def is_due(self, now_ms: int) -> bool:
        deadline_ms = self.deadline_ms
        return deadline_ms is not None and deadline_ms <= now_ms

    def prepare(self, *, everything: bool = False) -> FlushJob | None:
        """The job that syncs what is not synced yet; None if there is nothing, or one is running.

        Without flush settings only finished segments are synced, unless `everything` is set.
        """
        log, active = self._log, self._log.active
        if self._running is not None or log.failure is not None:
            return None
        mark = ""
        if self._needs_mark:
            mark = self._mark_path
        end = log.log_end_offset
        if active is not None and not (everything or self.is_required):
            end = active.base_offset
        if end <= log.flushed_offset and not mark:
            return None
        directories = []
        if mark or not log.are_names_synced:
            directories = [log.directory, log.directory.rpartition("/")[0] or "/"]
        with storage_errors(f"cannot flush {log.directory}"):
            job = flush_job(
                log.files.disk, log.segments, log.flushed_offset, end, directories, mark
            )
        log.are_names_synced = True
        self.prepared_offset = end
        self._running = job
        return job

    def complete(self, job: FlushJob) -> None:
        """Take back a job that has run. Raises `StorageError` if the disk failed to sync.

        After a failed sync it is unknown what is on stable storage, and a second sync may succeed
        without having written it. So the log refuses appends until it is opened, and thereby
        checked, again.
        """
        log = self._log
        is_current = job is self._running
        if is_current:  # else truncation has made it void, and another one may be running
            self._running = None
        if job.error is not None:
            log.failure = f"{log.directory} could not be synced: {job.error}"
            raise StorageError(log.failure) from job.error
        if job.mark:
            log.is_flush_marked = True
            self._remove_mark_if_untrue()
        if is_current:
            log.flushed_offset = job.end_offset
            if log.active is not None and log.active.base_offset < job.end_offset:
                log.active.hint(job.end_offset, job.end_position)

    def flush(self) -> None:
        """Sync everything, here and now. Raises `StorageError`."""
        job = self.prepare(everything=True)
        if job is not None:
            job.run()
            self.complete(job)

    def write_again(self, start: int = 0) -> None:
        """Write what is from offset `start` on, and not known to be synced, a second time.

        A crash may have followed a failed sync: then what is read from the page cache may not be on
        the disk, and a sync alone would succeed without writing it. For a log that was just opened,
        before its first flush. Raises `StorageError`.
        """
        log = self._log
        with storage_errors(f"cannot write {log.directory} again"):
            for segment in log.segments:
                if segment.next_offset > max(log.flushed_offset, start):
                    segment.write_again(start)
            path = f"{log.directory}/{METADATA_FILE}"
            if log.files.disk.exists(path):
                write_file_again(log.files.disk, path)

    def restart_at(self, offset: int) -> None:
        """The log is cut: everything from `offset` on has to be flushed again."""
        self._running = None
        self._log.flushed_offset = self.prepared_offset = offset

    @property
    def lacks_mark(self) -> bool:
        """Whether a flush should be prepared, if only to write FLUSH_MARK."""
        return self._running is None and self._needs_mark

    @property
    def _needs_mark(self) -> bool:
        """The next start trusts a log with a mark after a power loss: there must be none in a log
        that may lack records, or that has suspect ones."""
        log = self._log
        return (
            not log.is_flush_marked
            and not log.is_in_doubt
            and log.suspect_from is None
            and self.is_required
        )

    @property
    def _mark_path(self) -> str:
        return f"{self._log.directory}/{FLUSH_MARK}"

    def configure(self, config: LogConfig) -> None:
        """Use these settings from now on. Raises `StorageError`."""
        self._log.config = config
        self._remove_mark_if_untrue()

    def _remove_mark_if_untrue(self) -> None:
        """Before a record is acknowledged that is not on stable storage.

        If the file can't be removed, the log refuses appends.
        """
        log = self._log
        if not log.is_flush_marked or self.is_required:
            return
        try:
            log.files.disk.unlink(self._mark_path)
            log.files.disk.sync_directory(log.directory)
        except OSError as error:
            log.failure = f"cannot remove {self._mark_path}: {error}"
            raise StorageError(log.failure) from error
        log.is_flush_marked = False
