"""Decisions about the batches of streams, in a compacted topic: one record for each query.

    topic       __barnabas_spark_commits, compacted, never deleted
    key         the id of the query, as its checkpoint has it
    value       JSON: {"run", "past_runs", "batch", "decided_by", "transactions": [[id, producer
                id, epoch], ...]}

`run` is the run that owns the query: a restart takes it from the run before, for good. `batch` is
the last batch that is decided; until all of its transactions are committed, no later batch starts.
So one record is enough.

A change is made in a transaction, under a transactional id of the query. Starting it fences earlier
changes; then it reads the current state. Of two concurrent changes one fails, and none
overwrites a state that it has not read.

A change reads to the end of the log, not only to the oldest open transaction, because changes of
this query may be behind it. It waits for the open transactions of other queries. A read does not
wait: a run that sees its own claim has seen everything before it.
"""

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

from barnabas.client.admin.topics import create_topic
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicMetadata, TopicPartition
from barnabas.client.consumer.range_reader import RecordRange
from barnabas.client.consumer.range_tables import RangeTables
from barnabas.client.offsets.isolation import IsolationLevel
from barnabas.client.offsets.list_offsets import beginning_and_end
from barnabas.client.producer.prepared_transactions import PreparedTransaction
from barnabas.client.producer.record_producer import RecordProducer
from barnabas.errors import (
    CommitUncertain,
    ProducerFenced,
    TopicExists,
    TransactionAborted,
    UnknownTopic,
)
from barnabas.records.columns.schema import KEY, VALUE
from barnabas.records.murmur2 import partition_for_key

TOPIC = "__barnabas_spark_commits"
PREFIX = "barnabas-spark-"
"""Prefix of transactional ids; the query's id follows."""

NO_BATCH = -1

UNSETTLED = (CommitUncertain, ProducerFenced, TransactionAborted)
"""After one of these a change may be repeated: it first reads whether it has happened."""

_PARTITIONS = 8
_CONFIGS = {"cleanup.policy": "compact", "segment.bytes": "2097152"}
_PAST_RUNS = 50
_CHANGE_TIMEOUT_MS = 10_000


@dataclass(frozen=True)
class QueryState:
    """The state of a query."""

    run: str
    past_runs: tuple[str, ...] = ()
    """The last runs that owned it before; they must not resume."""
    batch: int = NO_BATCH
    decided_by: str = ""
    transactions: tuple[PreparedTransaction, ...] = ()

    def claimed_by(self, run: str) -> "QueryState":
        past_runs = (*self.past_runs, self.run)[-_PAST_RUNS:]
        return QueryState(run, past_runs, self.batch, self.decided_by, self.transactions)

    def with_batch(self, batch: int, transactions: list[PreparedTransaction]) -> "QueryState":
        return QueryState(self.run, self.past_runs, batch, self.run, tuple(transactions))

    def encode(self) -> bytes:
        return json.dumps(self.__dict__, separators=(",", ":")).encode()

    @classmethod
    def decode(cls, value: bytes) -> "QueryState":
        fields = json.loads(value)
        return cls(
            fields["run"],
            tuple(fields["past_runs"]),
            fields["batch"],
            fields["decided_by"],
            tuple(PreparedTransaction(*each) for each in fields["transactions"]),
        )


class KnownState(NamedTuple):
    """The state of a query as far as the log was read."""

    state: QueryState | None
    offset: int
    """Where to continue reading."""


NOTHING_READ = KnownState(None, 0)


class CommitLog:
    """The state of one query. `known` is what was read before, maybe elsewhere."""

    def __init__(
        self, cluster: ClusterClient, query_id: str, known: KnownState = NOTHING_READ
    ) -> None:
        self._cluster = cluster
        self._query_id = query_id
        self._key = query_id.encode()
        self._known = known

    async def read(self) -> KnownState:
        """The committed state of the query, without a change in progress."""
        return await self._read(IsolationLevel.READ_COMMITTED)

    async def _read(self, up_to: IsolationLevel) -> KnownState:
        """Read committed changes, up to where a reader of this isolation sees the log end."""
        partition = await self._partition()
        first, end = (await beginning_and_end(self._cluster, [partition], up_to))[partition]
        start = max(first, self._known.offset)
        state = self._known.state
        reading = RangeTables(
            self._cluster,
            [RecordRange(partition, start, end)],
            [KEY, VALUE],
            isolation=IsolationLevel.READ_COMMITTED,
        )
        while fetched := await reading.fetch():
            for table in (*reading.tables(fetched), *reading.rest()):
                for row in table.to_pylist():
                    if row[KEY] == self._key:
                        state = QueryState.decode(row[VALUE])
        self._known = KnownState(state, max(start, end))
        return self._known

    async def change(
        self, decide: Callable[[QueryState | None], QueryState | None]
    ) -> QueryState | None:
        """Fence all others, read, and write what `decide` returns, if anything.

        Raises what `decide` raises, and one of `UNSETTLED` if another change has started since,
        or if it is rolled back, or if it is not known whether it is written.
        """
        partition = await self._partition()
        producer = RecordProducer(
            self._cluster,
            transactional_id=f"{PREFIX}{self._query_id}",
            transaction_timeout_ms=_CHANGE_TIMEOUT_MS,
            auto_create=False,
            linger_ms=0,
        )
        async with producer:
            before = (await self._read(IsolationLevel.READ_UNCOMMITTED)).state
            after = decide(before)
            if after is None:
                return before
            async with producer.transaction():
                await producer.send(
                    TOPIC, after.encode(), key=self._key, partition=partition.partition
                )
            return after

    async def _partition(self) -> TopicPartition:
        """The partition of the query's record; creates the topic if it does not exist."""
        topic = await self._cluster.retrying(self._topic)
        return TopicPartition(TOPIC, partition_for_key(self._key, len(topic.partitions)))

    async def _topic(self) -> TopicMetadata:
        try:
            return await self._cluster.topic(TOPIC)
        except UnknownTopic:
            with suppress(TopicExists):
                await create_topic(self._cluster, TOPIC, partitions=_PARTITIONS, configs=_CONFIGS)
            return await self._cluster.topic(TOPIC, auto_create=True)
