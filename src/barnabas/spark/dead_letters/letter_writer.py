"""Writes the dead letters of a task, each exactly once, even if tasks are repeated.

For each partition that a task reads:

    fence      take over the transactional id of (group, partition): a concurrent attempt is
               rolled back, and fails
    read       which dead letters of this batch are written (`letter_progress`)
    write      the others, and the new progress, in one transaction

This is atomic and idempotent. So Spark may repeat a batch, or run a task twice, even at the same
time, and an abandoned attempt may resume. Tasks that read parts of the same partition at the same
time fence each other: the fenced one retries. A task without dead records sends nothing.
"""

import asyncio
import random
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from time import monotonic

from pyspark import TaskContext

from barnabas.backoff import Backoff
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.group.committed_offsets import fetch_offsets_and_metadata
from barnabas.client.producer.record_producer import RecordProducer
from barnabas.errors import (
    BrokerError,
    CommitUncertain,
    InvalidArgument,
    ProducerFenced,
    TransactionAborted,
)
from barnabas.records.compression import Compression
from barnabas.spark.cluster.connection import connect
from barnabas.spark.cluster.kafka_settings import ConnectionOptions
from barnabas.spark.dead_letters.dead_record import DeadRecord
from barnabas.spark.dead_letters.letter_progress import LetterProgress, LetterTask

_MAX_RECORDS = 10_000
_MAX_BYTES = 8 * 1024 * 1024
"""How much a task buffers before it writes."""
_TRANSACTION_TIMEOUT_MS = 60_000
_PATIENCE_S = 120.0
_BACKOFF = Backoff(0.02, 1.0)


@dataclass(frozen=True)
class LetterTopic:
    """A dead-letter topic, and the group that keeps which letters are written to it."""

    connection: ConnectionOptions
    """The cluster of the records: a transaction can't span clusters."""
    topic: str
    group: str
    definition: str = ""
    compression: Compression = Compression.NONE

    def open(self) -> "LetterWriter":
        """For the task of a streaming query that this code runs in."""
        context = TaskContext.get()
        assert context is not None, "this runs in a worker of Spark"
        query_id = context.getLocalProperty("sql.streaming.queryId")
        batch_id = context.getLocalProperty("streaming.sql.batchId")
        if query_id is None or batch_id is None:
            raise InvalidArgument(
                "Spark does not say which query this is: dead letters need a streaming query"
            )
        return LetterWriter(self, LetterTask(query_id, int(batch_id), self.definition))

    def transactional_id(self, partition: TopicPartition) -> str:
        return f"{self.group}-{partition}"


class LetterWriter:
    """Writes the dead records of one task, in the order of their offsets in each partition."""

    def __init__(self, target: LetterTopic, task: LetterTask) -> None:
        self._target = target
        self._task = task
        self._waiting: defaultdict[TopicPartition, list[DeadRecord]] = defaultdict(list)
        self._records = self._bytes = 0
        self._first: dict[TopicPartition, int] = {}
        """The first dead record of each partition in this task."""

    def take(self, records: Iterable[DeadRecord]) -> None:
        """Add records, and write them once there are many."""
        for each in records:
            self._waiting[each.partition].append(each)
            self._records += 1
            self._bytes += each.size
            if self._records >= _MAX_RECORDS or self._bytes >= _MAX_BYTES:
                self.flush()

    def flush(self) -> None:
        """Write all added records; when this returns, they are committed."""
        if not self._waiting:
            return
        waiting, self._waiting = self._waiting, defaultdict(list)
        self._records = self._bytes = 0
        for partition, records in waiting.items():
            self._first.setdefault(partition, records[0].offset)
        connect(self._target.connection).ask(lambda cluster: self._write_all(cluster, waiting))

    async def _write_all(
        self, cluster: ClusterClient, waiting: dict[TopicPartition, list[DeadRecord]]
    ) -> None:
        await asyncio.gather(
            *(self._write(cluster, partition, records) for partition, records in waiting.items())
        )

    async def _write(
        self, cluster: ClusterClient, partition: TopicPartition, records: Sequence[DeadRecord]
    ) -> None:
        """Retry until it is done: a fenced or uncertain attempt reads the progress again."""
        began = monotonic()
        pauses = _BACKOFF.pauses(random.random)
        while True:
            try:
                await self._write_once(cluster, partition, records)
            except (CommitUncertain, ProducerFenced, TransactionAborted) as error:
                is_final = isinstance(error, TransactionAborted) and not error.retriable
                if is_final or monotonic() - began > _PATIENCE_S:
                    raise
            else:
                return
            await asyncio.sleep(next(pauses))

    async def _write_once(
        self, cluster: ClusterClient, partition: TopicPartition, records: Sequence[DeadRecord]
    ) -> None:
        target = self._target
        producer = RecordProducer(
            cluster,
            transactional_id=target.transactional_id(partition),
            transaction_timeout_ms=_TRANSACTION_TIMEOUT_MS,
            compression=target.compression,
            linger_ms=0,
        )
        try:
            await _start(producer, target)
            found = await fetch_offsets_and_metadata(
                cluster, target.group, [partition], stable=True
            )
            committed = found.get(partition)
            before = LetterProgress.decode("" if committed is None else committed.metadata)
            progress = before.at(self._task)
            new = [each for each in records if not progress.has(each.offset)]
            if not new:
                return
            end = records[-1].offset + 1
            after = progress.plus(self._first[partition], end, len(new))
            async with producer.transaction() as transaction:
                for each in new:
                    await producer.send(
                        target.topic, each.value, key=each.key, headers=each.letter_headers()
                    )
                await transaction.send_offsets(
                    target.group, {partition: end}, metadata={partition: after.encode()}
                )
        finally:
            await producer.close(0)


async def _start(producer: RecordProducer, target: LetterTopic) -> None:
    try:
        await producer.start()
    except BrokerError as error:
        if error.retriable:
            raise
        raise InvalidArgument(
            f"dead letters for topic {target.topic} are written in transactions, which the brokers "
            f"refuse: {error}"
        ) from error


async def count_letters(cluster: ClusterClient, groups: Iterable[str], query_id: str) -> int:
    """How many dead letters a query has written, from the offsets of its groups."""
    query = LetterTask(query_id, 0).query
    count = 0
    for group in groups:
        known = await fetch_offsets_and_metadata(cluster, group)
        if known:  # waits for transactions of these partitions that are about to commit
            known = await fetch_offsets_and_metadata(cluster, group, known, stable=True)
        states = [LetterProgress.decode(each.metadata) for each in known.values()]
        count += sum(each.letters for each in states if each.query == query)
    return count
