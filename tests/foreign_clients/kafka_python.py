"""kafka-python 3."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, OffsetAndMetadata, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kafka.errors import KafkaError, ProducerFencedError
from kafka.producer.future import FutureRecordMetadata

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

_ASSIGNORS = {
    "range": RangePartitionAssignor,
    "roundrobin": RoundRobinPartitionAssignor,
    "cooperative-sticky": CooperativeStickyAssignor,
}


class KafkaPythonProducer(Producer):
    def __init__(self, config: dict[str, Any]) -> None:
        self._producer = KafkaProducer(**config)
        self._futures: list[FutureRecordMetadata] = []
        if config["transactional_id"] is not None:
            self._producer.init_transactions()

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
        self._futures.append(
            self._producer.send(topic, value, key, list(headers), partition, timestamp_ms)
        )

    def flush(self) -> list[Delivery]:
        futures, self._futures = self._futures, []
        self._producer.flush(LIMIT_S)
        return [self._outcome(future) for future in futures]

    @staticmethod
    def _outcome(future: FutureRecordMetadata) -> Delivery:
        try:
            done = future.get(90)
        except KafkaError as error:
            return Delivery(-1, -1, repr(error))
        return Delivery(done.partition, done.offset)

    def begin(self) -> None:
        with _told():
            self._producer.begin_transaction()

    def send_offsets(self, group: Any, topic: str, offsets: Mapping[int, int]) -> None:
        positions = {
            TopicPartition(topic, p): OffsetAndMetadata(o, "", -1) for p, o in offsets.items()
        }
        with _told():
            self._producer.send_offsets_to_transaction(positions, group)

    def commit(self) -> None:
        with _told():
            self._producer.commit_transaction()
        self._futures = []

    def abort(self) -> None:
        with _told():
            self._producer.abort_transaction()
        self._futures = []

    def close(self) -> None:
        self._producer.close(timeout=LIMIT_S)


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except ProducerFencedError as error:
        raise Fenced(str(error)) from error
    except KafkaError as error:
        raise MustAbort(repr(error)) from error


class KafkaPythonConsumer(Consumer):
    def __init__(self, config: dict[str, Any]) -> None:
        self._consumer = KafkaConsumer(**config)

    def assign(self, topic: str, positions: Mapping[int, int]) -> None:
        self._consumer.assign([TopicPartition(topic, p) for p in positions])
        for partition, offset in positions.items():
            self._consumer.seek(TopicPartition(topic, partition), offset)

    def subscribe(self, topics: Sequence[str]) -> None:
        self._consumer.subscribe(list(topics))
        # If it joins before it knows the topics' partitions, it shares out none of them and joins
        # again when it does. Each join is a risk: a poll that times out between the answers to
        # JoinGroup and SyncGroup leaves it without partitions and heartbeats (3.0.12).
        for topic in topics:
            self._consumer.partitions_for_topic(topic)

    def poll(self, timeout_s: float = 0.2) -> list[Record]:
        polled = self._consumer.poll(int(timeout_s * 1000))
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
        self._consumer.seek(TopicPartition(topic, partition), offset)

    def bounds(self, topic: str, partition: int) -> tuple[int, int]:
        where = TopicPartition(topic, partition)
        begin = self._consumer.beginning_offsets([where])[where]
        return begin, self._consumer.end_offsets([where])[where]

    def offset_for_time(self, topic: str, partition: int, timestamp_ms: int) -> int | None:
        where = TopicPartition(topic, partition)
        found = self._consumer.offsets_for_times({where: timestamp_ms})[where]
        return None if found is None else int(found.offset)

    def commit(self, topic: str, offsets: Mapping[int, int], metadata: str = "") -> None:
        self._consumer.commit(
            {
                TopicPartition(topic, p): OffsetAndMetadata(o, metadata, -1)
                for p, o in offsets.items()
            }
        )

    def group_metadata(self) -> Any:
        return self._consumer.group_metadata()

    def committed(self, topic: str, partition: int) -> int | None:
        found: int | None = self._consumer.committed(TopicPartition(topic, partition))
        return found

    def close(self) -> None:
        self._consumer.close(autocommit=False)


class KafkaPythonAdmin(Admin):
    def __init__(self, bootstrap: str) -> None:
        self._admin = KafkaAdminClient(bootstrap_servers=bootstrap)

    def create_topic(
        self, name: str, partitions: int = 1, configs: Mapping[str, str] | None = None
    ) -> None:
        topic = {"num_partitions": partitions, "configs": dict(configs or {})}
        self._admin.create_topics({name: topic})

    def delete_topic(self, name: str) -> None:
        self._admin.delete_topics([name])

    def topics(self) -> set[str]:
        return set(self._admin.list_topics())

    def partition_count(self, topic: str) -> int:
        (described,) = self._admin.describe_topics([topic])
        return len(described["partitions"])

    def create_partitions(self, topic: str, total: int) -> None:
        self._admin.create_partitions({topic: total})

    def topic_configs(self, topic: str) -> dict[str, str]:
        described = self._admin.describe_configs([self._resource(topic)], config_filter="all")
        return {name: entry["value"] for name, entry in described["topic"][topic].items()}

    def replace_configs(self, topic: str, configs: Mapping[str, str]) -> None:
        raise NotOffered("alter configs as it is; it adds what is set already to the request")

    @staticmethod
    def _check(results: Mapping[str, Mapping[str, Any]]) -> None:
        """Outcomes are strings; only one of them is good."""
        for result in results["topic"].values():
            if result != "OK":
                raise KafkaError(result)

    def change_config(self, topic: str, name: str, value: str | None) -> None:
        change = ("DELETE", None) if value is None else ("SET", value)
        resource = self._resource(topic, {name: change})
        self._check(self._admin.alter_configs([resource], incremental=True))

    def _resource(self, topic: str, configs: dict[str, Any] | None = None) -> ConfigResource:
        return ConfigResource(ConfigResourceType.TOPIC, topic, configs)

    def groups(self) -> set[str]:
        return {group["group_id"] for group in self._admin.list_groups()}

    def describe_group(self, group: str) -> tuple[str, int]:
        described = self._admin.describe_groups([group])[group]
        return described["group_state"], len(described["members"])

    def delete_group(self, group: str) -> None:
        outcome = self._admin.delete_groups([group])[group]
        if outcome != "OK":
            raise KafkaError(outcome)

    def group_offsets(self, group: str, topic: str) -> dict[int, int]:
        listed = self._admin.list_group_offsets({group: None})[group]
        return {tp.partition: found.offset for tp, found in listed.items() if tp.topic == topic}

    def list_offsets(self, topic: str, partition: int) -> tuple[int, int]:
        where = TopicPartition(topic, partition)
        earliest, latest = (
            self._admin.list_partition_offsets({where: timestamp})[where] for timestamp in (-2, -1)
        )
        return earliest.offset, latest.offset

    def delete_records(self, topic: str, before: Mapping[int, int]) -> None:
        self._admin.delete_records({TopicPartition(topic, p): o for p, o in before.items()})

    def nodes(self) -> list[tuple[int, str, int]]:
        brokers = self._admin.describe_cluster()["brokers"]
        return [(broker["broker_id"], broker["host"], broker["port"]) for broker in brokers]

    def close(self) -> None:
        self._admin.close()


class KafkaPython(Client):
    name = "kafka-python"

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
        return KafkaPythonProducer(
            {
                "bootstrap_servers": bootstrap,
                "acks": acks if acks == "all" else int(acks),
                "compression_type": None if compression == "none" else compression,
                "enable_idempotence": idempotent or transactional_id is not None,
                "transactional_id": transactional_id,
                "transaction_timeout_ms": transaction_timeout_ms,
                "linger_ms": linger_ms,
                "max_request_size": max_bytes,
                "delivery_timeout_ms": delivery_timeout_ms,
                "max_block_ms": delivery_timeout_ms,
                "request_timeout_ms": min(delivery_timeout_ms // 2, request_timeout_ms),
                # Long enough to ask another one when the first is frozen.
                "bootstrap_timeout_ms": 3 * request_timeout_ms,
                "reconnect_backoff_max_ms": 500,
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
        return KafkaPythonConsumer(
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
                # Long enough to ask another one when the first is frozen.
                "bootstrap_timeout_ms": 3 * request_timeout_ms,
                "isolation_level": isolation or "read_uncommitted",
                "reconnect_backoff_max_ms": 500,
            }
        )

    def admin(self, bootstrap: str) -> Admin:
        return KafkaPythonAdmin(bootstrap)
