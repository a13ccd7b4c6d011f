"""Compaction: of every key only the last record stays. Offsets never change.

log_compaction  what an open log offers: urgency, job, swap
plan         whether a log is due, and which segments take part; on the log's thread
job          the pass over them; in another process, or on another thread
key_map      the last offset of every key
retained     what stays of a batch
raw_records  records as bytes
output       the new segments
swap         the new segments take the place of the old ones; on the log's thread again
"""

from barnabas.log.compaction.job import CompactionJob, CompactionLimits, CompactionResult, compact
from barnabas.log.compaction.plan import OVERDUE, must_roll, plan
from barnabas.log.compaction.producers import last_of_producers
from barnabas.log.compaction.source import Source
from barnabas.log.compaction.swap import Swap
from barnabas.log.compaction_progress import Progress

__all__ = [
    "OVERDUE",
    "CompactionJob",
    "CompactionLimits",
    "CompactionResult",
    "Progress",
    "Source",
    "Swap",
    "compact",
    "last_of_producers",
    "must_roll",
    "plan",
]
