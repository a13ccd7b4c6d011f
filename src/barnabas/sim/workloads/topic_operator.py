"""An operator who changes topics while they are used: settings, partitions and replication.

A change whose answer is lost may have been made, or be made later. What is answered is there in the
end, unless a later change replaces it.
"""

from collections.abc import Iterable
from dataclasses import fields
from typing import Any, NamedTuple

from barnabas.broker.node import Node
from barnabas.broker.replica.topic_settings import topic_settings
from barnabas.sim.checks.history import Place, Violation
from barnabas.sim.client import Client, TryAgain
from barnabas.sim.cluster import Cluster
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from barnabas.wire.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from barnabas.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)

_SET, _DELETE = 0, 1
_TOPIC, _BROKER = 2, 4
_ALL_BROKERS = ""
_MOST_PARTITIONS = 5
_LEAST_REPLICAS = 2
_TIMEOUT_MS = 1_000


class ChangedSetting(NamedTuple):
    """A setting of a topic, or of all brokers if the topic is empty."""

    topic: str
    name: str


Choices = dict[ChangedSetting, tuple[str | None, ...]]
"""The values that a setting may get; None for the default."""

BROKER_CHOICES: Choices = {
    ChangedSetting(_ALL_BROKERS, "max.incremental.fetch.session.cache.slots"): ("1", "3", None),
    ChangedSetting(_ALL_BROKERS, "fetch.max.bytes"): ("1024", None),
}


