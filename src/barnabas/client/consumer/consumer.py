"""Partitions with positions in, records out: a consumer for those who live in the core's loop.

A batch may begin before the position, because a broker sends whole batches; the records before it
are dropped. Control batches move the position and show no records. What aborted transactions wrote
is shown unless only committed records are asked for.
"""

import asyncio
from collections.abc import Callable, Mapping
from time import monotonic
from types import TracebackType
from typing import NamedTuple, Self

from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.consumer.completed_fetch import records_of
from barnabas.client.consumer.consumer_positions import check_offset
from barnabas.client.consumer.fetch_request import FetchTuning
from barnabas.client.consumer.fetcher import Fetcher
from barnabas.client.consumer.partition_progress import PartitionProgress
from barnabas.client.offsets.isolation import IsolationLevel
from barnabas.errors import BarnabasError, InvalidArgument
from barnabas.records.record import Record


class Fetched(NamedTuple):
    """Records of one partition, in order, and the offset up to which the broker has more.

    `next_offset` lies behind them, and behind what was passed over on the way: markers, and what
    was aborted. It is the one to commit.
    """

    partition: TopicPartition
    records: list[Record]
    high_watermark: int
    next_offset: int


class Consumer:
    """Reads the partitions it is told to, from the offsets it is told to.

    `out_of_range` is the time (EARLIEST or LATEST) to start again at when a position is no longer
    in the log; without it that is an error. With READ_COMMITTED, records of transactions are handed
    over once these are committed; one that goes on holds back what comes after it.
    """

    def __init__(
        self,
        cluster: ClusterClient,
        *,
        out_of_range: int | None = None,
        isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
        tuning: FetchTuning | None = None,
    ) -> None:
        self._stirred = asyncio.Event()
        self._fetcher = Fetcher(
            cluster,
            self._stirred.set,
            out_of_range=out_of_range,
            isolation=isolation,
            tuning=tuning,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Stop fetching."""
        await self._fetcher.close()

    def assign(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Read exactly these partitions, each from its offset."""
        for partition, offset in offsets.items():
            check_offset(partition, offset)
        self._fetcher.assign({name: PartitionProgress(offset) for name, offset in offsets.items()})

    def seek(self, partition: TopicPartition, offset: int) -> None:
        """Go on reading an assigned partition elsewhere."""
        check_offset(partition, offset)
        if partition not in self._fetcher.readings:
            raise InvalidArgument(f"partition {partition} is not assigned to this consumer")
        self._fetcher.seek(partition, offset)

    def pause(self, partition: TopicPartition) -> None:
        """Fetch no more of a partition until partitions are assigned anew."""
        self._fetcher.pause(partition)

    @property
    def positions(self) -> Mapping[TopicPartition, int]:
        """The offset of the next record that `poll` will return, for each assigned partition."""
        return positions_of(self._fetcher)

    @property
    def away(self) -> Mapping[TopicPartition, BarnabasError]:
        """Partitions that cannot be read now while others are, and why."""
        return self._fetcher.away

    async def poll(self, timeout_ms: int = 1_000) -> list[Fetched]:
        """Wait until there are records, at most about `timeout_ms`.

        Brokers that are away are tried again until the cluster's `retry_timeout_ms` is over.
        """
        deadline = monotonic() + timeout_ms / 1000
        while True:
            self._stirred.clear()
            failure = self._fetcher.failure()
            if failure is not None:
                raise failure
            fetched = take_all(self._fetcher)
            left_s = deadline - monotonic()
            if fetched or left_s <= 0:
                await asyncio.sleep(0)  # who has much to read must not keep it from being fetched
                return fetched
            try:
                async with asyncio.timeout(left_s):
                    await self._stirred.wait()
            except TimeoutError:
                return []


def positions_of(fetcher: Fetcher) -> Mapping[TopicPartition, int]:
    """Where each partition is read next."""
    return {name: reading.ledger.position for name, reading in fetcher.readings.items()}


def take_all(fetcher: Fetcher, go_on: Callable[[], bool] = lambda: True) -> list[Fetched]:
    """All that was fetched so far, as records, and handed out."""
    fetched: list[Fetched] = []
    while go_on() and (chunk := fetcher.chunks.take()) is not None:
        try:
            records = records_of(chunk)
        except BarnabasError:
            fetcher.chunks.put_back(chunk)
            if fetched:
                break  # and it is raised when these were taken
            raise
        ledger, following = chunk.reading.ledger, chunk.next_offset
        if records:
            ledger.hand_out(records[-1].offset + 1, following)
            name = chunk.reading.partition
            fetched.append(Fetched(name, records, chunk.high_watermark, following))
        else:
            ledger.pass_over(following)
    return fetched
