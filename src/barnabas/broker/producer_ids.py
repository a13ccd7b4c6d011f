"""Ids for idempotent producers, from blocks that the controller gives to this node alone."""

from collections.abc import Callable

from barnabas.broker.controller_calls import ControllerCalls, ControllerUnavailable
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.allocate_producer_ids import AllocateProducerIdsRequest


class ProducerIds:
    def __init__(
        self, node_id: int, calls: ControllerCalls, broker_epoch: Callable[[], int]
    ) -> None:
        self._node_id = node_id
        self._calls = calls
        self._broker_epoch = broker_epoch
        self._block = iter(range(0))

    async def next(self) -> int:
        """An id no producer has had. Raises `ControllerUnavailable`."""
        while True:
            producer_id = next(self._block, None)
            if producer_id is not None:
                return producer_id
            request = AllocateProducerIdsRequest(self._node_id, self._broker_epoch())
            block = await self._calls.call(request)
            if block.error_code:
                raise ControllerUnavailable(ErrorCode(block.error_code).name)
            # Whoever waited beside this one may have begun a block: that one's rest is lost.
            first = block.producer_id_start
            self._block = iter(range(first, first + block.producer_id_len))
