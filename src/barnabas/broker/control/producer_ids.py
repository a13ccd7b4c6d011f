"""Ids for idempotent and transactional producers, from blocks that are given to this node alone.

Each block is a decision of the controller, so there is a limit to how many ids are given out.
"""

from asyncio import AbstractEventLoop, Task
from collections.abc import Callable
from contextlib import suppress

from barnabas.broker.control.controller_calls import ControllerCalls, ControllerUnavailable
from barnabas.broker.control.creation_rate import CreationRate
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.allocate_producer_ids import AllocateProducerIdsRequest

MAX_PER_SECOND = 5_000
"""Of idempotent producers, by one node; so many may come at once, too."""


class TooManyProducers(Exception):  # noqa: N818 - an expected outcome
    """More ids were asked for than are given out in a second."""


class ProducerIds:
    def __init__(
        self,
        loop: AbstractEventLoop,
        node_id: int,
        calls: ControllerCalls,
        broker_epoch: Callable[[], int],
    ) -> None:
        self._loop = loop
        self._node_id = node_id
        self._calls = calls
        self._broker_epoch = broker_epoch
        self._block = range(0)
        self._refilling: Task[None] | None = None
        self._rate = CreationRate(loop.time)

    def take(self) -> int | None:
        """An id no producer has had, if one is at hand; if not, there will be one soon."""
        if not self._block:
            if self._refilling is None or self._refilling.done():
                self._refilling = self._loop.create_task(self._refill())
            return None
        producer_id, self._block = self._block[0], self._block[1:]
        return producer_id

    async def at_hand(self) -> None:
        """Have an id ready to be taken. Raises `ControllerUnavailable`."""
        while not self._block:
            request = AllocateProducerIdsRequest(self._node_id, self._broker_epoch())
            block = await self._calls.call(request)
            if block.error_code:
                raise ControllerUnavailable(ErrorCode(block.error_code).name)
            # Whoever waited beside this one may have begun a block: that one's rest is lost.
            first = block.producer_id_start
            self._block = range(first, first + block.producer_id_len)

    async def _refill(self) -> None:
        with suppress(ControllerUnavailable):  # whoever asks again tries again
            await self.at_hand()

    async def next(self) -> int:
        """An id no producer has had. Raises `ControllerUnavailable` or `TooManyProducers`."""
        if not self._rate.allowed(1, 1, MAX_PER_SECOND):
            raise TooManyProducers
        while True:
            await self.at_hand()
            producer_id = self.take()
            if producer_id is not None:
                return producer_id
