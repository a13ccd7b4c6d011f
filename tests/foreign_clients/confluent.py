"""confluent-kafka, which is librdkafka."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import confluent_kafka as ck
from confluent_kafka import admin as ck_admin

from tests.foreign_clients.face import (
    Admin,
    Client,
    Consumer,
    Delivery,
    Fenced,
    Headers,
    MustAbort,
    Producer,
    Record,
)
from tests.support.wait import LIMIT_S

_TIMEOUT_S = 60.0
_TRANSACTION_TIMEOUT_S = 60.0
_COMMITTED_ATTEMPTS = 4


class ConfluentProducer(Producer):
    def __init__(self, config: dict[str, Any]) -> None:
        self._producer = ck.Producer(config)
        self._outcomes: list[Delivery | None] = []
        if "transactional.id" in config:
            self._producer.init_transactions(_TIMEOUT_S)

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
        index = len(self._outcomes)
        self._outcomes.append(None)

        def delivered(error: ck.KafkaError | None, message: ck.Message) -> None:
            self._outcomes[index] = Delivery(
                message.partition(), message.offset(), str(error) if error else None
            )

        self._producer.produce(
            topic,
            value,
            key,
            partition=-1 if partition is None else partition,
            on_delivery=delivered,
            timestamp=timestamp_ms or 0,
            headers=list(headers),
        )
        self._producer.poll(0)

    def flush(self) -> list[Delivery]:
        assert self._producer.flush(LIMIT_S) == 0
        outcomes = [outcome for outcome in self._outcomes if outcome is not None]
        assert len(outcomes) == len(self._outcomes)
        self._outcomes = []
        return outcomes

    def begin(self) -> None:
        with _told():
            self._producer.begin_transaction()

    def send_offsets(self, group: Any, topic: str, offsets: Mapping[int, int]) -> None:
        positions = [ck.TopicPartition(topic, p, o) for p, o in offsets.items()]
        with _told():
            self._producer.send_offsets_to_transaction(positions, group, _TRANSACTION_TIMEOUT_S)

    def commit(self) -> None:
        with _told():
            self._producer.commit_transaction(_TRANSACTION_TIMEOUT_S)
        self._outcomes = []

    def abort(self) -> None:
        with _told():
            self._producer.abort_transaction(_TRANSACTION_TIMEOUT_S)
        self._outcomes = []

    def close(self) -> None:
        with suppress(ck.KafkaException):  # one that is fenced can't even wait
            self._producer.flush(LIMIT_S)
        self._producer.purge()
        # Its threads end with it. An error that a test has kept may refer to this object for long,
        # and they would complain that there is no broker any more.
        del self._producer


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except ck.KafkaException as exception:
        (error,) = exception.args
        if error.code() == ck.KafkaError._FENCED:
            raise Fenced(str(error)) from exception
        if error.txn_requires_abort():
            raise MustAbort(str(error)) from exception
        raise


class ConfluentConsumer(Consumer):
    def __init__(self, config: dict[str, Any]) -> None:
        self._consumer = ck.Consumer(config)

    def assign(self, topic: str, positions: Mapping[int, int]) -> None:
        self._consumer.assign([ck.TopicPartition(topic, p, o) for p, o in positions.items()])

    def subscribe(self, topics: Sequence[str]) -> None:
        self._consumer.subscribe(list(topics))

    def poll(self, timeout_s: float = 0.2) -> list[Record]:
        first = self._consumer.poll(timeout_s)
        if first is None:
            return []
        return [_record(m) for m in (first, *self._consumer.consume(500, 0))]

    def assigned(self) -> set[tuple[str, int]]:
        return {(tp.topic, tp.partition) for tp in self._consumer.assignment()}

    def seek(self, topic: str, partition: int, offset: int) -> None:
        self._consumer.seek(ck.TopicPartition(topic, partition, offset))

    def bounds(self, topic: str, partition: int) -> tuple[int, int]:
        return self._consumer.get_watermark_offsets(
            ck.TopicPartition(topic, partition), timeout=_TIMEOUT_S
        )

    def offset_for_time(self, topic: str, partition: int, timestamp_ms: int) -> int | None:
        wanted = [ck.TopicPartition(topic, partition, timestamp_ms)]
        (found,) = self._consumer.offsets_for_times(wanted, timeout=_TIMEOUT_S)
        return None if found.offset == ck.OFFSET_END else int(found.offset)

    def commit(self, topic: str, offsets: Mapping[int, int], metadata: str = "") -> None:
        positions = [ck.TopicPartition(topic, p, o, metadata) for p, o in offsets.items()]
        done = self._consumer.commit(offsets=positions, asynchronous=False)
        assert all(tp.error is None for tp in done)

    def group_metadata(self) -> Any:
        return self._consumer.consumer_group_metadata()

    def committed(self, topic: str, partition: int) -> int | None:
        """Asks again after a while: as long as its coordinator is unknown, librdkafka itself does
        so only when a connection changes its state, however long that takes."""
        wanted = [ck.TopicPartition(topic, partition)]
        for attempts_left in reversed(range(_COMMITTED_ATTEMPTS)):
            try:
                (found,) = self._consumer.committed(wanted, _TIMEOUT_S / _COMMITTED_ATTEMPTS)
                break
            except ck.KafkaException as exception:
                if exception.args[0].code() != ck.KafkaError._TIMED_OUT or not attempts_left:
                    raise
        return None if found.offset == ck.OFFSET_INVALID else int(found.offset)

    def close(self) -> None:
        self._consumer.close()


def _record(message: ck.Message) -> Record:
    error = message.error()
    if error is not None:
        raise ck.KafkaException(error)
    kind, timestamp_ms = message.timestamp()
    partition, offset = message.partition(), message.offset()
    assert partition is not None
    assert offset is not None
    return Record(
        partition,
        offset,
        message.key(),
        message.value(),
        tuple((name, value) for name, value in message.headers() or ()),
        timestamp_ms,
        kind - ck.TIMESTAMP_CREATE_TIME,
    )


class ConfluentAdmin(Admin):
    def __init__(self, bootstrap: str) -> None:
        self._admin = ck_admin.AdminClient({"bootstrap.servers": bootstrap})

    def create_topic(
        self, name: str, partitions: int = 1, configs: Mapping[str, str] | None = None
    ) -> None:
        topic = ck_admin.NewTopic(name, partitions, 1, config=dict(configs or {}))
        _only(self._admin.create_topics([topic]))

    def delete_topic(self, name: str) -> None:
        _only(self._admin.delete_topics([name]))

    def topics(self) -> set[str]:
        return set(self._admin.list_topics(timeout=_TIMEOUT_S).topics)

    def partition_count(self, topic: str) -> int:
        described = _only(self._admin.describe_topics(ck.TopicCollection([topic])))
        return len(described.partitions)

    def create_partitions(self, topic: str, total: int) -> None:
        _only(self._admin.create_partitions([ck_admin.NewPartitions(topic, total)]))

    def topic_configs(self, topic: str) -> dict[str, str]:
        entries = _only(self._admin.describe_configs([self._resource(topic)]))
        return {name: entry.value for name, entry in entries.items()}

    def replace_configs(self, topic: str, configs: Mapping[str, str]) -> None:
        resource = self._resource(topic, set_config=dict(configs))
        _only(self._admin.alter_configs([resource]))

    def change_config(self, topic: str, name: str, value: str | None) -> None:
        operation = (
            ck_admin.AlterConfigOpType.DELETE if value is None else (ck_admin.AlterConfigOpType.SET)
        )
        entry = ck_admin.ConfigEntry(name, value, incremental_operation=operation)
        resource = self._resource(topic, incremental_configs=[entry])
        _only(self._admin.incremental_alter_configs([resource]))

    def _resource(self, topic: str, **more: Any) -> ck_admin.ConfigResource:
        return ck_admin.ConfigResource(ck_admin.ConfigResource.Type.TOPIC, topic, **more)

    def groups(self) -> set[str]:
        listed = self._admin.list_consumer_groups().result(_TIMEOUT_S)
        assert not listed.errors
        return {group.group_id for group in listed.valid}

    def describe_group(self, group: str) -> tuple[str, int]:
        described = _only(self._admin.describe_consumer_groups([group]))
        return described.state.name.title(), len(described.members)

    def delete_group(self, group: str) -> None:
        _only(self._admin.delete_consumer_groups([group]))

    def group_offsets(self, group: str, topic: str) -> dict[int, int]:
        request = ck.ConsumerGroupTopicPartitions(group)
        listed = _only(self._admin.list_consumer_group_offsets([request]))
        return {tp.partition: tp.offset for tp in listed.topic_partitions if tp.topic == topic}

    def list_offsets(self, topic: str, partition: int) -> tuple[int, int]:
        where = ck.TopicPartition(topic, partition)
        specs = (ck_admin.OffsetSpec.earliest(), ck_admin.OffsetSpec.latest())
        earliest, latest = (_only(self._admin.list_offsets({where: spec})) for spec in specs)
        return earliest.offset, latest.offset

    def delete_records(self, topic: str, before: Mapping[int, int]) -> None:
        where = [ck.TopicPartition(topic, p, offset) for p, offset in before.items()]
        for deleted in self._admin.delete_records(where).values():
            deleted.result(_TIMEOUT_S)

    def nodes(self) -> list[tuple[int, str, int]]:
        described = self._admin.describe_cluster().result(_TIMEOUT_S)
        return [(node.id, node.host, node.port) for node in described.nodes]

    def close(self) -> None:
        del self._admin  # librdkafka ends it with its last reference


def _only(futures: Mapping[Any, Any]) -> Any:
    """The result of the only future, or its exception."""
    (future,) = futures.values()
    return future.result(_TIMEOUT_S)


class Confluent(Client):
    name = "confluent-kafka"

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
        config: dict[str, Any] = {
            "bootstrap.servers": bootstrap,
            "acks": acks,
            "compression.type": compression,
            "enable.idempotence": idempotent or transactional_id is not None,
            "linger.ms": linger_ms,
            "message.max.bytes": max_bytes,
            "message.timeout.ms": delivery_timeout_ms,
            "socket.timeout.ms": request_timeout_ms,
            "reconnect.backoff.max.ms": 500,
        }
        if transactional_id is not None:
            config["transactional.id"] = transactional_id
            config["transaction.timeout.ms"] = transaction_timeout_ms
            config["message.timeout.ms"] = min(delivery_timeout_ms, transaction_timeout_ms)
            config["socket.timeout.ms"] = min(request_timeout_ms, transaction_timeout_ms)
        return ConfluentProducer(config)

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
        config: dict[str, Any] = {
            "bootstrap.servers": bootstrap,
            "group.id": group or "unknown",
            "enable.auto.commit": False,
            "auto.offset.reset": reset,
            "partition.assignment.strategy": strategy,
            "session.timeout.ms": session_timeout_ms,
            "heartbeat.interval.ms": 300,
            "fetch.message.max.bytes": max_bytes,
            "fetch.wait.max.ms": 100,
            "socket.timeout.ms": request_timeout_ms,
            "reconnect.backoff.max.ms": 500,
            "topic.metadata.refresh.interval.ms": 1000,
        }
        if instance_id is not None:
            config["group.instance.id"] = instance_id
        if isolation is not None:
            config["isolation.level"] = isolation
        return ConfluentConsumer(config)

    def admin(self, bootstrap: str) -> Admin:
        return ConfluentAdmin(bootstrap)
