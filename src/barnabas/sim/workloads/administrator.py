"""An operator: creates topics, moves replicas and elects leaders, over the protocol."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from barnabas.sim.checks.history import Place, Violation
from barnabas.sim.client import Client, TryAgain
from barnabas.wire.errors import ErrorCode
from barnabas.wire.message import Response
from barnabas.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignableTopic,
)
from barnabas.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from barnabas.wire.messages.delete_topics import (
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from barnabas.wire.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    TopicPartitions,
)

_PREFERRED = 0
_UNCLEAN = 1


class Administrator:
    """Asks any node, which forwards to the controller."""

    def __init__(self, client: Client, nodes: list[int], replication_factor: int) -> None:
        self._client = client
        self._nodes = nodes
        self._replication_factor = replication_factor
        self.places: list[Place] = []
        self.internal_places: list[Place] = []
        """Those that are moved too, but that clients do not write to."""
        self._scratch = 0

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
                answer = await self._client.call(self._client.any_node(), request)
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
        place = random.choice(self.places + self.internal_places)
        replicas: list[int] | None = random.sample(self._nodes, self._replication_factor)
        if random.random() < 0.15:
            replicas = None
        self._client.simulator.say(f"{place} is to have the replicas {replicas}")
        topic = ReassignableTopic(place.topic, [ReassignablePartition(place.partition, replicas)])
        self._try(self._client.call(self._client.any_node(), _moves(topic)))

    def churn_topics(self) -> None:
        """Create a topic without traffic, and delete the previous one."""
        random = self._client.random
        before, self._scratch = self._scratch, self._scratch + 1
        self._client.simulator.say(f"scratch-{self._scratch} comes, scratch-{before} goes")
        topic = CreatableTopic(f"scratch-{self._scratch}", random.randint(1, 4), -1)
        host = self._client.any_node()
        self._try(self._client.call(host, CreateTopicsRequest([topic], 1_000)))
        deletion = DeleteTopicsRequest(
            topics=[DeleteTopicState(f"scratch-{before}")], timeout_ms=1_000
        )
        self._try(self._client.call(self._client.any_node(), deletion))

    def elect_preferred(self) -> None:
        self._client.simulator.say("preferred leaders are to be elected")
        request = ElectLeadersRequest(_PREFERRED, None, 1_000)
        self._try(self._client.call(self._client.any_node(), request))

    async def elect_unclean(self, client: Client, place: Place) -> None:
        """What an operator does for a partition that waits for that."""
        client.simulator.say(f"{place} is to have a leader, even if records are lost")
        topics = [TopicPartitions(place.topic, [place.partition])]
        try:
            await client.call(client.any_node(), ElectLeadersRequest(_UNCLEAN, topics, 1_000))
        except TryAgain as error:
            client.simulator.remark("administrator: %s", error)

    def _try(self, call: Coroutine[Any, Any, Any]) -> None:
        async def attempt() -> None:
            try:
                answer = await call
            except TryAgain as error:
                self._client.simulator.remark("administrator: %s", error)
                return
            if ErrorCode.UNKNOWN_SERVER_ERROR in _errors(answer):
                raise Violation(f"the administrator got {answer}")

        self._client.run(attempt())


def _errors(answer: Response) -> set[int]:
    """Error codes of the answer as a whole, and of the topics in it."""
    if isinstance(answer, CreateTopicsResponse):
        return {topic.error_code for topic in answer.topics}
    if isinstance(answer, DeleteTopicsResponse):
        return {topic.error_code for topic in answer.responses}
    assert isinstance(answer, AlterPartitionReassignmentsResponse | ElectLeadersResponse)
    return {answer.error_code}


def _moves(topic: ReassignableTopic) -> AlterPartitionReassignmentsRequest:
    return AlterPartitionReassignmentsRequest(timeout_ms=1_000, topics=[topic])
