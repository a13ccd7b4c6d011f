"""One partition on disk: record batches in segment files.

Invariants:
- Offsets only grow, `log_start_offset <= log_end_offset`, and appends go to the last segment.
- A reader gets what was appended, byte for byte, in whole batches.
- An append takes effect as a whole or not at all.
- Only one thread calls a log. Jobs that it hands out may run on another; they touch no state of
  the log until they are given back to it.

No file is opened, and for a new log none is made, before the first append or read.
"""

from barnabas.log.appender import Appender
from barnabas.log.compaction.log_compaction import LogCompaction
from barnabas.log.config import LogConfig
from barnabas.log.damage import LogDamage
from barnabas.log.epoch_repair import EpochRepair
from barnabas.log.errors import storage_errors
from barnabas.log.flusher import LogFlusher
from barnabas.log.local_log import LocalLog
from barnabas.log.producers.state import ProducerState
from barnabas.log.reader import LogReader
from barnabas.log.recovery.recovered import Recovered
from barnabas.log.recovery.recovery import recover
from barnabas.log.retention import LogRetention
from barnabas.log.roller import SegmentRoller
from barnabas.log.scrub import LogScrub
from barnabas.log.segment.open_files import OpenFiles
from barnabas.log.state_file import StateFile
from barnabas.log.storage import Disk
from barnabas.log.suspects import LogSuspects
from barnabas.log.truncation import LogTruncation


class Log(LocalLog):
    """The shared state of a log, and the parts that work on it. Make it with `Log.open`.

    The state is inherited since `log.log_end_offset` is on the hot path, where a property would
    cost. `log.append`, `log.read` and the like are shortcuts to the parts' methods; calls for every
    batch go to the part itself (`log.appender.append`), which is faster.
    """

    __slots__ = (
        "append",
        "append_as_follower",
        "appender",
        "checkpoint",
        "compaction",
        "configure",
        "damage",
        "epoch_repair",
        "flusher",
        "producer_state",
        "read",
        "reader",
        "retention",
        "scrub",
        "state_file",
        "suspects",
        "truncate_fully_and_start_at",
        "truncate_to",
        "truncation",
    )

    def __init__(
        self,
        files: OpenFiles,
        directory: str,
        config: LogConfig,
        now_ms: int,
        recovered: Recovered,
    ) -> None:
        super().__init__(files, directory, config, now_ms, recovered)
        is_state_current = recovered.report is None and not recovered.is_state_outdated
        self.state_file = StateFile(self, is_current=is_state_current)
        self.producer_state = ProducerState(self, recovered.snapshots)
        self.reader = LogReader(self)
        self.flusher = LogFlusher(self)
        self.truncation = LogTruncation(self, self.producer_state, self.flusher, self.state_file)
        roller = SegmentRoller(self, self.producer_state)
        self.appender = Appender(
            self, self.producer_state, roller, self.flusher, self.truncation, self.state_file
        )
        self.retention = LogRetention(self, self.producer_state, roller, self.state_file)
        self.compaction = LogCompaction(self, self.producer_state, roller, self.state_file)
        self.damage = LogDamage(self, roller, self.state_file)
        self.scrub = LogScrub(self)
        self.epoch_repair = EpochRepair(self)
        self.suspects = LogSuspects(self, self.flusher, self.state_file)
        if self.suspect_epochs_from is not None:
            suspect_from = self.suspect_epochs_from
            self.state_file.distrust(
                segment.base_offset
                for segment in self.segments
                if segment.next_offset > suspect_from
            )

        self.read = self.reader.read
        self.append = self.appender.append
        self.append_as_follower = self.appender.append_as_follower
        self.truncate_to = self.truncation.truncate_to
        self.truncate_fully_and_start_at = self.truncation.truncate_fully_and_start_at
        self.checkpoint = self.state_file.checkpoint
        self.configure = self.flusher.configure

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
        """Open a partition's directory: make it if it is new, and recover it if it has to be.

        Without `power_lost` the machine has been running since the log was written: then only the
        very last append can be torn, and any other flaw is damage. Raises `StorageError`.
        """
        if files is None:
            files = OpenFiles(disk)
        with storage_errors(f"cannot open {directory}"):
            if not disk.exists(directory):
                disk.make_directory(directory)
            recovered = recover(files, directory, config, now_ms, power_lost=power_lost)
        log = cls(files, directory, config, now_ms, recovered)
        if any(segment.aborted.is_lost for segment in recovered.segments):
            _ = log.producer_state.table  # loading it builds the transaction indexes again
        return log

    def close(self, *, sync_state: bool = True) -> None:
        """Sync everything and write `log.state`, so that the next `open` has nothing to scan.

        Jobs must be completed before. Without `sync_state`, `state_file.sync` is to follow.
        `StorageError` if the disk refuses: then the next `open` scans, as after a crash.
        """
        producers = self.producer_state
        try:
            self.require_appendable()
            for segment in self.segments:
                segment.spill_indexes()
            self.flusher.flush()
            if self.segments:
                if self.closed_end != self.log_end_offset:
                    self.closed_end = self.log_end_offset
                    self.state_file.invalidate()
                self.checkpoint()
                # Behind the state: a snapshot at the end of a log that is not closed says that a
                # segment began there.
                if producers.loaded is not None:
                    producers.snapshots.write(self.log_end_offset, producers.loaded)
                if sync_state:
                    self.state_file.sync()
            self.failure = f"{self.directory} is closed"  # its state says where it ends
        finally:
            self.abandon()

    def loss_is_known(self) -> None:
        """No other replica relies on the lost end of this one. Raises `StorageError`."""
        if self.expected_end:
            self.expected_end = 0
            with storage_errors(f"cannot remove a snapshot of {self.directory}"):
                self.producer_state.snapshots.drop_above(self.log_end_offset - 1)
            self.state_file.invalidate()
            self.checkpoint()

    def abandon(self) -> None:
        """Close the files and do nothing else, as a crash would."""
        for segment in self.segments:
            segment.close()
