"""Ranges of logs divided among tasks.

Spark's own Kafka source makes a task for each partition. Here partitions are packed into as many
tasks as run at once, and large ones are split: a task costs some 20 ms, in which it could have read
tens of thousands of records, and one that has much more to do than the others keeps them waiting.
The rows of a partition stay in order within a task.
"""

from collections.abc import Iterable, Sequence

from pyspark.sql.datasource import InputPartition

from barnabas.client.consumer.range_reader import RecordRange

MIN_TASK_RECORDS = 2_000
"""Fewer are not worth a task, unless minPartitions requires it."""

USUAL_TASK_RECORDS = 250_000
"""Takes a part of a second: for a cluster whose parallelism is not known."""

MAX_TASK_RECORDS = 10_000_000
"""Limits the work that a failed task has to repeat."""


class RangesPartition(InputPartition):
    """What one task reads."""

    def __init__(self, ranges: Sequence[RecordRange], min_timestamp_ms: int | None = None) -> None:
        super().__init__(None)
        self.ranges = tuple(ranges)
        self.min_timestamp_ms = min_timestamp_ms


def plan_tasks(
    ranges: Iterable[RecordRange],
    *,
    parallelism: int | None,
    min_tasks: int | None = None,
    max_task_records: int | None = None,
) -> list[list[RecordRange]]:
    """Cut ranges into tasks of about equal size, none of them empty.

    `parallelism` is how many run at once. Without it every partition that is worth it has its
    own task, as with Spark's source, and large ones have several.
    """
    ordered = sorted(each for each in ranges if each.start < each.end)
    total = sum(each.end - each.start for each in ordered)
    if not total:
        return []
    limit = min(max_task_records or MAX_TASK_RECORDS, MAX_TASK_RECORDS)
    worthwhile = -(-total // MIN_TASK_RECORDS)
    if parallelism is None:
        parallelism = max(len(ordered), -(-total // USUAL_TASK_RECORDS))
    usual = min(parallelism, worthwhile)
    tasks = max(usual, min_tasks or 1, -(-total // limit))
    return _cut(ordered, -(-total // tasks))


def _cut(ranges: Iterable[RecordRange], task_records: int) -> list[list[RecordRange]]:
    """Pieces of `task_records` each; the last one may have fewer."""
    pieces: list[list[RecordRange]] = [[]]
    room = task_records
    for each in ranges:
        start, end = each.start, each.end
        while start < end:
            if not room:
                pieces.append([])
                room = task_records
            stop = min(end, start + room)
            pieces[-1].append(each._replace(start=start, end=stop))
            room -= stop - start
            start = stop
    return pieces
