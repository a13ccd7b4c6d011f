"""The loop that takes ready batches to the leaders of their partitions.

Batches of many partitions share a request to their leader. What becomes of them is up to
`barnabas.client.producer.batch_completion`.
"""

import asyncio
from collections import defaultdict
from collections.abc import Coroutine
from contextlib import suppress

from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.connection_pool import Channel
from barnabas.client.producer.accumulator import Accumulator
from barnabas.client.producer.batch_completion import BatchCompletion, still_in_flight
from barnabas.client.producer.partition_queue import PartitionQueue, requests_of
from barnabas.client.producer.producer_counts import ProducerCounts
from barnabas.client.producer.topic_routes import TopicRoutes
from barnabas.errors import BarnabasError, ProducerBroken
from barnabas.records.compression import Compression
from barnabas.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

METADATA_MAX_AGE_MS = 300_000
"""How often new partitions of topics are looked for."""


class Sender:
    """Made by `RecordProducer`; runs from `start` to `stop`. `broken` is why it stopped early."""

    def __init__(
        self,
        cluster: ClusterClient,
        accumulator: Accumulator,
        routes: TopicRoutes,
        completion: BatchCompletion,
        counts: ProducerCounts,
        *,
        acks: int,
        compression: Compression,
        request_bytes: int,
        metadata_max_age_ms: int,
        transactional_id: str | None,
    ) -> None:
        self._cluster = cluster
        self._monotonic = cluster.environment.monotonic
        self._accumulator = accumulator
        self._routes = routes
        self._completion = completion
        self._counts = counts
        self._acks = acks
        self._compression = compression
        self._request_bytes = request_bytes
        self._metadata_max_age_s = metadata_max_age_ms / 1000
        self._transactional_id = transactional_id
        self._channel = Channel()  # an acknowledgement may wait for other brokers
        self._requests: set[asyncio.Task[None]] = set()
        self._loop: asyncio.Task[None] | None = None
        self._refresh_at = 0.0
        self.broken: ProducerBroken | None = None

    def start(self) -> None:
        """Begin to send what the accumulator has."""
        self._accumulator.start()
        self._refresh_at = self._monotonic() + self._metadata_max_age_s
        self._loop = asyncio.create_task(self._send_forever())
        self._loop.add_done_callback(self._end_task)

    async def stop(self) -> None:
        """Drop everything, whatever is under way."""
        await asyncio.gather(*self._cancel(), return_exceptions=True)
        await self._cluster.close_channel(self._channel)

    def _cancel(self) -> "list[asyncio.Task[None]]":
        tasks = [*self._requests, *([self._loop] if self._loop else [])]
        for task in tasks:
            task.cancel()
        return tasks

    async def _send_forever(self) -> None:
        while True:
            now = self._monotonic()
            self._completion.expire(now)
            ready = self._accumulator.take_ready(now)
            if ready:
                self._dispatch(ready)
            if now >= self._refresh_at:
                self._refresh_at = now + self._metadata_max_age_s
                self._start(self._refresh())
            await self._accumulator.wait()

    async def _refresh(self) -> None:
        """Hear of partitions that were added since; if not now, then the next time."""
        names = set(self._routes)
        with suppress(BarnabasError):
            await self._cluster.refresh(names)
            self._completion.retries.learn(names)

    def _dispatch(self, ready: list[PartitionQueue]) -> None:
        by_leader: defaultdict[int, list[PartitionQueue]] = defaultdict(list)
        astray: list[tuple[PartitionQueue, BarnabasError]] = []
        for queue in ready:
            try:
                by_leader[self._cluster.known_leader(queue.partition)].append(queue)
            except BarnabasError as error:
                astray.append((queue, error))
        for node_id, queues in by_leader.items():
            for group in requests_of(queues, self._request_bytes):
                self._start(self._request(node_id, group))
        if astray:
            self._start(self._completion.fail(astray))

    def _start(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._requests.add(task)
        task.add_done_callback(self._end_task)

    def _end_task(self, task: "asyncio.Task[None]") -> None:
        """A task that fails unexpectedly would leave callers waiting forever."""
        self._requests.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None and not self.broken:
            self.broken = ProducerBroken.by(error)
            self._cancel()
            self._completion.abandon(self.broken)

    async def _request(self, node_id: int, queues: list[PartitionQueue]) -> None:
        identities = self._completion.identities
        try:
            connection = await self._cluster.connection(node_id, self._channel)
            await identities.introduce(queues)
            queues = still_in_flight(queues)
            if not queues:
                return
            request = self._produce_request(queues)
            if self._acks == 0:
                await connection.post(request, max_version=identities.produce_version)
                for queue in still_in_flight(queues):
                    self._completion.delivered(queue, -1, -1)
            else:
                answer = connection.send(
                    request,
                    max_version=identities.produce_version,
                    timeout_ms=self._cluster.request_timeout_ms,
                )
                partitions = [queue.partition for queue in queues]
                response = await self._cluster.while_leading(node_id, partitions, answer)
                self._counts.throttle_ms.observe(response.throttle_time_ms, self._monotonic())
                await self._completion.settle(queues, response)
        except BarnabasError as error:
            await self._completion.fail([(queue, error) for queue in queues])
        finally:
            if not self._accumulator.is_empty:
                self._accumulator.wake()

    def _produce_request(self, queues: list[PartitionQueue]) -> ProduceRequest:
        topics: defaultdict[str, list[PartitionProduceData]] = defaultdict(list)
        now, counts, records = self._monotonic(), self._counts, 0
        for queue in queues:
            batch = queue.first
            encoded = queue.encode(self._compression)
            topics[queue.partition.topic].append(
                PartitionProduceData(queue.partition.partition, encoded)
            )
            records += batch.count
            counts.batch_bytes.observe(len(encoded), now)
            if not batch.attempts:
                counts.queue_s.observe(now - batch.created_at, now)
        counts.request_records.observe(records, now)
        return ProduceRequest(
            transactional_id=self._transactional_id,
            acks=self._acks,
            timeout_ms=self._cluster.request_timeout_ms,
            topic_data=[
                TopicProduceData(name=name, partition_data=d) for name, d in topics.items()
            ],
        )
