"""Waits for new records, so that Spark need not ask again and again (`idleWait`).

Each question of Spark costs CPU in its JVM and in this process. A fetch that the broker answers as
soon as there is a record costs next to nothing, and the record is seen at once.
"""

from asyncio import FIRST_COMPLETED, create_task, wait
from time import monotonic, sleep

from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.connection_pool import Channel
from barnabas.client.consumer.fetch_request import FetchTuning, fetch
from barnabas.client.offsets.isolation import IsolationLevel
from barnabas.errors import BarnabasError
from barnabas.spark.cluster.connection import ClusterConnection
from barnabas.spark.source.idle_stream import IdleStream
from barnabas.spark.source.positions import Offsets

_PAUSE_S = 0.15
"""A wait that ends without news, for example because a leader has moved, is no shorter."""


class IdleWait:
    """The waits of one stream."""

    def __init__(self, isolation: IsolationLevel, most_ms: int) -> None:
        """`most_ms`: how long a wait may take; 0 for none."""
        self._isolation = isolation
        self._most_ms = most_ms
        self._channel = Channel()
        self._stream = IdleStream()

    @property
    def is_due(self) -> bool:
        """Whether Spark has asked, had nothing to do, and asks again."""
        return self._most_ms > 0 and self._stream.is_idle

    def answered(self) -> None:
        """Spark gets its answer now."""
        self._stream.answered()

    def pause(self) -> None:
        """Wait although there are records, because Spark shall not have them yet."""
        if self.is_due:
            sleep(min(self._most_ms / 1000, _PAUSE_S))

    def until_news(self, connection: ClusterConnection, ends: Offsets) -> None:
        """Return when a log may have grown beyond its end, or after the longest wait."""
        began = monotonic()
        if not connection.ask(lambda cluster: self._has_news(cluster, ends)):
            shortest_s = min(self._most_ms / 1000, _PAUSE_S)
            sleep(max(0.0, began + shortest_s - monotonic()))

    async def _has_news(self, cluster: ClusterClient, ends: Offsets) -> bool:
        """Whether a partition has records behind its end; one record each is read for that."""
        tuning = FetchTuning(max_wait_ms=self._most_ms, max_bytes=1, partition_max_bytes=1)
        try:
            by_leader = await cluster.by_leader(list(ends))
        except BarnabasError:  # the next question for the ends tells
            return False
        tasks = [
            create_task(
                fetch(
                    cluster,
                    node_id,
                    self._channel,
                    {each: ends[each] for each in partitions},
                    tuning,
                    self._isolation,
                )
            )
            for node_id, partitions in by_leader.items()
        ]
        if not tasks:
            return False
        done, others = await wait(
            tasks, timeout=self._most_ms / 1000 + _PAUSE_S, return_when=FIRST_COMPLETED
        )
        for task in others:
            task.cancel()
        await wait(tasks)
        return any(
            data.records
            for task in done
            if not isinstance(task.exception(), BarnabasError)
            for _, data in task.result()
        )
