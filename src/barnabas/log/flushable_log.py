"""Bringing a log to the disk: when that is due, and the jobs that do it.

Where `flush.*` is set, nothing is acknowledged that is not on the disk. The file FLUSH_MARK in the
log's directory says that this is so of everything in it, and has been since that file was made:
then a loss of power takes away nothing that was acknowledged. The flush that makes the file covers
all that there was before.
"""

from barnabas.log.appendable_log import AppendableLog
from barnabas.log.config import LogConfig
from barnabas.log.errors import StorageError, storage_errors
from barnabas.log.flush_job import FLUSH_MARK, FlushJob, flush_job


class FlushableLog(AppendableLog):
    __slots__ = ()

    @property
    def flush_required(self) -> bool:
        """Records are to be shown to consumers only below `flushed_offset`."""
        return self.config.flushes_by_count or self.config.flushes_by_age

    @property
    def flush_deadline_ms(self) -> int | None:
        """When the next flush is due, 0 for at once, None if there is nothing that must be.

        What a flush under way covers does not count.
        """
        config, prepared = self.config, self._prepared_offset
        unflushed = self.log_end_offset - prepared
        active = self._active
        if self._failure is not None or active is None or unflushed <= 0:
            return None
        if prepared < active.base_offset:
            return 0
        if config.flushes_by_count and unflushed >= config.flush_messages:
            return 0
        return self._oldest_unflushed_ms + config.flush_ms if config.flushes_by_age else None

    def flush_due(self, now_ms: int) -> bool:
        deadline_ms = self.flush_deadline_ms
        return deadline_ms is not None and deadline_ms <= now_ms

    def prepare_flush(self, *, everything: bool = False) -> FlushJob | None:
        """The job that syncs what is not synced yet; None if there is nothing, or one is under way.

        Without flush settings only finished segments are synced, unless `everything` is asked for.
        """
        active = self._active
        if self._flushing is not None or self._failure is not None:
            return None
        mark = ""
        if self.flush_required and not self.is_flush_marked and not self.is_in_doubt:
            mark = self._mark_path
        end = self.log_end_offset
        if active is not None and not (everything or self.flush_required):
            end = active.base_offset
        if end <= self.flushed_offset and not mark:
            return None
        directories = []
        if mark or not self._names_synced:
            directories = [self.directory, self.directory.rpartition("/")[0] or "/"]
        with storage_errors(f"can not flush {self.directory}"):
            job = flush_job(
                self._files.disk, self._segments, self.flushed_offset, end, directories, mark
            )
        self._names_synced = True
        self._prepared_offset = end
        self._flushing = job
        return job

    @property
    def lacks_flush_mark(self) -> bool:
        """Whether a flush should be begun, if only to say that from now on all is flushed."""
        return (
            not self.is_flush_marked
            and not self.is_in_doubt
            and self._flushing is None
            and self.flush_required
        )

    @property
    def _mark_path(self) -> str:
        return f"{self.directory}/{FLUSH_MARK}"

    def configure(self, config: LogConfig) -> None:
        """Obey other settings from now on. Raises `StorageError`."""
        self.config = config
        self._remove_mark_if_untrue()

    def _remove_mark_if_untrue(self) -> None:
        """Before anything is acknowledged that is not on the disk.

        If it can't be removed, nothing is appended any more.
        """
        if not self.is_flush_marked or self.flush_required:
            return
        try:
            self._files.disk.unlink(self._mark_path)
            self._files.disk.sync_directory(self.directory)
        except OSError as error:
            self._failure = f"can not remove {self._mark_path}: {error}"
            raise StorageError(self._failure) from error
        self.is_flush_marked = False

    def flush(self) -> None:
        """Sync everything, here and now. StorageError if the disk fails to."""
        job = self.prepare_flush(everything=True)
        if job is not None:
            job.run()
            self.complete_flush(job)

    def complete_flush(self, job: FlushJob) -> None:
        """Take back a job that has run. StorageError if the disk failed to sync.

        After a failed sync nobody knows what is on the disk, and asking again may get a wrong yes.
        So the log then takes no more appends until it is opened, and thereby checked, again.
        """
        is_current, self._flushing = job is self._flushing, None
        if job.error is not None:
            self._failure = f"{self.directory} could not be synced: {job.error}"
            raise StorageError(self._failure) from job.error
        if job.mark:
            self.is_flush_marked = True
            self._remove_mark_if_untrue()
        if is_current:  # else truncation has taken away what was synced
            self.flushed_offset = job.end_offset
            if self._active is not None and self._active.base_offset < job.end_offset:
                self._active.hint(job.end_offset, job.end_position)
