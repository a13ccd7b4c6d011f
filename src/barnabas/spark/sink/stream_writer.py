"""Writing a stream to topics: `df.writeStream.format("barnabas")`.

Spark creates two writers for every batch: one where tasks are planned, which is sent to the tasks,
and one where the batch is committed. Only commit messages pass from one to the other.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from barnabas.errors import InvalidArgument
from barnabas.spark.sink.batch_writer import RowsWritten
from barnabas.spark.sink.columns import written_columns
from barnabas.spark.sink.exactly_once import Task, Written, abort_batch, commit_batch
from barnabas.spark.sink.options import SinkOptions

if TYPE_CHECKING:
    from pyarrow import RecordBatch


class AtLeastOnceWriter(DataSourceStreamArrowWriter):
    """A batch that is written again is duplicated. Committing and aborting do nothing."""

    def __init__(self, options: SinkOptions, schema: StructType) -> None:
        self._options = options
        self._columns = written_columns(schema, options.topic, headers=options.headers)

    def write(self, iterator: "Iterator[RecordBatch]") -> RowsWritten:
        from barnabas.spark.sink.row_writer import write_rows

        return RowsWritten(write_rows(self._options, self._columns, iterator))


@dataclass
class TaskWritten(WriterCommitMessage):
    """What a task has passed to the driver."""

    written: Written


class ExactlyOnceWriter(DataSourceStreamArrowWriter):
    """Every batch is written exactly once, see `exactly_once`."""

    def __init__(self, options: SinkOptions, schema: StructType) -> None:
        self._options = options
        self._columns = written_columns(schema, options.topic, headers=options.headers)

    def write(self, iterator: "Iterator[RecordBatch]") -> TaskWritten:
        from barnabas.spark.sink.transactional_writer import write_in_transaction

        return TaskWritten(
            write_in_transaction(self._options, self._columns, _this_task(), iterator)
        )

    def commit(self, messages: "Sequence[WriterCommitMessage | None]", batchId: int) -> None:  # noqa: ARG002, N803 - Spark's
        from barnabas.spark.cluster.connection import connect_when_up

        written = _of_tasks(messages)
        if written:
            settings = self._options.producer
            connect_when_up(settings.connection).ask(
                lambda cluster: commit_batch(
                    cluster, written, timeout_ms=settings.transaction_timeout_ms
                )
            )

    def abort(self, messages: "Sequence[WriterCommitMessage | None]", batchId: int) -> None:  # noqa: ARG002, N803 - Spark's
        from barnabas.spark.cluster.connection import connect_when_up

        written = _of_tasks(messages)
        if written:
            connect_when_up(self._options.producer.connection).ask(
                lambda cluster: abort_batch(cluster, written)
            )


def _of_tasks(messages: "Sequence[WriterCommitMessage | None]") -> list[Written]:
    """Tasks that failed have left nothing."""
    return [each.written for each in messages if isinstance(each, TaskWritten)]


def _this_task() -> Task:
    context = TaskContext.get()
    assert context is not None, "this runs in a worker of Spark"
    query_id = context.getLocalProperty("sql.streaming.queryId")
    batch_id = context.getLocalProperty("streaming.sql.batchId")
    run_id = context.getLocalProperty("spark.jobGroup.id")
    if query_id is None or batch_id is None or run_id is None:
        raise InvalidArgument(
            "Spark does not say which query this is: exactly-once writing needs a streaming query"
        )
    return Task(
        query_id,
        run_id,
        int(batch_id),
        context.partitionId(),
        context.attemptNumber(),
    )
