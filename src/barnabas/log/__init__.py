"""One partition on disk: segments, indexes, recovery, retention, compaction."""

from barnabas.log.append import AppendInfo
from barnabas.log.compaction import CompactionJob
from barnabas.log.config import LogConfig
from barnabas.log.damage import refuse_damage
from barnabas.log.deletion import DeleteJob, SegmentInfo
from barnabas.log.directory import DataDirectory
from barnabas.log.errors import (
    DirectoryLocked,
    DirectoryMismatch,
    OffsetOutOfRange,
    StorageError,
)
from barnabas.log.flush import FlushJob
from barnabas.log.handles import OpenFiles
from barnabas.log.log import Log
from barnabas.log.lookup import TimestampOffset
from barnabas.log.recovery import RecoveryReport
from barnabas.log.storage import Disk, File, OsDisk

__all__ = [
    "AppendInfo",
    "CompactionJob",
    "DataDirectory",
    "DeleteJob",
    "DirectoryLocked",
    "DirectoryMismatch",
    "Disk",
    "File",
    "FlushJob",
    "Log",
    "LogConfig",
    "OffsetOutOfRange",
    "OpenFiles",
    "OsDisk",
    "RecoveryReport",
    "SegmentInfo",
    "StorageError",
    "TimestampOffset",
    "refuse_damage",
]