class TopicOperator:
    """Grows one topic, and changes settings."""

    def __init__(self, cluster: Cluster, topic: str, partitions: int, choices: Choices) -> None:
        self._cluster = cluster
        self._simulator = cluster.simulator
        self._client = cluster.client("operator")
        self._topic = topic
        self._partitions = partitions
        """How many partitions it wants the topic to have."""
        self._choices = choices
        self._last = {setting: self._value_of(setting) for setting in choices}
        """What was answered last, or was there before."""
        self._unanswered: dict[ChangedSetting, set[str | None]] = {each: set() for each in choices}
        """Values that may be set, or may come late."""

    async def run(self) -> None:
        client = self._client
        while not client.is_stopping:
            await client.pause(100, 900)
            try:
                match client.random.choice(("setting", "setting", "partitions", "replicas")):
                    case "setting":
                        setting = client.random.choice(list(self._choices))
                        await self._set(setting, client.random.choice(self._choices[setting]))
                    case "partitions":
                        self._partitions = min(self._partitions + 1, _MOST_PARTITIONS)
                        await self._grow()
                    case _:
                        await self._replicate()
            except TryAgain as error:
                self._simulator.remark("operator: %s", error)

    # -- changes -----------------------------------------------------------------------------------

    async def _set(self, setting: ChangedSetting, value: str | None) -> None:
        topic, name = setting
        was_unanswered = value in self._unanswered[setting]
        self._unanswered[setting].add(value)
        resource_type = _TOPIC if topic else _BROKER
        change = AlterableConfig(name, _SET if value is not None else _DELETE, value)
        resource = AlterConfigsResource(resource_type, topic, [change])
        self._simulator.say(f"{topic or 'brokers'}: {name} is to be {value}")
        answer = await self._client.call(
            self._client.any_node(), IncrementalAlterConfigsRequest([resource])
        )
        _check(ErrorCode(answer.responses[0].error_code), f"{name} of {topic or 'brokers'}")
        self._last[setting] = value
        if not was_unanswered:
            self._unanswered[setting].discard(value)
        self._simulator.reach(f"setting changed: {name}")

    async def _grow(self) -> None:
        """Nodes are chosen by the controller, or here."""
        random = self._client.random
        assignments: list[CreatePartitionsAssignment] | None = None
        topic = self._newest_topic()
        missing = self._partitions - (len(topic) if topic else self._partitions)
        if missing > 0 and random.random() < 0.3:
            nodes, factor = list(self._cluster.machines), random.choice((2, 3))
            assignments = [
                CreatePartitionsAssignment(random.sample(nodes, factor)) for _ in range(missing)
            ]
        growth = CreatePartitionsTopic(self._topic, self._partitions, assignments)
        self._simulator.say(f"{self._topic} is to have {self._partitions} partitions")
        answer = await self._client.call(
            self._client.any_node(), CreatePartitionsRequest([growth], _TIMEOUT_MS)
        )
        code = ErrorCode(answer.results[0].error_code)
        if code is not ErrorCode.INVALID_PARTITIONS:  # it has as many already
            _check(code, f"partitions of {self._topic}")
            self._simulator.reach("partitions added")

    async def _replicate(self) -> None:
        random = self._client.random
        topic = self._newest_topic()
        if not topic:
            return
        index = random.randrange(len(topic))
        nodes = list(self._cluster.machines)
        replicas: list[int] | None = None
        if random.random() > 0.1:
            replicas = random.sample(nodes, random.randint(_LEAST_REPLICAS, len(nodes)))
        self._simulator.say(f"{Place(self._topic, index)} is to have the replicas {replicas}")
        moved = ReassignableTopic(self._topic, [ReassignablePartition(index, replicas)])
        request = AlterPartitionReassignmentsRequest(timeout_ms=_TIMEOUT_MS, topics=[moved])
        answer = await self._client.call(self._client.any_node(), request)
        _check(ErrorCode(answer.error_code), f"a reassignment of {self._topic}")
        code = ErrorCode(answer.responses[0].partitions[0].error_code)
        _check(code, f"a reassignment of {self._topic}")
        if replicas is not None and len(replicas) != topic[index]:
            more_or_fewer = "more" if len(replicas) > topic[index] else "fewer"
            self._simulator.reach(f"reassignment: to {more_or_fewer} replicas")

    def _newest(self) -> Node | None:
        """The node that has heard most."""
        nodes = list(self._cluster.nodes())
        return max(nodes, key=lambda node: node.quorum.end_offset, default=None)

    def _value_of(self, setting: ChangedSetting) -> str | None:
        newest = self._newest()
        return None if newest is None else _value(newest, setting)

    def _newest_topic(self) -> list[int]:
        """The replicas that each partition has."""
        newest = self._newest()
        topic = None if newest is None else newest.image.topics.get(self._topic)
        return [] if topic is None else [len(one.replicas) for one in topic.partitions]

    # -- the end -----------------------------------------------------------------------------------

    async def finish(self, client: Client) -> None:
        """Returns when all partitions that it wants are there."""
        while True:
            try:
                await self._grow()
            except TryAgain as error:
                self._simulator.remark("operator: %s", error)
                await client.pause(50, 200)
            else:
                return

    def wants_another(self) -> None:
        """A partition."""
        self._partitions += 1

    @property
    def places(self) -> list[Place]:
        return [Place(self._topic, index) for index in range(self._partitions)]

    def check_settings(self) -> None:
        """Every node knows what was set, and its replicas obey it."""
        for node in self._cluster.nodes():
            for setting, last in self._last.items():
                value, possible = _value(node, setting), {last, *self._unanswered[setting]}
                if value not in possible:
                    raise Violation(
                        f"node {node.node_id} has {setting.name} {value} of "
                        f"{setting.topic or 'brokers'}, and it can only be one of {possible}"
                    )
            for partition in node.partitions:
                wanted = topic_settings(node.partitions._config, node.image, partition.topic)
                obeyed = partition.log.config, partition.limits
                if wanted != obeyed:
                    raise Violation(
                        f"{partition.name}: node {node.node_id} obeys other settings than its "
                        f"metadata says: {_differences(obeyed, wanted)}"
                    )


def _value(node: Node, setting: ChangedSetting) -> str | None:
    resource = (_TOPIC if setting.topic else _BROKER, setting.topic)
    return node.image.configs.get(resource, {}).get(setting.name)


def _differences(obeyed: Iterable[Any], wanted: Iterable[Any]) -> str:
    return ", ".join(
        f"{field.name} {getattr(left, field.name)} instead of {getattr(right, field.name)}"
        for left, right in zip(obeyed, wanted, strict=True)
        for field in fields(left)
        if getattr(left, field.name) != getattr(right, field.name)
    )


def _check(code: ErrorCode, what: str) -> None:
    if code in (ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.INVALID_CONFIG):
        raise Violation(f"the operator got {code.name} for {what}")
    if code is not ErrorCode.NONE:
        raise TryAgain(f"{what}: {code.name}")
