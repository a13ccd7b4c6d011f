"""A producer that waits for all replicas and repeats what was not acknowledged."""

from barnabas.records.encode import encode_batch
from barnabas.sim.client import Client, TryAgain
from barnabas.sim.history import Place, Violation
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest
from barnabas.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)

_BY_NAME = 12
_ALL = -1
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
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.BROKER_NOT_AVAILABLE,
    }
)


class Producer:
    """One at a time per partition: the next batch is sent when this one is acknowledged.

    A plain producer gives a batch up after some attempts, whether or not it was stored; an
    idempotent one never does, since the next batch would be out of order.
    """

    def __init__(self, client: Client, name: str, places: list[Place], *, idempotent: bool) -> None:
        self._client = client
        self._name = f"{name}!" if idempotent else name
        self._places = places
        self._idempotent = idempotent
        self._producer_id = -1
        self._numbers: dict[Place, int] = {}
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
                answer = await client.call(client.anybody(), InitProducerIdRequest(None))
            except TryAgain:
                answer = None
            if answer is not None and not answer.error_code:
                return answer.producer_id
            await client.pause(50, 200)

    async def produce(self, place: Place) -> None:
        """Send one batch until it is acknowledged or given up."""
        client, history = self._client, self._client.history
        number = self._numbers.get(place, 0)
        values = [
            f"{self._name}{place}:{number + i}".encode()
            for i in range(client.random.choice((1, 1, 1, 2, 5)))
        ]
        self._numbers[place] = number + len(values)
        for value in values:
            history.sending(place, value)
        batch = encode_batch(
            [(client.simulator.now_us // 1000 + 1_700_000_000_000, None, v, ()) for v in values],
            producer_id=self._producer_id,
            producer_epoch=0 if self._idempotent else -1,
            base_sequence=number if self._idempotent else -1,
        )
        attempts = client.random.randint(1, 8)
        while attempts or self._idempotent:
            attempts = max(0, attempts - 1)
            try:
                base_offset = await self._attempt(place, batch)
            except TryAgain as error:
                client.simulator.remark("%s %s: %s", self._name, place, error)
                client.lost_leader(place)
                if client.is_stopping:
                    return
                await client.pause(20, 150)
                continue
            for i, value in enumerate(values):
                history.acknowledge(place, base_offset + i, value)
            self.acknowledged += 1
            return

    async def _attempt(self, place: Place, batch: bytearray) -> int:
        client = self._client
        host, _ = await client.leader(place)
        data = PartitionProduceData(place.partition, bytes(batch))
        request = ProduceRequest(
            None, _ALL, 1_000, [TopicProduceData(place.topic, partition_data=[data])]
        )
        response = await client.call(host, request, lane=self._name, max_version=_BY_NAME)
        answer = response.responses[0].partition_responses[0]
        code = ErrorCode(answer.error_code)
        if code is ErrorCode.NONE:
            return answer.base_offset
        if code in _TRANSIENT:
            raise TryAgain(code.name)
        raise Violation(f"{self._name} got {code.name} from {host} for {place}")
