"""Reads one partition of a topic of results."""

import asyncio
import logging
from types import TracebackType
from typing import Self

from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.consumer.consumer_core import ConsumerCore
from barnabas.client.offsets.list_offsets import EARLIEST
from barnabas.errors import BarnabasError
from barnabas.records.message import Message

_AGAIN_S = 0.5

_log = logging.getLogger("barnabas.client")


class ResultReader:
    """From an offset on, for as long as it is needed."""

    def __init__(self, cluster: ClusterClient, partition: TopicPartition, offset: int) -> None:
        self._partition = partition
        self._offset = offset
        self._consumer = ConsumerCore(cluster, [], out_of_range=EARLIEST)
        self._is_waiting = False

    async def __aenter__(self) -> Self:
        await self._consumer.assign({self._partition: self._offset})
        return self

    async def __aexit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._consumer.leave()

    async def read(self, timeout_s: float | None = None) -> list[Message]:
        """What has come, perhaps nothing. Brokers that are away are waited for."""
        try:
            await self._consumer.wait_for_messages(None if timeout_s is None else timeout_s * 1000)
            self._consumer.delivery_queue.settle()
            found = self._consumer.delivery_queue.take(None)
            self._is_waiting = self._is_waiting and not found
            return found
        except BarnabasError as error:
            if not error.retriable:
                raise
            if not self._is_waiting:
                _log.warning("results in %s have to wait: %s", self._partition, error)
            self._is_waiting = True
            await asyncio.sleep(_AGAIN_S)
            return []

    @property
    def position(self) -> int:
        """The offset of what comes next."""
        return self._consumer.position(self._partition)
