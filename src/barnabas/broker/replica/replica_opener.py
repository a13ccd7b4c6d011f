"""Opens the log of a replica, recovers it, and decides whether it can be trusted."""

import logging
from collections.abc import Callable

from barnabas.broker.replica.append_limits import AppendLimits
from barnabas.broker.replica.directory_owner import OWNER_UNKNOWN, claim_directory, holds_files
from barnabas.broker.replica.high_watermark_checkpoint import HighWatermarkCheckpoint
from barnabas.broker.replica.partition import Partition
from barnabas.broker.replica.partition_host import PartitionHost
from barnabas.broker.replica.replica_doubt import ReplicaDoubt
from barnabas.broker.replica.replica_trust import accept_alone, examine
from barnabas.broker.runtime.clock import Clock
from barnabas.log import (
    DataDirectory,
    Disk,
    Log,
    LogConfig,
    OpenFiles,
    RecoveryReport,
)
from barnabas.metadata.image import TopicImage

logger = logging.getLogger(__name__)

_OPEN_FILES = 4096


class ReplicaOpener:
    """Opens the replicas of a node in its data directory."""

    def __init__(
        self,
        data: DataDirectory,
        disk: Disk,
        clock: Clock,
        host: PartitionHost,
        high_watermarks: HighWatermarkCheckpoint,
        *,
        is_suspect: Callable[[], bool],
        is_directory_new: Callable[[], bool],
    ) -> None:
        self._data = data
        self._disk = disk
        self._files = OpenFiles(disk, limit=_OPEN_FILES)
        self._clock = clock
        self._host = host
        self._node_id = host.node_id
        self._high_watermarks = high_watermarks
        self._is_suspect = is_suspect
        self._is_directory_new = is_directory_new
        self.suspects: set[tuple[bytes, int]] = set()
        """Replicas that could not be opened yet when the disk was suspect."""
        self.scanned_bytes = 0
        """Read to recover logs that were not closed."""

    def failed(self, topic_id: bytes, index: int) -> None:
        """A replica can't be opened. If the disk is suspect now, the replica remains so."""
        if self._is_suspect():
            self.suspects.add((topic_id, index))

    def open(
        self, topic: TopicImage, index: int, log_config: LogConfig, limits: AppendLimits
    ) -> Partition:
        """Open a replica, and create its directory if there is none. Raises `StorageError`."""
        path = self._data.partition_path(topic.name, index)
        acknowledged = self._high_watermarks.acknowledged(topic.name, topic.topic_id, index)
        was_there = holds_files(self._disk, path)
        if not was_there:
            self._high_watermarks.directory_is_gone(topic.name, topic.topic_id, index)
            acknowledged = self._high_watermarks.acknowledged(topic.name, topic.topic_id, index)
        is_claimed = claim_directory(
            self._disk,
            self._data,
            topic.name,
            topic.topic_id,
            index,
            self._high_watermarks.topic_id(topic.name, index),
        )
        key = topic.topic_id, index
        power_lost = self._is_suspect() or key in self.suspects
        now_ms = self._clock.now_ms()
        log = Log.open(
            self._disk, path, log_config, now_ms, files=self._files, power_lost=power_lost
        )
        if log.recovery is not None:
            self.scanned_bytes += log.recovery.scanned_bytes
            self._report(topic.name, index, log.recovery)
        name = f"{topic.name}-{index}"
        doubt = ReplicaDoubt()
        if topic.partitions[index].is_only_replica(self._node_id):
            accept_alone(
                name, log, acknowledged, now_ms, was_there=was_there, power_lost=power_lost
            )
        else:
            doubt = examine(
                log,
                acknowledged,
                was_there=was_there,
                power_lost=power_lost,
                is_directory_new=self._is_directory_new(),
                leader_epoch=topic.partitions[index].leader_epoch,
            )
            if not is_claimed:
                doubt = ReplicaDoubt(OWNER_UNKNOWN, log.log_end_offset, lacks_end=True)
        log.configure(log_config)  # the settings may have changed since it was written
        partition = Partition(topic.name, index, topic.topic_id, log, limits, self._host)
        partition.doubt = doubt
        log.is_in_doubt = bool(doubt)
        if doubt.lacks_end or log.gap_from is not None:  # other evidence stays on the disk
            log.suspects.note(doubt.suspect_from)
        if log.flusher.is_required and log.flushed_offset < log.log_end_offset:
            # Unsynced since a crash: must not be served yet.
            if not power_lost:
                log.flusher.write_again()
            log.flusher.flush()
        elif log.flusher.lacks_mark:
            self._host.on_append(partition)
        return partition

    def _report(self, topic: str, index: int, recovery: RecoveryReport) -> None:
        name = f"{topic}-{index}"
        if recovery.lost:
            logger.warning("%s has lost %s", name, recovery.lost)
        if recovery.corrected_epochs:
            logger.warning(
                "%s: damaged leader epochs corrected: %d", name, recovery.corrected_epochs
            )
        if recovery.scanned_bytes or recovery.dropped_segments:
            self._host.unclosed(name, recovery.scanned_bytes, recovery.cut_bytes)
