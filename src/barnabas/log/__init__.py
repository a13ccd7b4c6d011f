"""One partition on disk.

log                  `Log`: the parts below, put together
  local_log          the state that they share: segments, offsets, settings
  appender           append as a leader and as a follower; offset_assignment, fetch_validation
  reader             read by offset; timestamp_lookup
  flusher            when to sync, and flush_job
  truncation         cut off the end of a log
  retention          delete the oldest segments
  compaction/        keep the last record of every key; compaction_progress
  producers/         duplicates, sequences, transactions
  damage             lost records; lost_ranges
  scrub              read segments to find bit rot
  epoch_repair       correct leader epochs of batches; epoch_order
  roller             begin a new segment
  start_mark         where the segments start, when the oldest were deleted
  state_file         write `log.state`; its content is in state
segment/             one segment file and its indexes
recovery/            open a directory after a stop, a crash, a power loss or damage
offline/             `barnabas log`: dump, repair
directory/           the data directory of a node; set_aside is a part of it
storage              everything that the log asks of the operating system
"""

from barnabas.log.compaction import (
    CompactionJob,
    CompactionLimits,
    CompactionResult,
    Swap,
    compact,
)
from barnabas.log.config import LogConfig
from barnabas.log.directory.data_directory import DataDirectory
from barnabas.log.directory.partition_metadata import read_topic_id, write_topic_id
from barnabas.log.errors import (
    BatchDamaged,
    DirectoryLocked,
    DirectoryMismatch,
    OffsetOutOfRange,
    RecordsLost,
    StorageError,
)
from barnabas.log.fetch_validation import checked_batches
from barnabas.log.flush_job import FLUSH_MARK, FlushJob
from barnabas.log.log import Log
from barnabas.log.lost_ranges import LostRange
from barnabas.log.offset_assignment import AppendInfo
from barnabas.log.recovery.recovered import RecoveryReport
from barnabas.log.recovery.refusal import refuse_damage, refuse_loss
from barnabas.log.scrub import Rot, ScrubJob
from barnabas.log.segment.deletion import DeleteJob, SegmentInfo
from barnabas.log.segment.file_names import METADATA_FILE
from barnabas.log.segment.open_files import OpenFiles
from barnabas.log.segment.transaction_index import AbortedTransaction
from barnabas.log.storage import Disk, File, OsDisk
from barnabas.log.timestamp_lookup import TimestampOffset

__all__ = [
    "FLUSH_MARK",
    "METADATA_FILE",
    "AbortedTransaction",
    "AppendInfo",
    "BatchDamaged",
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
