"""Ids for idempotent and transactional producers, from blocks that the controller gives this node.

Each block costs a decision of the controller, so the rate of ids is limited.
"""

from asyncio import AbstractEventLoop, Task
from collections.abc import Callable
from contextlib import suppress

from barnabas.broker.control.controller_calls import ControllerCalls, ControllerUnavailable
from barnabas.broker.control.creation_rate import CreationRate
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.allocate_producer_ids import AllocateProducerIdsRequest


class TooManyProducers(Exception):  # noqa: N818 - an expected outcome
    """More ids were requested than the rate limit allows."""


class ProducerIds:
    def __init__(
        self,
        loop: AbstractEventLoop,
        node_id: int,
        calls: ControllerCalls,
        broker_epoch: Callable[[], int],
        max_per_second: Callable[[], int],
    ) -> None:
        """`max_per_second` limits idempotent producers; it is also the size of a burst."""
        self._loop = loop
        self._node_id = node_id
        self._calls = calls
        self._broker_epoch = broker_epoch
        self._max_per_second = max_per_second
        self._block = range(0)
        self._refilling: Task[None] | None = None
        self._rate = CreationRate(loop.time)

    def take(self) -> int | None:
        """An unused id, if one is available; otherwise None, and a new block is requested."""
        if not self._block:
            if self._refilling is None or self._refilling.done():
                self._refilling = self._loop.create_task(self._refill())
            return None
        producer_id, self._block = self._block[0], self._block[1:]
        return producer_id

    async def ensure_available(self) -> None:
        """Wait until an id is available. Raises `ControllerUnavailable`."""
        while not self._block:
            request = AllocateProducerIdsRequest(self._node_id, self._broker_epoch())
            block = await self._calls.call(request)
            if block.error_code:
                raise ControllerUnavailable(ErrorCode(block.error_code).name)
            # A concurrent caller may have started a block: the rest of that one is lost.
            first = block.producer_id_start
            self._block = range(first, first + block.producer_id_len)

    async def _refill(self) -> None:
        with suppress(ControllerUnavailable):  # the next request retries
            await self.ensure_available()

    async def next(self) -> int:
        """An unused id. Raises `ControllerUnavailable` or `TooManyProducers`."""
        if not self._rate.allowed(1, 1, self._max_per_second()):
            raise TooManyProducers
        while True:
            await self.ensure_available()
            producer_id = self.take()
            if producer_id is not None:
                return producer_id
