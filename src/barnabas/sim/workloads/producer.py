"""A producer that waits for all replicas and repeats what was not acknowledged."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from barnabas.records.encode import encode_batch
from barnabas.sim.checks.history import Place, Violation
from barnabas.sim.client import Client, TryAgain
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest
from barnabas.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)

_BY_NAME = 12
_ALL = -1
_EPOCH_MS = 1_700_000_000_000
_TRANSIENT = frozenset(
    {
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.KAFKA_STORAGE_ERROR,
    }
)


Content = tuple[bytes | None, bytes | None, Sequence[tuple[str, bytes | None]]]


@dataclass(eq=False)
class _Batch:
    values: list[bytes]
    data: bytes


class Producer:
    """A plain one sends the next batch when this one is acknowledged, or given up after some
    attempts: it is unknown then whether it was stored once, twice or not at all.

    An idempotent one has several batches under way, and repeats all that are not acknowledged, in
    their order, for as long as it takes. Each of them is to be stored once. Only its first batch in
    a partition goes alone: a broker lets a producer that it does not know begin anywhere, as Kafka
    does, so a second batch might come before a first one that was refused.
    """

    def __init__(self, client: Client, name: str, places: list[Place], *, idempotent: bool) -> None:
        self._client = client
        self._name = f"{name}!" if idempotent else name
        self._places = places
        self._idempotent = idempotent
        self._producer_id = -1
        self._numbers: dict[Place, int] = {}
        self._known: set[Place] = set()
        """Where brokers know it."""
        self.acknowledged = 0

    async def run(self, pace_ms: tuple[int, int]) -> None:
        client = self._client
        if self._idempotent:
            self._producer_id = await self._init_producer_id()
        while not client.is_stopping:
            await self.produce(client.random.choice(self._places))
            await client.pause(*pace_ms)

    async def _init_producer_id(self) -> int:
        client = self._client
        while True:
            try:
                answer = await client.call(client.any_node(), InitProducerIdRequest(None))
            except TryAgain:
                answer = None
            if answer is not None and not answer.error_code:
                return answer.producer_id
            await client.pause(50, 200)

    async def produce(self, place: Place) -> None:
        """Send some batches until they are acknowledged or given up."""
        client = self._client
        count = client.random.choice((1, 1, 2, 4)) if place in self._known else 1
        waiting = [self._next_batch(place) for _ in range(count)]
        attempts = client.random.randint(1, 8)
        while waiting and (self._idempotent or attempts):
            attempts -= 1
            try:
                waiting = await self._send(place, waiting)
            except TryAgain as error:
                client.simulator.remark("%s %s: %s", self._name, place, error)
            if waiting:
                client.lost_leader(place)
                if client.is_stopping:
                    return
                await client.pause(20, 150)

    def _next_batch(self, place: Place) -> _Batch:
        client = self._client
        number = self._numbers.get(place, 0)
        values = [
            f"{self._name}{place}:{number + i}".encode()
            for i in range(client.random.choice((1, 1, 1, 2, 5)))
        ]
        self._numbers[place] = number + len(values)
        for value in values:
            client.history.sending(place, value)
        now_ms = _EPOCH_MS + client.simulator.now_us // 1000
        batch = encode_batch(
            [(now_ms, *self._content(value)) for value in values],
            producer_id=self._producer_id,
            producer_epoch=0 if self._idempotent else -1,
            base_sequence=number if self._idempotent else -1,
        )
        return _Batch(values, bytes(batch))

    def _content(self, name: bytes) -> Content:
        """Key, value and headers of the record with this name."""
        return None, name, ()

    async def _send(self, place: Place, batches: list[_Batch]) -> list[_Batch]:
        """Send them one behind the other; returns those that are still to be acknowledged."""
        client = self._client
        host, _ = await client.leader(place)
        await client.connect(host, self._name)
        answers = await asyncio.gather(
            *(self._ask(host, place, batch) for batch in batches), return_exceptions=True
        )
        left: list[_Batch] = []
        for batch, answer in zip(batches, answers, strict=True):
            if isinstance(answer, TryAgain):
                client.simulator.remark("%s %s: %s", self._name, place, answer)
                left.append(batch)
            elif isinstance(answer, BaseException):
                raise answer
            elif answer is None:
                if not left:
                    raise Violation(f"{self._name} is out of order in {place} on {host}")
                left.append(batch)
            else:
                self.acknowledged += 1
                if self._idempotent:
                    self._known.add(place)
                for i, value in enumerate(batch.values):
                    client.history.acknowledge(place, answer + i, value)
        return left

    async def _ask(self, host: str, place: Place, batch: _Batch) -> int | None:
        """The offset it was stored at; None if one before it is missing."""
        data = PartitionProduceData(place.partition, batch.data)
        request = ProduceRequest(
            None, _ALL, 1_000, [TopicProduceData(place.topic, partition_data=[data])]
        )
        response = await self._client.call(host, request, lane=self._name, max_version=_BY_NAME)
        answer = response.responses[0].partition_responses[0]
        code = ErrorCode(answer.error_code)
        if code is ErrorCode.NONE:
            return answer.base_offset
        if code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER:
            return None
        if code in _TRANSIENT:
            raise TryAgain(code.name)
        raise Violation(f"{self._name} got {code.name} from {host} for {place}")
