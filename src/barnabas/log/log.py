"""One partition on disk: an endless run of record batches in segment files.

Invariants:
- Offsets only grow, `log_start_offset <= log_end_offset`, and the last segment is the one that is
  written to.
- What a reader gets is what was appended, byte for byte, in whole batches.
- An append takes effect as a whole or not at all. Bytes that a failed write left behind the end of
  the segment are invisible, and are cut off before anything is written there again.
- Only one thread calls a log. Jobs that it hands out may run on another; they touch no state of
  the log until they are given back to it.

No file is opened, and for a new log none is made, before the first append or read.

Each step of the ladder that it stands on has one idea: `StoredLog`, `ReadableLog`, `AppendableLog`,
`FlushableLog`, `ShrinkingLog`, `FollowingLog`, `MendableLog`.
"""

from barnabas.log.config import LogConfig
from barnabas.log.errors import storage_errors
from barnabas.log.mendable_log import MendableLog
from barnabas.log.recovery.recovery import recover
from barnabas.log.segment.open_files import OpenFiles
from barnabas.log.storage import Disk


class Log(MendableLog):
    """One partition. Make it with `Log.open`."""

    __slots__ = ()

    @classmethod
    def open(
        cls,
        disk: Disk,
        directory: str,
        config: LogConfig,
        now_ms: int,
        *,
        files: OpenFiles | None = None,
        power_lost: bool = True,
    ) -> "Log":
        """Open a partition's directory, making it if it is new and repairing it if it must be.

        Unless `power_lost`, the machine has been running all the time: then nothing but the very
        last append can be torn, and whatever else is not whole was damaged.
        """
        if files is None:
            files = OpenFiles(disk)
        with storage_errors(f"can not open {directory}"):
            if not disk.exists(directory):
                disk.make_directory(directory)
            recovered = recover(files, directory, config, now_ms, power_lost=power_lost)
        log = cls(files, directory, config, now_ms, recovered)
        if any(segment.aborted.is_lost for segment in recovered.segments):
            log._load_producers()
        return log

    def close(self) -> None:
        """Sync everything and remember it, so that the next `open` has nothing to scan.

        Jobs must have been completed before. StorageError if the disk refuses: then the next open
        scans, as after a crash.
        """
        try:
            if self._torn or self._failure is not None:
                self._mend()
            for segment in self._segments:
                segment.spill_indexes()
            if self._producers is not None and self._segments:
                self._snapshots.write(self.log_end_offset, self._producers)
            self.flush()
            if self._segments:
                self.checkpoint()
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Let go of the files and nothing else, as a crash would."""
        for segment in self._segments:
            segment.close()
