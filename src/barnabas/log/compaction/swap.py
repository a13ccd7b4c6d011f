"""Putting the outputs in the place of the segments that they replace, step by step.

`step`, on the log's own thread, renames one output over the first segment that it replaces, which
is one atomic operation, and sets the others that it replaces aside. `settle`, on any other, makes
that last, and gives the disk back what is not needed; both take the file system a while. The next
output follows after that: it may lack the tombstone that hides a record in the segments before.

A crash leaves at every moment, for every output, the old segments or the new one: before the rename
the `.cleaned` file is a leftover, and after it a replaced segment that still stands there is known
by its base offset lying inside its predecessor. A segment of outputs has no aborted records and
needs no `.txnindex`; the old one goes after the rename, when nothing is left for it to tell.
"""

from collections.abc import Callable

from barnabas.log.compaction.job import CompactionJob, CompactionResult
from barnabas.log.compaction.output import Output
from barnabas.log.compaction.source import Source
from barnabas.log.compaction_progress import Progress
from barnabas.log.segment.deletion import DeleteJob, SegmentInfo, set_aside
from barnabas.log.segment.open_files import OpenFiles
from barnabas.log.segment.segment import Segment
from barnabas.log.segment.segments import Segments
from barnabas.log.storage import File


class Swap:
    """The way of the outputs of one job into the log."""

    def __init__(
        self,
        files: OpenFiles,
        segments: Segments,
        progress: Progress,
        job: CompactionJob,
        result: CompactionResult,
        unvouch: Callable[[list[Source]], None],
    ) -> None:
        """`unvouch` sees to it that recovery takes no new segment for the old one of that name."""
        self._files = files
        self._segments = segments
        self._progress = progress
        self._job = job
        self._result = result
        self._left = list(result.outputs)
        self._unvouch = unvouch
        self._unsettled = False
        self._replaced: list[File] = []
        self._merged: list[SegmentInfo] = []
        self._paths: list[str] = []

    def step(self) -> bool:
        """Put the next output in its place. False if there was none left, or it fits no more.

        OSError leaves the log whole: with some outputs in place and the others not.
        """
        assert not self._unsettled
        if not self._left:
            return False
        output = self._left[0]
        replaced = self._find(output)
        if replaced is None or self._progress.truncations != self._job.truncations:
            return False
        self._unvouch([source for left in self._left for source in left.sources])
        self._rename(output, replaced)
        del self._left[0]
        return True

    def _find(self, output: Output) -> list[Segment] | None:
        """The segments that it replaces, if they are all still there, one behind the other."""
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
        # While this is open, the rename frees no blocks of it: that would take a while.
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
        self._set_aside(replaced[1:])

    def _set_aside(self, merged: list[Segment]) -> None:
        """They are no part of the log any more, whether or not the disk lets their names go now."""
        failure: OSError | None = None
        for segment in merged:
            self._segments.remove(segment)
            self._merged.append(SegmentInfo.of(segment))
            try:
                self._paths += set_aside(self._files.disk, segment)
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
        """On any thread, after every step. OSError if the disk fails to."""
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
        """The files that are to be removed, those of outputs that found no place included."""
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
