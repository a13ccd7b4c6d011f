"""Writes Arrow batches to topics, in a Spark worker."""

import os
from collections.abc import Iterator

import pyarrow as pa

from barnabas.client.producer.record_producer import RecordProducer
from barnabas.client.producer.table_sender import TableSender
from barnabas.records.columns import schema
from barnabas.spark.cluster.connection import ClusterConnection, connect
from barnabas.spark.sink.options import SinkOptions


class RowWriting:
    """Sends rows through one producer, packing in this thread while its loop sends."""

    def __init__(
        self, connection: ClusterConnection, producer: RecordProducer, options: SinkOptions
    ) -> None:
        self._connection = connection
        self._producer = producer
        self._topic = options.topic

    def send(self, batch: pa.RecordBatch, columns: list[str]) -> None:
        """Queue the rows, as soon as there is room for them."""
        if self._topic is not None:  # Spark lets it replace the column topic, and only that
            columns = [each for each in columns if each != schema.TOPIC]
        sending = TableSender(self._producer, batch.select(columns), self._topic)
        if not sending.is_prepared:
            self._connection.ask(lambda _: sending.prepare())
        for packed in sending.batches():
            if not sending.try_queue(packed):
                self._connection.begin(sending.queue(packed)).result()


def write_rows(options: SinkOptions, columns: list[str], batches: Iterator[pa.RecordBatch]) -> int:
    """Write everything and wait until it is delivered; returns how many rows it was.

    Raises `DeliveryFailed`: records that were delivered before stay.
    """
    connection = connect(options.producer.connection)
    producer = _producer(connection, options)
    writing = RowWriting(connection, producer, options)
    rows = 0
    try:
        for batch in batches:
            if batch.num_rows:
                writing.send(batch, columns)
                rows += batch.num_rows
        connection.ask(lambda _: producer.flush())
        failed = producer.take_unreported()
        if failed is not None:
            raise failed
    except BaseException:
        del _producers[os.getpid(), options]
        connection.ask(lambda _: producer.close(0))
        raise
    return rows


def _producer(connection: ClusterConnection, options: SinkOptions) -> RecordProducer:
    """The producer of this process: a worker has many tasks, one after the other."""
    key = (os.getpid(), options)
    producer = _producers.get(key)
    if producer is None:
        producer = RecordProducer(connection.cluster, **options.producer.producer)
        connection.ask(lambda _: producer.start())
        _producers[key] = producer
    return producer


_producers: dict[tuple[int, SinkOptions], RecordProducer] = {}
