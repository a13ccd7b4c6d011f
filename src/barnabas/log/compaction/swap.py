"""Replacing segments by the outputs of a compaction, step by step.

`step`, on the log's own thread, renames one output over the first segment that it replaces, which
is one atomic operation, and renames the others that it replaces to `.deleted`. `settle`, on any
other thread, syncs that and frees the blocks of the replaced file; both are slow. The next output
follows after that: it may lack the tombstone that hides a record in the segments before.

At every moment a crash leaves, for every output, the old segments or the new one: before the rename
the `.cleaned` file is a leftover; after it a replaced segment that still exists has a base offset
inside its predecessor. An output has no aborted records and needs no `.txnindex`; the old one is
removed after the rename.
"""

from collections.abc import Callable

from barnabas.log.compaction.job import CompactionJob, CompactionResult
from barnabas.log.compaction.output import Output
from barnabas.log.compaction.source import Source
from barnabas.log.compaction_progress import Progress
from barnabas.log.segment.deletion import DeleteJob, SegmentInfo, rename_deleted
from barnabas.log.segment.open_files import OpenFiles
from barnabas.log.segment.segment import Segment
from barnabas.log.segment.segments import Segments
from barnabas.log.storage import File


class Swap:
    """Puts the outputs of one job in place."""

    def __init__(
        self,
        files: OpenFiles,
        segments: Segments,
        progress: Progress,
        job: CompactionJob,
        result: CompactionResult,
        distrust: Callable[[list[Source]], None],
    ) -> None:
        """`distrust` makes recovery scan these sources: a new segment may have the old size."""
        self._files = files
        self._segments = segments
        self._progress = progress
        self._job = job
        self._result = result
        self._left = list(result.outputs)
        self._distrust = distrust
        self._unsettled = False
        self._replaced: list[File] = []
        self._merged: list[SegmentInfo] = []
        self._paths: list[str] = []

    def step(self) -> bool:
        """Put the next output in place. False if there is none left, or the log has changed.

        OSError leaves the log consistent, with some outputs in place and the others not.
        """
        assert not self._unsettled
        if not self._left:
            return False
        output = self._left[0]
        replaced = self._find(output)
        if replaced is None or self._progress.truncations != self._job.truncations:
            return False
        # Before the first output is in place: it may lack tombstones already.
        deletions_upto = max(self._progress.deletions_upto, self._result.deletions_upto)
        self._progress.deletions_upto = deletions_upto
        self._distrust([source for left in self._left for source in left.sources])
        self._rename(output, replaced)
        del self._left[0]
        return True

    def _find(self, output: Output) -> list[Segment] | None:
        """The segments that it replaces, if the log still has all of them, in sequence."""
        bases = [segment.base_offset for segment in self._segments[:-1]]
        first = output.sources[0].base_offset
        if first not in bases:
            return None
        at = bases.index(first)
        found = self._segments[at : min(at + len(output.sources), len(bases))]
        return found if [Source.of(segment) for segment in found] == output.sources else None

    def _rename(self, output: Output, replaced: list[Segment]) -> None:
        disk, directory = self._files.disk, self._job.directory
        old = replaced[0]
        # While this is open, the rename frees no blocks of the old file, which is slow.
        kept_open = old.log.duplicate()
        old.close()
        interval = self._job.config.index_interval_bytes
        segment = Segment(self._files, directory, old.base_offset, interval, created_ms=0)
        log_path, *index_paths = segment.paths()
        try:
            disk.rename(f"{log_path}{output.suffix}", log_path)
        except OSError:
            kept_open.close()
            raise
        self._replaced.append(kept_open)
        self._unsettled = True
        output.state.apply(segment)
        at = self._segments.index(old)
        self._segments[at] = segment
        try:
            for path in index_paths:
                self._take_index(path, output.suffix)
        except OSError:
            segment.rebuild_indexes()
        self._remove_merged(replaced[1:])

    def _remove_merged(self, merged: list[Segment]) -> None:
        """Remove segments from the log, even if their files can't be renamed."""
        failure: OSError | None = None
        for segment in merged:
            self._segments.remove(segment)
            self._merged.append(SegmentInfo.of(segment))
            try:
                self._paths += rename_deleted(self._files.disk, segment)
            except OSError as error:
                failure = error
                self._paths += segment.paths()
        if failure is not None:
            raise failure

    def _take_index(self, path: str, suffix: str) -> None:
        try:
            self._files.disk.rename(f"{path}{suffix}", path)
        except FileNotFoundError:
            self._files.disk.unlink(path)

    def settle(self) -> None:
        """Sync the last step; on any thread. Raises OSError."""
        try:
            self._files.disk.sync_directory(self._job.directory)
        finally:
            for file in self._replaced:
                file.close()
            self._replaced.clear()
        self._unsettled = False

    def drop(self, paths: list[str]) -> None:
        """Remove these files as well."""
        self._paths += paths

    def end(self) -> DeleteJob | None:
        """The job that removes replaced files, and outputs that were not put in place."""
        if (
            self._result.error is None
            and not self._left
            and not self._unsettled
            and self._progress.truncations == self._job.truncations
        ):
            self._progress.compacted_offset = self._result.end_offset
            self._progress.last_horizon_ms = self._result.last_horizon_ms
        paths = list(self._paths)
        for output in self._left:
            paths += output.paths
        return DeleteJob(self._files.disk, paths, self._merged) if paths else None
