"""Submits jobs, and gives their submitters the results.

The first job of a topic chooses one partition of its results, at random. All of this client's jobs
have ids whose results go there, and it reads that partition from where it ended before the first
job was sent.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple
from weakref import WeakValueDictionary, ref

from barnabas.client.connect.background_tasks import BackgroundTasks
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.offsets.list_offsets import LATEST
from barnabas.client.offsets.offset_spec import offsets_at
from barnabas.client.producer.sent_record import Sent
from barnabas.client.results.job_ids import (
    ReplyTo,
    is_job_id,
    new_job_id,
    submitted_ms_of,
)
from barnabas.client.results.result_reader import ResultReader
from barnabas.client.results.result_record import JobResult, result_of
from barnabas.client.results.results_topic import ensure_results_topic, results_topic
from barnabas.client.results.submitted_job import Decode, SubmittedJob
from barnabas.errors import BarnabasError, ClientClosed, ConsumerBroken, InvalidArgument
from barnabas.records.murmur2 import partition_for_key
from barnabas.records.record import Header

_CLOCKS_MS = 10 * 60 * 1000  # how far a submitter's clock may be ahead of a broker's
_LOOK_S = 5.0

Send = Callable[[Sequence[Header]], Awaitable[Sent]]


class _Home(NamedTuple):
    """Where the results of this client's jobs go."""

    partition: TopicPartition
    partition_count: int


class JobResults:
    """Of one client."""

    def __init__(self, cluster: ClusterClient, decode: Decode) -> None:
        self._cluster = cluster
        self._decode = decode
        self._homes: dict[str, _Home] = {}
        self._choosing = asyncio.Lock()
        self._waiting: WeakValueDictionary[str, SubmittedJob] = WeakValueDictionary()
        self._tasks = BackgroundTasks(self._crashed)

    async def submit(self, topic: str, headers: Sequence[Header], send: Send) -> SubmittedJob:
        """Send a job that asks for its result."""
        home = await self._home(topic)
        now_ms = time.time_ns() // 1_000_000
        job_id = new_job_id(now_ms, home.partition.partition, home.partition_count)
        job = self._waiting[job_id] = SubmittedJob(job_id, self._decode)
        reply = ReplyTo(home.partition.topic, job_id.encode())
        sent = await send([*headers, *reply.headers])
        sent.add_done_callback(job.sent)
        return job

    async def submitted(self, topic: str, job_id: str) -> SubmittedJob:
        """A job that was submitted earlier, perhaps by another process."""
        if not is_job_id(job_id.encode()):
            raise InvalidArgument(
                f"{job_id!r} is not a job id: use the `id` of what submit() returned"
            )
        known = self._waiting.get(job_id)
        if known is not None and not known.done():
            return known
        name = results_topic(topic)
        found = await self._cluster.retrying(lambda: self._cluster.topic(name))
        number = partition_for_key(job_id.encode(), len(found.partitions))
        job = self._waiting[job_id] = SubmittedJob(job_id, self._decode)
        self._tasks.start(self._find(TopicPartition(name, number), job_id, ref(job)))
        return job

    async def close(self) -> None:
        """Whoever still waits is told that no result comes here."""
        await self._tasks.close()
        self._fail_all(ClientClosed("the queue was closed before the job had a result"))

    # -- own jobs ------------------------------------------------------------------------------

    async def _home(self, topic: str) -> _Home:
        async with self._choosing:
            home = self._homes.get(topic)
            if home is None:
                count = await ensure_results_topic(self._cluster, topic)
                partition = TopicPartition(
                    results_topic(topic), int(self._cluster.environment.random() * count)
                )
                reader = await self._reader_at(partition, LATEST)
                home = self._homes[topic] = _Home(partition, count)
                self._tasks.start(self._read(topic, reader))
            return home

    async def _reader_at(self, partition: TopicPartition, timestamp: int) -> ResultReader:
        found = await self._cluster.retrying(
            lambda: offsets_at(self._cluster, [partition], timestamp)
        )
        return ResultReader(self._cluster, partition, found[partition])

    async def _read(self, topic: str, reader: ResultReader) -> None:
        """Until the client is closed, or reading has failed for good."""
        try:
            async with reader:
                while True:
                    for message in await reader.read():
                        job = self._waiting.pop(
                            (message.key or b"").decode("ascii", "replace"), None
                        )
                        if job is not None:
                            job.finish(result_of(message))
                    await asyncio.sleep(0)
        except BarnabasError as error:
            self._fail_all(error)
        finally:
            self._homes.pop(topic, None)

    # -- earlier jobs --------------------------------------------------------------------------

    async def _find(self, partition: TopicPartition, job_id: str, job: "ref[SubmittedJob]") -> None:
        """The latest result that is there, or else the next one."""
        try:
            found = await self._look(partition, job_id, job)
        except BarnabasError as error:
            if (waiting := job()) is not None:
                waiting.fail(error)
        else:
            if found is not None and (waiting := job()) is not None:
                waiting.finish(found)

    async def _look(
        self, partition: TopicPartition, job_id: str, job: "ref[SubmittedJob]"
    ) -> JobResult | None:
        found: JobResult | None = None
        since_ms = max(0, submitted_ms_of(job_id) - _CLOCKS_MS)
        ends = await self._cluster.retrying(lambda: offsets_at(self._cluster, [partition], LATEST))
        async with await self._reader_at(partition, since_ms) as reader:
            while job() is not None and (found is None or reader.position < ends[partition]):
                for message in await reader.read(_LOOK_S):
                    if message.key == job_id.encode():
                        found = result_of(message)
        return found

    def _fail_all(self, error: BarnabasError) -> None:
        for job in list(self._waiting.values()):
            job.fail(error)
        self._waiting.clear()

    def _crashed(self) -> None:
        if self._tasks.crash is not None:
            self._fail_all(ConsumerBroken.by(self._tasks.crash))
