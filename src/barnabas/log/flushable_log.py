"""Bringing a log to the disk: when that is due, and the jobs that do it."""

from barnabas.log.appendable_log import AppendableLog
from barnabas.log.errors import StorageError, storage_errors
from barnabas.log.flush import FlushJob, flush_job


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
        if self._flushing is not None or self._failure is not None or active is None:
            return None
        end = self.log_end_offset
        if not (everything or self.flush_required):
            end = active.base_offset
        if end <= self.flushed_offset:
            return None
        directories = []
        if not self._names_synced:
            directories = [self.directory, self.directory.rpartition("/")[0] or "/"]
        with storage_errors(f"can not flush {self.directory}"):
            job = flush_job(self._files.disk, self._segments, self.flushed_offset, end, directories)
        self._names_synced = True
        self._prepared_offset = end
        self._flushing = job
        return job

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
        if is_current:  # else truncation has taken away what was synced
            self.flushed_offset = job.end_offset
            if self._active is not None and self._active.base_offset < job.end_offset:
                self._active.hint(job.end_offset, job.end_position)
