"""A node: everything a handler works with, and the one way to change what is agreed."""

import logging
from asyncio import sleep
from collections.abc import Iterable
from typing import TypeVar

from barnabas.broker.config import BrokerConfig
from barnabas.broker.environment import Environment
from barnabas.broker.fetch_sessions import FetchSessions
from barnabas.broker.flusher import Flusher
from barnabas.broker.group_coordinator import GroupCoordinator
from barnabas.broker.metadata_log import MetadataLog
from barnabas.broker.net.connection import Connection
from barnabas.broker.net.door import ConnectionDoor
from barnabas.broker.net.listeners import Address
from barnabas.broker.partitions import Partitions
from barnabas.broker.topic_answers import TopicAnswers
from barnabas.controller.configs import TopicDefaults
from barnabas.controller.decision import Decision
from barnabas.controller.producer_ids import allocate_producer_ids
from barnabas.controller.topics import TopicPolicy, create_topics
from barnabas.log import DataDirectory, StorageError
from barnabas.metadata.image import (
    BROKER_RESOURCE,
    CLUSTER_METADATA,
    CONSUMER_OFFSETS,
    MetadataImage,
    TopicImage,
)
from barnabas.metadata.records import MetadataRecord
from barnabas.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from barnabas.wire.messages.metadata_records import (
    ConfigRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    RemoveTopicRecord,
    TopicRecord,
)

logger = logging.getLogger(__name__)

AnswerT = TypeVar("AnswerT")

_TURNS_TO_ANSWER = 3
"""Turns of the event loop that a decided answer takes to its socket: encoding, order, writing."""


class Node:
    """One broker's state. Handlers read it; only `commit` changes what is agreed."""

    def __init__(self, config: BrokerConfig, data: DataDirectory, environment: Environment) -> None:
        self.config = config
        self.data = data
        self.environment = environment
        self.loop = loop = environment.loop
        self.clock = environment.clock
        self.random = environment.random
        disk = environment.disk
        self.node_id = data.node_id
        self.cluster_id = data.cluster_id
        self.rack = config.text("broker.rack")
        self.image = MetadataImage()
        self.executor = environment.threads(2, "disk")
        # Apart from the others: whoever waits for a flush shall not wait for a compaction.
        self._flushing = environment.threads(4, "flush")
        self.flusher = Flusher(loop, self._flushing, self.clock)
        self.door = ConnectionDoor(loop, config)
        self.topic_answers = TopicAnswers()
        self.groups = GroupCoordinator(loop, config, self.clock, self.random, lambda: self.image)
        self._metadata_log = MetadataLog(disk, data.partition_path(CLUSTER_METADATA, 0), self.image)
        self.image.replay(RegisterBrokerRecord(broker_id=self.node_id, fenced=False))
        config.set_dynamic(self.image.broker_configs(self.node_id))
        self.door.configure(config)
        self.fetch_sessions = FetchSessions(
            config.number("max.incremental.fetch.session.cache.slots"), self.random
        )
        self.partitions = Partitions(
            config,
            self.image,
            data,
            disk,
            loop,
            self.executor,
            self.flusher.appended,
            clock=self.clock,
            node_id=self.node_id,
            threads=environment.threads,
        )
        self.partitions.leaders_changed.append(self.groups.leader_changed)
        self._producer_ids = iter(range(0))
        self.advertised = Address("localhost", 0)

    def load(self) -> None:
        """Open every partition and bring back the groups."""
        self.partitions.open_all()
        self.partitions.set_strays_aside(keep={CLUSTER_METADATA})

    # -- what is agreed ----------------------------------------------------------------------------

    def commit(self, decision: Decision[AnswerT]) -> AnswerT:
        """Persist and replay a decision, and bring the node in step. Raises `StorageError`."""
        removed = self._removed_topics(decision.records)
        self._metadata_log.commit(decision.records)
        self._follow(decision.records, removed)
        return decision.answer

    def _removed_topics(self, records: Iterable[MetadataRecord]) -> list[TopicImage]:
        return [
            self.image.topics_by_id[record.topic_id]
            for record in records
            if isinstance(record, RemoveTopicRecord)
        ]

    def _follow(self, records: list[MetadataRecord], removed: list[TopicImage]) -> None:
        changed: dict[bytes, None] = {}
        reconfigured: dict[str, None] = {}
        for record in records:
            match record:
                case TopicRecord() | PartitionRecord():
                    changed[record.topic_id] = None
                case ConfigRecord(resource_type=kind) if kind == BROKER_RESOURCE:
                    self._reconfigure_broker()
                    reconfigured |= dict.fromkeys(self.image.topics)
                case ConfigRecord():
                    reconfigured[record.resource_name] = None
                case _:
                    pass
        for topic in removed:
            self.topic_answers.changed(topic.name)
            self.partitions.delete_topic(topic.name, topic.topic_id)
        for topic_id in changed:
            topic = self.image.topics_by_id[topic_id]
            self.topic_answers.changed(topic.name)
            self.partitions.apply(topic)
        for name in reconfigured:
            self.partitions.reconfigure(name)
        if removed:
            self.groups.topics_deleted({topic.name for topic in removed})

    def _reconfigure_broker(self) -> None:
        self.config.set_dynamic(self.image.broker_configs(self.node_id))
        self.door.configure(self.config)
        self.fetch_sessions.max_sessions = self.config.number(
            "max.incremental.fetch.session.cache.slots"
        )

    # -- topics ------------------------------------------------------------------------------------

    def topic_policy(self) -> TopicPolicy:
        return TopicPolicy(
            self.node_id,
            self.config.number("num.partitions"),
            TopicDefaults(self.image, self.config.settings),
            self.config.flag("delete.topic.enable"),
            lambda: self.random.randbytes(16),
        )

    def auto_create(self, names: list[str]) -> dict[str, int]:
        """Create topics a client asked for by name; the error code of each."""
        if CONSUMER_OFFSETS in names:
            self._create_offsets_topic()
        topics = [CreatableTopic(name, -1, -1) for name in names if name != CONSUMER_OFFSETS]
        request = CreateTopicsRequest(topics)
        answer = self.commit(create_topics(self.image, request, self.topic_policy()))
        return {result.name: result.error_code for result in answer.topics}

    async def ensure_offsets_topic(self) -> None:
        """Have the groups' topic created if need be. Raises `StorageError`."""
        self._create_offsets_topic()

    def _create_offsets_topic(self) -> None:
        if CONSUMER_OFFSETS not in self.image.topics:
            settings = {
                "cleanup.policy": "compact",
                "segment.bytes": str(self.config.number("offsets.topic.segment.bytes")),
            }
            topic = CreatableTopic(
                CONSUMER_OFFSETS,
                self.config.number("offsets.topic.num.partitions"),
                -1,
                configs=[CreatableTopicConfig(name, value) for name, value in settings.items()],
            )
            request = CreateTopicsRequest([topic])
            self.commit(create_topics(self.image, request, self.topic_policy(), internal=True))

    def next_producer_id(self) -> int:
        """An id no producer has had. Raises `StorageError`."""
        producer_id = next(self._producer_ids, None)
        if producer_id is None:
            block = self.commit(allocate_producer_ids(self.image, self.node_id))
            self._producer_ids = iter(block)
            producer_id = next(self._producer_ids)
        return producer_id

    # -- the rest ----------------------------------------------------------------------------------

    def endpoint(self, connection: Connection) -> Address:
        """Where the client behind `connection` is told to find this node."""
        if self.advertised.is_wildcard:
            return Address(connection.local_host, self.advertised.port)
        return self.advertised

    def endpoint_of(self, node_id: int, connection: Connection) -> Address | None:
        """Where the client behind `connection` is told to find a node; None: it is not there."""
        if node_id == self.node_id:
            return self.endpoint(connection)
        broker = self.image.brokers.get(node_id)
        if broker is None or not broker.endpoints:
            return None
        return Address(broker.endpoints[0].host, broker.endpoints[0].port)

    async def close(self) -> None:
        """Answer the members of groups, flush and close everything."""
        self.door.take_no_more()
        self.groups.close()
        for _ in range(_TURNS_TO_ANSWER):
            await sleep(0)
        self.door.close()
        await self.flusher.close()
        self._flushing.shutdown(wait=True)
        self.executor.shutdown(wait=True)
        self.partitions.close()
        try:
            self._metadata_log.close()
        except StorageError as error:
            logger.error("the next start has to scan the metadata: %s", error)
        self.data.close()
