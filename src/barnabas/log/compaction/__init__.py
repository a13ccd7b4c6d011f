"""Compaction: of every key only the last record is retained. Offsets never change.

log_compaction  the compaction of an open log: urgency, job, swap
plan            whether a log is due, and which segments take part; on the log's thread
job             the pass over them; in another process, or on another thread
child           that process
key_map         the last offset of every key
retained        what is retained of a batch
raw_records     records as bytes
output          the new segments
swap            the new segments replace the old ones; on the log's thread again
throttle        a limit of bytes per second
"""

from barnabas.log.compaction.job import CompactionJob, CompactionLimits, CompactionResult, compact
from barnabas.log.compaction.plan import OVERDUE
from barnabas.log.compaction.swap import Swap

__all__ = [
    "OVERDUE",
    "CompactionJob",
    "CompactionLimits",
    "CompactionResult",
    "Swap",
    "compact",
]
