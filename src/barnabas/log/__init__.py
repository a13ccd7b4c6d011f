"""One partition on disk: segments, indexes, recovery, retention, compaction."""

from barnabas.log.append import AppendInfo
from barnabas.log.compaction import (
    CompactionJob,
    CompactionLimits,
    CompactionResult,
    Swap,
    compact,
)
from barnabas.log.config import LogConfig
from barnabas.log.damage import refuse_damage, refuse_loss
from barnabas.log.deletion import DeleteJob, SegmentInfo
from barnabas.log.directory import DataDirectory
from barnabas.log.errors import (
    DirectoryLocked,
    DirectoryMismatch,
    OffsetOutOfRange,
    RecordsLost,
    StorageError,
)
from barnabas.log.fetched import checked_batches
from barnabas.log.flush import FLUSH_MARK, FlushJob
from barnabas.log.handles import OpenFiles
from barnabas.log.log import Log
from barnabas.log.lookup import TimestampOffset
from barnabas.log.lost_ranges import LostRange
from barnabas.log.recovery import RecoveryReport
from barnabas.log.scrub import Rot, ScrubJob
from barnabas.log.storage import Disk, File, OsDisk
from barnabas.log.topic_id import METADATA_FILE, read_topic_id, write_topic_id
from barnabas.log.transaction_index import AbortedTransaction

__all__ = [
    "FLUSH_MARK",
    "METADATA_FILE",
    "AbortedTransaction",
    "AppendInfo",
    "CompactionJob",
    "CompactionLimits",
    "CompactionResult",
    "DataDirectory",
    "DeleteJob",
    "DirectoryLocked",
    "DirectoryMismatch",
    "Disk",
    "File",
    "FlushJob",
    "Log",
    "LogConfig",
    "LostRange",
    "OffsetOutOfRange",
    "OpenFiles",
    "OsDisk",
    "RecordsLost",
    "RecoveryReport",
    "Rot",
    "ScrubJob",
    "SegmentInfo",
    "StorageError",
    "Swap",
    "TimestampOffset",
    "checked_batches",
    "compact",
    "read_topic_id",
    "refuse_damage",
    "refuse_loss",
    "write_topic_id",
]
