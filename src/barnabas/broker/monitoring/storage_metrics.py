"""Metrics of the disk: syncs, recovery, compaction, room."""

import os

from barnabas.broker.node import Node
from barnabas.metrics.exposition import Samples, counter, gauge
from barnabas.metrics.metric import Kind, Metric

_MS = 1000

_FLUSHES = Metric(
    "kafka_log_logflushstats_logflushrateandtimems",
    Kind.SUMMARY,
    "Time of a flush of a topic with flush.messages or flush.ms, in milliseconds",
    ("quantile",),
)
_SYNCS = Metric(
    "barnabas_fsync_seconds",
    Kind.HISTOGRAM,
    "Time of writes with fsync: to logs of topics with flush.*, and to the metadata log",
    ("log", "le"),
    "a 0.99 quantile above 0.5 s for 10 minutes: the disk is overloaded or failing",
)
_RECOVERY_ASSIGNED = gauge("barnabas_recovery_partitions", "Replicas assigned to this node")
_RECOVERY_OPEN = gauge(
    "barnabas_recovery_partitions_open",
    "Replicas that are open; fewer than barnabas_recovery_partitions during a start",
)
_RECOVERY_BYTES = counter(
    "barnabas_recovery_scanned_bytes_total", "Bytes read to recover logs that were not closed"
)
_DIRTY = gauge(
    "kafka_log_logcleanermanager_max_dirty_percent",
    "Dirty part of the partition that needs compaction most; 100 if it is overdue",
)
_UNCLEANABLE = gauge(
    "kafka_log_logcleanermanager_uncleanable_partitions_count",
    "Partitions whose last compaction failed",
    alarm="above 0 for an hour: the log of the node says why",
)
_BACKLOG = gauge(
    "barnabas_compaction_backlog_partitions",
    "Partitions that are due for compaction",
    alarm="growing for an hour: compaction does not keep up",
)
_COMPACTIONS = counter("barnabas_compaction_runs_total", "Compactions completed")
_FREED = counter("barnabas_compaction_freed_bytes_total", "Bytes that compactions have removed")
_DISK_FREE = gauge(
    "barnabas_disk_free_bytes",
    "Free bytes on the disk of the data directory",
    alarm="below 10 % of barnabas_disk_total_bytes: shorten retention or add disk",
)
_DISK_TOTAL = gauge("barnabas_disk_total_bytes", "Size of the disk of the data directory")
METRICS = (
    *(_FLUSHES, _SYNCS, _RECOVERY_ASSIGNED, _RECOVERY_OPEN, _RECOVERY_BYTES, _DIRTY),
    *(_UNCLEANABLE, _BACKLOG, _COMPACTIONS, _FREED, _DISK_FREE, _DISK_TOTAL),
)


def collect(node: Node, samples: Samples, assigned: int, is_open: int) -> None:
    """`assigned` is the number of replicas of this node, `is_open` of those that are open."""
    samples.add_quantiles(_FLUSHES, node.flusher.times, _MS)
    samples.add_histogram(_SYNCS, node.flusher.times, log="data")
    samples.add_histogram(_SYNCS, node.quorum.write_times, log="metadata")
    samples.add(_RECOVERY_ASSIGNED, assigned)
    samples.add(_RECOVERY_OPEN, is_open)
    samples.add(_RECOVERY_BYTES, node.partitions.recovered_bytes)
    backlog = node.compaction_backlog
    samples.add(_DIRTY, round(backlog.max_dirty_share * 100, 2))
    samples.add(_UNCLEANABLE, backlog.failed)
    samples.add(_BACKLOG, backlog.due)
    samples.add(_COMPACTIONS, backlog.runs)
    samples.add(_FREED, backlog.freed_bytes)
    disk = os.statvfs(node.data.path)
    samples.add(_DISK_FREE, disk.f_bavail * disk.f_frsize)
    samples.add(_DISK_TOTAL, disk.f_blocks * disk.f_frsize)
