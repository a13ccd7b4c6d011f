"""What a task of an exactly-once stream does: write in a transaction, and leave it prepared."""

import os
from collections.abc import Iterator

import pyarrow as pa

from barnabas.client.producer.record_producer import RecordProducer
from barnabas.client.producer.transaction import ProducerTransaction
from barnabas.errors import InvalidArgument, NotAuthorized
from barnabas.spark.cluster.connection import ClusterConnection, connect_when_up
from barnabas.spark.sink.commit_log import NOTHING_READ, KnownState
from barnabas.spark.sink.exactly_once import Task, Written, claim, is_decided
from barnabas.spark.sink.options import SinkOptions
from barnabas.spark.sink.row_writer import RowWriting


def write_in_transaction(
    options: SinkOptions, columns: list[str], task: Task, batches: Iterator[pa.RecordBatch]
) -> Written:
    """Write everything, unless the batch is already decided; a failure is rolled back.

    The transaction begins with the first row: a task without rows costs nothing.
    """
    connection = connect_when_up(options.producer.connection)
    known = _claimed(connection, task)
    if is_decided(known.state, task):
        for _ in batches:
            pass  # Spark expects that all rows are consumed
        return Written(task, known, None)
    with_rows = (batch for batch in batches if batch.num_rows)
    first = next(with_rows, None)
    if first is None:
        return Written(task, known, None)
    timeout_ms = options.producer.transaction_timeout_ms
    producer = RecordProducer(
        connection.cluster,
        transactional_id=task.transactional_id,
        transaction_timeout_ms=timeout_ms,
        **options.producer.producer,
    )
    transaction = connection.ask(lambda _: _begin(producer, timeout_ms))
    try:
        writing = RowWriting(connection, producer, options)
        writing.send(first, columns)
        for batch in with_rows:
            writing.send(batch, columns)
        prepared = connection.ask(lambda _: transaction.prepare())
    finally:
        connection.ask(lambda _: producer.close(0))  # rolls back what is not prepared
    return Written(task, known, prepared)


async def _begin(producer: RecordProducer, timeout_ms: int | None) -> ProducerTransaction:
    try:
        await producer.start()
    except (InvalidArgument, NotAuthorized) as error:
        if timeout_ms is not None:
            raise
        raise InvalidArgument(
            f"{error}. Or set the option kafka.transaction.timeout.ms: then a batch may be lost, "
            "which raises an error, if the query fails while it commits and stays down for longer"
        ) from error
    transaction = producer.transaction()
    transaction.begin()
    return transaction


def _claimed(connection: ClusterConnection, task: Task) -> KnownState:
    """The state of the query when this run claimed it: no other run can change it meanwhile."""
    key = (os.getpid(), task.query_id)
    run_id, known = _claims.get(key, ("", NOTHING_READ))
    if run_id != task.run_id:
        known = connection.ask(lambda cluster: claim(cluster, task))
        _claims[key] = task.run_id, known
    return known


_claims: dict[tuple[int, str], tuple[str, KnownState]] = {}
"""The run that owns each query, as far as this process has claimed it."""
