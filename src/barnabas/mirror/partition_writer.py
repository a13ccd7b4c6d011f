"""Writes one partition of the target: batches and the position in the source, in transactions.

    start -> write ... -> close

The transactional id belongs to the partition, so whoever starts last fences all others, and what
they have left open is rolled back. After any error the writer has to be started again: that ends
what is uncertain, and tells the position that counts.
"""

import asyncio
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from typing import Any

from barnabas.client.connect.broker_connection import BrokerConnection
from barnabas.client.connect.broker_errors import check
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.connect.connection_pool import Channel
from barnabas.client.group.committed_offsets import NO_MEMBER
from barnabas.client.offsets.list_offsets import LATEST, list_offsets
from barnabas.client.producer.producer_identities import TOPICS_BY_NAME
from barnabas.client.producer.producer_identity import ANONYMOUS, ProducerIdentity
from barnabas.client.producer.transactional_id import TransactionalId
from barnabas.errors import BarnabasError, ProducerFenced, RequestTimedOut
from barnabas.mirror.batches import OutgoingBatch, stamp
from barnabas.mirror.flow import Flow
from barnabas.mirror.offsets.recent_runs import RecentRuns
from barnabas.mirror.offsets.segment import Segment
from barnabas.mirror.positions import SourcePosition, fetch_positions
from barnabas.mirror.recovered_runs import recovered_runs
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

TRANSACTION_TIMEOUT_MS = 60_000
WRITE_S = 45.0
"""How long a write may take: before the coordinator rolls it back, and fences this writer."""
WINDOW_BYTES = 1024 * 1024
WINDOW_REQUESTS = 256
"""What is in flight at most. It fills a link of 40 Mbit/s with a round trip of 200 ms; more of it
would wait in the link while the time for its answers runs."""
_ROLL_BACK_S = 3.0
_ALL_REPLICAS = -1
_ADDED_BEFORE = 11  # Produce: from version 12 on, brokers add partitions to transactions themselves
_FENCED = frozenset({ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH})
_SEQUENCES = 0x7FFF_FFFF


