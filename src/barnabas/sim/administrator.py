"""Who creates topics, moves replicas and elects leaders, over the wire as everybody else does."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from barnabas.sim.client import Client, TryAgain
from barnabas.sim.history import Place, Violation
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from barnabas.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from barnabas.wire.messages.elect_leaders import ElectLeadersRequest

_PREFERRED = 0


class Administrator:
    """Asks any node; that the right one hears of it is the cluster's business."""

    def __init__(self, client: Client, nodes: list[int], replication_factor: int) -> None:
        self._client = client
        self._nodes = nodes
        self._replication_factor = replication_factor
        self.places: list[Place] = []

    async def create_topic(self, name: str, partitions: int, configs: dict[str, str]) -> None:
        """Until it is there."""
        topic = CreatableTopic(
            name,
            partitions,
            self._replication_factor,
            configs=[CreatableTopicConfig(key, value) for key, value in configs.items()],
        )
        while True:
            try:
                request = CreateTopicsRequest([topic], 1_000)
                answer = await self._client.call(self._client.anybody(), request)
                code = ErrorCode(answer.topics[0].error_code)
            except TryAgain:
                code = ErrorCode.REQUEST_TIMED_OUT
            if code in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS):
                self.places += [Place(name, index) for index in range(partitions)]
                return
            self._client.simulator.remark("topic %s: %s", name, code.name)
            await asyncio.sleep(0.2)

    # -- while it runs -----------------------------------------------------------------------------

    def move_replicas(self) -> None:
        """Give a partition replicas that chance chooses, or call a move off."""
        random = self._client.random
        if not self.places:
            return
        place = random.choice(self.places)
        replicas: list[int] | None = random.sample(self._nodes, self._replication_factor)
        if random.random() < 0.15:
            replicas = None
        self._client.simulator.say(f"{place} is to have the replicas {replicas}")
        topic = ReassignableTopic(place.topic, [ReassignablePartition(place.partition, replicas)])
        self._try(self._client.call(self._client.anybody(), _moves(topic)))

    def elect_preferred(self) -> None:
        self._client.simulator.say("preferred leaders are to be elected")
        request = ElectLeadersRequest(_PREFERRED, None, 1_000)
        self._try(self._client.call(self._client.anybody(), request))

    def _try(self, call: Coroutine[Any, Any, Any]) -> None:
        async def attempt() -> None:
            try:
                answer = await call
            except TryAgain as error:
                self._client.simulator.remark("administrator: %s", error)
                return
            code = ErrorCode(answer.error_code)
            if code is ErrorCode.UNKNOWN_SERVER_ERROR:
                raise Violation(f"the administrator got {code.name}")

        self._client.run(attempt())


def _moves(topic: ReassignableTopic) -> AlterPartitionReassignmentsRequest:
    return AlterPartitionReassignmentsRequest(timeout_ms=1_000, topics=[topic])
