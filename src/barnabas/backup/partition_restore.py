"""Writes one partition of the target.

The records of the backup get the offsets from 0 on, without gaps. So the end of the target's log
says how far an interrupted restore has come, and a record has the offset that it had if the log
began at 0 and had no gaps.

The producer is idempotent: after an error its last requests are sent again, and the broker knows
those that it has.
"""

import asyncio
import hashlib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from barnabas.backup.manifest import BackupDamagedError
from barnabas.backup.restore_plan import Piece, PlannedPartition
from barnabas.backup.store import BackupStore
from barnabas.client.connect.broker_connection import BrokerConnection
from barnabas.client.connect.broker_errors import check
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.connect.connection_pool import Channel
from barnabas.client.producer.producer_identities import TOPICS_BY_NAME
from barnabas.client.producer.producer_identity import ProducerIdentity
from barnabas.errors import BarnabasError
from barnabas.mirror.batches import BatchConversion, OutgoingBatch, stamp
from barnabas.mirror.rate_limit import RateLimit
from barnabas.records.decode import decode_batch, iter_batches
from barnabas.records.errors import RecordsError
from barnabas.records.record import Record
from barnabas.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

_ALL_REPLICAS = -1
_IN_FLIGHT = 5  # what brokers remember of a producer, to find repeated batches
_SEQUENCES = 0x7FFF_FFFF
_CONVERSION = BatchConversion(transactional=False)


class ForeignRecordsError(BarnabasError):
    """The target's topic holds something else than what an interrupted restore has left."""


class _Numbered(NamedTuple):
    """A batch, the offset that it will get, and its sequence number."""

    batch: OutgoingBatch
    offset: int
    sequence: int


class PartitionRestore:
    """Of one partition. `marks` are source offsets of which the target's are wanted."""

    def __init__(
        self,
        cluster: ClusterClient,
        channel: Channel,
        store: BackupStore,
        limit: RateLimit,
        partition: TopicPartition,
        plan: PlannedPartition,
        marks: Sequence[int],
        done: int,
        last: Record | None,
        identity: ProducerIdentity,
    ) -> None:
        """`done` records are there already, of which `last` is the last one."""
        self._cluster = cluster
        self._channel = channel
        self._store = store
        self._limit = limit
        self._partition = partition
        self._plan = plan
        self._done = done
        self._last = last
        self._identity = identity
        self._marks = sorted(set(marks), reverse=True)
        self.translated: dict[int, int] = {}
        """Offsets of the target, by those of the source."""
        self.records = 0
        """How many there are in the target, with those that were there."""
        self.bytes = 0
        """Of files that were read."""

    async def run(self) -> None:
        """Write everything; raises `ForeignRecordsError`, `BackupDamagedError`."""
        window: list[_Numbered] = []
        sequence = 0
        for piece in self._plan.pieces:
            content = await asyncio.to_thread(self._read, piece)
            for batch in self._outgoing(piece, content):
                self._translate(batch)
                offset = self.records
                self.records += batch.records
                if self.records <= self._done:
                    if self.records == self._done:
                        self._compare(batch)
                    continue
                if offset < self._done:
                    raise self._foreign(f"it ends in the middle of a batch, at {self._done}")
                window.append(_Numbered(batch, offset, sequence))
                sequence = (sequence + batch.records) & _SEQUENCES
                if len(window) == _IN_FLIGHT:
                    await self._send(window)
                    window = []
            self.bytes += piece.file.bytes
        if window:
            await self._send(window)
        if self.records < self._done:
            raise self._foreign(f"it has {self._done} records, the backup {self.records}")
        for mark in self._marks:
            self.translated[mark] = self.records
        self._marks = []

    # -- reading -------------------------------------------------------------------------------

    def _read(self, piece: Piece) -> bytes:
        content = self._store.read(piece.file.name)
        if content is None or hashlib.sha256(content).hexdigest() != piece.file.sha256:
            what = "is missing" if content is None else "is damaged"
            raise BackupDamagedError(
                f"{self._store.description}/{piece.file.name} {what}: {self._partition} offsets "
                f"{piece.file.first} to {piece.file.end - 1}; see `barnabas backup verify`, and "
                "restore an earlier point, or without this topic"
            )
        return content

    def _outgoing(self, piece: Piece, content: bytes) -> Iterator[OutgoingBatch]:
        try:
            for header, batch in iter_batches(content):
                yield from _CONVERSION.outgoing(header, batch, piece.start, piece.max_timestamp_ms)
        except RecordsError as error:
            raise BackupDamagedError(f"{piece.file.name}: {error}") from error

    def _translate(self, batch: OutgoingBatch) -> None:
        for run in batch.runs:
            at = self.records + run.first
            while self._marks and self._marks[-1] < run.upstream + run.records:
                mark = self._marks.pop()
                self.translated[mark] = at + max(0, mark - run.upstream)

    def _compare(self, batch: OutgoingBatch) -> None:
        """The last record of the target has to be that of the backup."""
        if self._last is None:
            return
        ours = decode_batch(bytes(_sealed(batch)))[-1]
        if _content(ours) != _content(self._last):
            raise self._foreign(f"its record at offset {self._done - 1} is another one")

    def _foreign(self, why: str) -> ForeignRecordsError:
        return ForeignRecordsError(
            f"partition {self._partition} of the target does not hold what an interrupted restore "
            f"of this backup has written: {why}; delete the topic and restore again"
        )

    # -- writing -------------------------------------------------------------------------------

    async def _send(self, window: Sequence[_Numbered]) -> None:
        await self._limit.take(sum(len(each.batch.buffer) for each in window))
        for each in window:
            stamp(each.batch, self._identity, each.sequence)

        async def attempt() -> None:
            node_id = await self._cluster.leader(self._partition)
            connection = await self._cluster.connection(node_id, self._channel)
            # Tasks begin in the order of their creation, and so do their requests.
            results = await asyncio.gather(
                *(self._produce(node_id, connection, each) for each in window),
                return_exceptions=True,
            )
            for result in results:
                if isinstance(result, BaseException):
                    raise result

        await self._cluster.retrying(attempt, topics={self._partition.topic})

    async def _produce(
        self, node_id: int, connection: BrokerConnection, numbered: _Numbered
    ) -> None:
        topic, index = self._partition
        request = ProduceRequest(
            acks=_ALL_REPLICAS,
            timeout_ms=self._cluster.request_timeout_ms,
            topic_data=[
                TopicProduceData(
                    name=topic,
                    partition_data=[PartitionProduceData(index, numbered.batch.buffer)],
                )
            ],
        )
        answer = connection.send(
            request, max_version=TOPICS_BY_NAME, timeout_ms=self._cluster.request_timeout_ms
        )
        response = await self._cluster.while_leading(node_id, [self._partition], answer)
        (result,) = response.responses[0].partition_responses
        check(result.error_code, f"partition {self._partition}", result.error_message)
        if result.base_offset != numbered.offset:
            raise self._foreign(
                f"a batch got offset {result.base_offset} and not {numbered.offset}, so something "
                "else writes to it"
            )


def _sealed(batch: OutgoingBatch) -> bytearray:
    """A copy with a CRC, which a batch gets with its producer."""
    copy = batch._replace(buffer=bytearray(batch.buffer))
    stamp(copy, ProducerIdentity(-1, -1), -1)
    return copy.buffer


def _content(record: Record) -> tuple[object, ...]:
    return (record.timestamp, record.key, record.value, tuple(record.headers))