class PartitionWriter:
    """Of one partition, in one event loop."""

    def __init__(
        self, cluster: ClusterClient, flow: Flow, partition: TopicPartition, channel: Channel
    ) -> None:
        """`channel` is for produce requests; partitions may share it."""
        self.partition = partition
        self._cluster = cluster
        self._flow = flow
        self._channel = channel
        self._owner = self._new_owner()
        self._numbered: ProducerIdentity = ANONYMOUS
        self._sequence = 0
        self._is_open = False

    @property
    def producer_id(self) -> int:
        """Of the transaction that is written next."""
        return self._owner.identity.producer_id

    def _new_owner(self) -> TransactionalId:
        return TransactionalId(
            self._cluster,
            self._flow.transactional_id(self.partition),
            timeout_ms=TRANSACTION_TIMEOUT_MS,
        )

    async def start(self) -> SourcePosition | None:
        """Take the partition over, and return its position; None if it was never written."""
        await self._owner.close()
        self._owner = self._new_owner()
        await self._owner.start()
        self._is_open = False
        found = await fetch_positions(self._cluster, self._flow, [self.partition], stable=True)
        return found.get(self.partition)

    async def recovered(self, recent: RecentRuns) -> list[Segment]:
        """Where records are, by what was committed with the position."""
        return await recovered_runs(self._cluster, self.partition, recent)

    async def end_offset(self) -> int:
        """Where the partition ends: what is written next is behind that."""
        found = await list_offsets(self._cluster, {self.partition: LATEST})
        return found[self.partition].offset

    async def close(self) -> None:
        """Close connections, and roll back what is open: readers of the target wait for it.

        A target that does not answer soon rolls it back when it times out.
        """
        try:
            if self._is_open:
                with suppress(BarnabasError, TimeoutError):
                    async with asyncio.timeout(_ROLL_BACK_S):
                        await self._owner.raise_epoch()
        finally:
            await self._owner.close()

    async def write(self, batches: Sequence[OutgoingBatch], position: SourcePosition) -> list[int]:
        """Commit batches and the position behind them; returns the offset of each batch.

        If this raises, all was rolled back, or will be, or was committed: start again to know.
        """
        owner, group = self._owner, self._flow.group_id
        self._is_open = True
        if not owner.adds_implicitly:
            if batches:
                await owner.add_partitions({self.partition})
            await owner.add_offsets(group)
        offsets: list[int]
        offsets, _ = await _all_or_none(
            self._produce(batches),
            owner.commit_offsets(
                group,
                {self.partition: position.offset},
                NO_MEMBER,
                {self.partition: position.text},
            ),
        )
        await owner.end(committed=True)
        self._is_open = False
        return offsets

    async def _produce(self, batches: Sequence[OutgoingBatch]) -> list[int]:
        if not batches:
            return []
        node_id = await self._cluster.leader(self.partition)
        if self._numbered != self._owner.identity:
            self._numbered, self._sequence = self._owner.identity, 0
        connection = await self._cluster.connection(node_id, self._channel)
        answers = self._send_all(connection, batches)
        try:
            async with asyncio.timeout(WRITE_S):
                return await self._cluster.while_leading(node_id, [self.partition], answers)
        except TimeoutError as late:
            raise RequestTimedOut(
                f"a transaction of partition {self.partition} was not written in {WRITE_S:g} s"
            ) from late

    async def _send_all(
        self, connection: BrokerConnection, batches: Sequence[OutgoingBatch]
    ) -> list[int]:
        """Send in order, with a window: a distant target would take a round trip for each batch.

        Other producers have five in flight, the batches that brokers remember to find repeated
        ones; here nothing is repeated.
        """
        answers: list[asyncio.Task[int]] = []
        answered = in_flight = 0
        try:
            for batch in batches:
                size = len(batch.buffer)
                while answered < len(answers) and (
                    in_flight + size > WINDOW_BYTES or len(answers) - answered >= WINDOW_REQUESTS
                ):
                    await answers[answered]  # a connection answers in order
                    in_flight -= len(batches[answered].buffer)
                    answered += 1
                answers.append(asyncio.create_task(self._send(connection, batch)))
                in_flight += size
            return [await each for each in answers]
        finally:
            for each in answers:
                each.cancel()
            await asyncio.gather(*answers, return_exceptions=True)

    async def _send(self, connection: BrokerConnection, batch: OutgoingBatch) -> int:
        # Tasks begin in the order of their creation, and so do their requests.
        stamp(batch, self._numbered, self._sequence)
        self._sequence = (self._sequence + batch.records) & _SEQUENCES
        topic, index = self.partition
        request = ProduceRequest(
            transactional_id=self._owner.transactional_id,
            acks=_ALL_REPLICAS,
            timeout_ms=self._cluster.request_timeout_ms,
            topic_data=[
                TopicProduceData(
                    name=topic, partition_data=[PartitionProduceData(index, batch.buffer)]
                )
            ],
        )
        response = await connection.send(
            request,
            max_version=TOPICS_BY_NAME if self._owner.adds_implicitly else _ADDED_BEFORE,
            timeout_ms=self._cluster.request_timeout_ms,
        )
        (result,) = response.responses[0].partition_responses
        if result.error_code in _FENCED:
            raise ProducerFenced.of(self._owner.transactional_id)
        what = f"partition {self.partition}"
        check(result.error_code, what, result.error_message, needs="write")
        return result.base_offset


async def _all_or_none(*works: Coroutine[Any, Any, Any]) -> list[Any]:
    """The results of all; if one raises, the others are cancelled, and nothing goes on."""
    tasks = [asyncio.ensure_future(each) for each in works]
    try:
        return await asyncio.gather(*tasks)
    except BaseException:
        for each in tasks:
            each.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise
