"""aiokafka, driven from outside its event loop."""

import asyncio
import threading
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic, RecordsToDelete
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from aiokafka.errors import KafkaError, ProducerFenced, for_code
from aiokafka.structs import OffsetAndMetadata

from tests.foreign_clients.face import (
    Admin,
    Client,
    Consumer,
    Delivery,
    Fenced,
    Headers,
    MustAbort,
    NotOffered,
    Producer,
    Record,
)
from tests.support.wait import LIMIT_S

T = TypeVar("T")
_ASSIGNORS = {"range": RangePartitionAssignor, "roundrobin": RoundRobinPartitionAssignor}


class EventLoop:
    """One event loop in a thread, for all clients of the test run."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, daemon=True).start()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(LIMIT_S)


_loop: EventLoop | None = None
_making = threading.Lock()
"""Members in two threads may be the first: a consumer that two loops drive hangs."""


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    global _loop
    with _making:
        if _loop is None:
            _loop = EventLoop()
    return _loop.run(coroutine)


class AioProducer(Producer):
    def __init__(self, config: dict[str, Any]) -> None:
        self._sent: list[asyncio.Future[Any]] = []
        self._producer: AIOKafkaProducer = run(self._start(config))

    @staticmethod
    async def _start(config: dict[str, Any]) -> AIOKafkaProducer:
        producer = AIOKafkaProducer(**config)
        await producer.start()
        return producer

    def send(
        self,
        topic: str,
        value: bytes | None,
        *,
        key: bytes | None = None,
        partition: int | None = None,
        headers: Headers = (),
        timestamp_ms: int | None = None,
    ) -> None:
        coroutine = self._producer.send(
            topic, value, key, partition, timestamp_ms, headers=list(headers)
        )
        self._sent.append(run(coroutine))

    def flush(self) -> list[Delivery]:
        sent, self._sent = self._sent, []
        return [run(self._outcome(future)) for future in sent]

    @staticmethod
    async def _outcome(future: asyncio.Future[Any]) -> Delivery:
        try:
            done = await future
        except KafkaError as error:
            return Delivery(-1, -1, repr(error))
        return Delivery(-1, -1) if done is None else Delivery(done.partition, done.offset)

    def begin(self) -> None:
        with _told():
            run(self._producer.begin_transaction())

    def send_offsets(self, group: Any, topic: str, offsets: Mapping[int, int]) -> None:
        positions = {TopicPartition(topic, p): offset for p, offset in offsets.items()}
        with _told():
            run(self._producer.send_offsets_to_transaction(positions, group))

    def commit(self) -> None:
        with _told():
            for future in self._sent:  # it commits what has come through, whatever has not
                run(asyncio.wait_for(future, None))
            run(self._producer.commit_transaction())
        self._sent = []

    def abort(self) -> None:
        with _told():
            run(self._producer.abort_transaction())
        self._sent = []

    def close(self) -> None:
        run(self._producer.stop())


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except ProducerFenced as error:
        raise Fenced(str(error)) from error
    except KafkaError as error:
        raise MustAbort(repr(error)) from error


class AioConsumer(Consumer):
    def __init__(self, config: dict[str, Any]) -> None:
        self._group = config["group_id"]
        self._consumer: AIOKafkaConsumer = run(self._start(config))

    @staticmethod
    async def _start(config: dict[str, Any]) -> AIOKafkaConsumer:
        consumer = AIOKafkaConsumer(**config)
        await consumer.start()
        return consumer

    def assign(self, topic: str, positions: Mapping[int, int]) -> None:
        async def assign() -> None:
            self._consumer.assign([TopicPartition(topic, p) for p in positions])
            for partition, offset in positions.items():
                self._consumer.seek(TopicPartition(topic, partition), offset)

        run(assign())

    def subscribe(self, topics: Sequence[str]) -> None:
        async def subscribe() -> None:
            self._consumer.subscribe(list(topics))

        run(subscribe())

    def poll(self, timeout_s: float = 0.2) -> list[Record]:
        polled = run(self._consumer.getmany(timeout_ms=int(timeout_s * 1000)))
        return [
            Record(
                r.partition,
                r.offset,
                r.key,
                r.value,
                tuple(r.headers),
                r.timestamp,
                r.timestamp_type,
            )
            for records in polled.values()
            for r in records
        ]

    def assigned(self) -> set[tuple[str, int]]:
        return {(tp.topic, tp.partition) for tp in self._consumer.assignment()}

    def seek(self, topic: str, partition: int, offset: int) -> None:
        async def seek() -> None:
            self._consumer.seek(TopicPartition(topic, partition), offset)

        run(seek())

    def bounds(self, topic: str, partition: int) -> tuple[int, int]:
        where = TopicPartition(topic, partition)
        begin = run(self._consumer.beginning_offsets([where]))[where]
        return begin, run(self._consumer.end_offsets([where]))[where]

    def offset_for_time(self, topic: str, partition: int, timestamp_ms: int) -> int | None:
        where = TopicPartition(topic, partition)
        found = run(self._consumer.offsets_for_times({where: timestamp_ms}))[where]
        return None if found is None else int(found.offset)

    def commit(self, topic: str, offsets: Mapping[int, int], metadata: str = "") -> None:
        positions = {
            TopicPartition(topic, p): OffsetAndMetadata(o, metadata) for p, o in offsets.items()
        }
        run(self._consumer.commit(positions))

    def committed(self, topic: str, partition: int) -> int | None:
        found: int | None = run(self._consumer.committed(TopicPartition(topic, partition)))
        return found

    def group_metadata(self) -> str | None:
        return self._group

    def close(self) -> None:
        run(self._consumer.stop())


class AioAdmin(Admin):
    def __init__(self, bootstrap: str) -> None:
        self._admin: AIOKafkaAdminClient = run(self._start(bootstrap))

    @staticmethod
    async def _start(bootstrap: str) -> AIOKafkaAdminClient:
        admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
        await admin.start()
        return admin

    def create_topic(
        self, name: str, partitions: int = 1, configs: Mapping[str, str] | None = None
    ) -> None:
        topic = NewTopic(name, partitions, 1, topic_configs=dict(configs or {}))
        for _, code, *_ in run(self._admin.create_topics([topic])).topic_errors:
            _check(code)

    def delete_topic(self, name: str) -> None:
        for _, code, *_ in run(self._admin.delete_topics([name])).topic_error_codes:
            _check(code)

    def topics(self) -> set[str]:
        return set(run(self._admin.list_topics()))

    def partition_count(self, topic: str) -> int:
        (described,) = run(self._admin.describe_topics([topic]))
        _check(described["error_code"])
        return len(described["partitions"])

    def create_partitions(self, topic: str, total: int) -> None:
        run(self._admin.create_partitions({topic: NewPartitions(total)}))

    def topic_configs(self, topic: str) -> dict[str, str]:
        resource = ConfigResource(ConfigResourceType.TOPIC, topic)
        (response,) = run(self._admin.describe_configs([resource]))
        ((code, _, _, _, entries),) = response.resources
        _check(code)
        return {entry[0]: entry[1] for entry in entries}

    def replace_configs(self, topic: str, configs: Mapping[str, str]) -> None:
        resource = ConfigResource(ConfigResourceType.TOPIC, topic, dict(configs))
        (response,) = run(self._admin.alter_configs([resource]))
        for code, *_ in response.resources:
            _check(code)

    def groups(self) -> set[str]:
        return {group[0] for group in run(self._admin.list_consumer_groups())}

    def describe_group(self, group: str) -> tuple[str, int]:
        (response,) = run(self._admin.describe_consumer_groups([group]))
        ((code, _, state, _, _, members, *_),) = response.groups
        _check(code)
        return state, len(members)

    def group_offsets(self, group: str, topic: str) -> dict[int, int]:
        listed = run(self._admin.list_consumer_group_offsets(group))
        return {tp.partition: found.offset for tp, found in listed.items() if tp.topic == topic}

    def delete_records(self, topic: str, before: Mapping[int, int]) -> None:
        run(
            self._admin.delete_records(
                {TopicPartition(topic, p): RecordsToDelete(o) for p, o in before.items()}
            )
        )

    def nodes(self) -> list[tuple[int, str, int]]:
        brokers = run(self._admin.describe_cluster())["brokers"]
        return [(broker["node_id"], broker["host"], broker["port"]) for broker in brokers]

    def close(self) -> None:
        run(self._admin.close())


def _check(code: int) -> None:
    if code:
        raise for_code(code)


class AioKafka(Client):
    name = "aiokafka"

    def producer(
        self,
        bootstrap: str,
        *,
        acks: str = "all",
        compression: str = "none",
        idempotent: bool = False,
        linger_ms: int = 5,
        max_bytes: int = 1_000_000,
        delivery_timeout_ms: int = 60_000,
        request_timeout_ms: int = 10_000,
        transactional_id: str | None = None,
        transaction_timeout_ms: int = 60_000,
    ) -> Producer:
        return AioProducer(
            {
                "bootstrap_servers": bootstrap,
                "acks": acks if acks == "all" else int(acks),
                "compression_type": None if compression == "none" else compression,
                "enable_idempotence": idempotent or transactional_id is not None,
                "transactional_id": transactional_id,
                "transaction_timeout_ms": transaction_timeout_ms,
                "linger_ms": linger_ms,
                "max_request_size": max_bytes,
                "request_timeout_ms": (
                    request_timeout_ms if idempotent or transactional_id else delivery_timeout_ms
                ),
            }
        )

    def consumer(
        self,
        bootstrap: str,
        group: str | None = None,
        *,
        instance_id: str | None = None,
        strategy: str = "range",
        session_timeout_ms: int = 30_000,
        reset: str = "earliest",
        max_bytes: int = 1_000_000,
        isolation: str | None = None,
        request_timeout_ms: int = 30_000,
    ) -> Consumer:
        if strategy not in _ASSIGNORS:
            raise NotOffered(f"the assignor {strategy}")
        return AioConsumer(
            {
                "bootstrap_servers": bootstrap,
                "group_id": group,
                "group_instance_id": instance_id,
                "enable_auto_commit": False,
                "auto_offset_reset": reset,
                "partition_assignment_strategy": (_ASSIGNORS[strategy],),
                "session_timeout_ms": session_timeout_ms,
                "heartbeat_interval_ms": 300,
                "max_partition_fetch_bytes": max_bytes,
                "fetch_max_wait_ms": 100,
                "request_timeout_ms": request_timeout_ms,
                "isolation_level": isolation or "read_uncommitted",
            }
        )

    def admin(self, bootstrap: str) -> Admin:
        return AioAdmin(bootstrap)
