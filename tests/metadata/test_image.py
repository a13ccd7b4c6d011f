"""The image is what replaying the records says, and nothing else."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.metadata.image import BROKER_RESOURCE, TOPIC_RESOURCE, MetadataImage
from barnabas.metadata.records import (
    MetadataRecord,
    decode_metadata_record,
    encode_metadata_record,
)
from barnabas.wire.endpoint import Endpoint
from barnabas.wire.messages.metadata_records import (
    AccessControlEntryRecord,
    BrokerEndpoint,
    BrokerRegistrationChangeRecord,
    ConfigRecord,
    NoOpRecord,
    PartitionChangeRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    RemoveAccessControlEntryRecord,
    RemoveTopicRecord,
    TopicRecord,
    UnregisterBrokerRecord,
)

A, B = b"a" * 16, b"b" * 16


def replayed(*records: MetadataRecord) -> MetadataImage:
    image = MetadataImage()
    for record in records:
        image.replay(record)
    return image


def partition(topic_id: bytes, index: int, leader: int = 1, epoch: int = 0) -> PartitionRecord:
    return PartitionRecord(
        partition_id=index,
        topic_id=topic_id,
        replicas=[1],
        isr=[1],
        leader=leader,
        leader_epoch=epoch,
        partition_epoch=epoch,
    )


def test_a_topic_and_its_partitions() -> None:
    image = replayed(TopicRecord("t", A), partition(A, 0), partition(A, 1))
    topic = image.topics["t"]
    assert image.topics_by_id[A] is topic
    assert [p.index for p in topic.partitions] == [0, 1]
    assert not topic.is_internal
    assert replayed(TopicRecord("__consumer_offsets", A)).topics["__consumer_offsets"].is_internal


def test_a_partition_that_changes() -> None:
    image = replayed(
        TopicRecord("t", A), partition(A, 0), partition(A, 1), partition(A, 0, leader=2, epoch=5)
    )
    leaders = [(p.leader, p.leader_epoch) for p in image.topics["t"].partitions]
    assert leaders == [(2, 5), (1, 0)]


def test_a_removed_topic_takes_its_settings_along() -> None:
    image = replayed(
        TopicRecord("t", A),
        ConfigRecord(TOPIC_RESOURCE, "t", "retention.ms", "1"),
        RemoveTopicRecord(A),
        TopicRecord("t", B),
    )
    assert image.topics_by_id.keys() == {B}
    assert image.topics["t"].topic_id == B
    assert image.topic_configs("t") == {}


def test_settings_of_one_broker_stand_over_those_of_all() -> None:
    image = replayed(
        ConfigRecord(BROKER_RESOURCE, "", "a", "all"),
        ConfigRecord(BROKER_RESOURCE, "", "b", "all"),
        ConfigRecord(BROKER_RESOURCE, "1", "a", "one"),
    )
    assert image.broker_configs(1) == {"a": "one", "b": "all"}
    assert image.broker_configs(2) == {"a": "all", "b": "all"}
    image.replay(ConfigRecord(BROKER_RESOURCE, "1", "a", None))
    assert image.broker_configs(1) == {"a": "all", "b": "all"}
    assert (BROKER_RESOURCE, "1") not in image.configs


def test_taking_back_what_was_never_set() -> None:
    assert replayed(ConfigRecord(TOPIC_RESOURCE, "t", "a", None)).configs == {}


def test_producer_ids() -> None:
    assert replayed(ProducerIdsRecord(1, -1, 1000)).next_producer_id == 1000


# -- brokers ---------------------------------------------------------------------------------------


def registration(
    broker_id: int, epoch: int, *, fenced: bool = True, log_dir: bytes = A
) -> RegisterBrokerRecord:
    return RegisterBrokerRecord(
        broker_id=broker_id,
        incarnation_id=B,
        broker_epoch=epoch,
        end_points=[BrokerEndpoint("PLAINTEXT", "h", 9092)],
        rack="r",
        fenced=fenced,
        log_dirs=[log_dir],
    )


def test_a_broker_and_its_changes() -> None:
    image = replayed(registration(1, 5))
    broker = image.brokers[1]
    assert (broker.id, broker.epoch, broker.incarnation_id, broker.rack) == (1, 5, B, "r")
    assert (broker.endpoints, broker.log_dirs) == ([Endpoint("PLAINTEXT", "h", 9092)], [A])
    assert (broker.fenced, broker.in_controlled_shutdown, broker.active_epoch) == (True, False, -1)
    assert not image.is_active(1)
    image.replay(BrokerRegistrationChangeRecord(1, 5, -1))
    assert image.is_active(1)
    assert image.brokers[1].active_epoch == 5
    image.replay(BrokerRegistrationChangeRecord(1, 5, 0, 1))
    assert (image.brokers[1].fenced, image.brokers[1].in_controlled_shutdown) == (False, True)
    assert not image.is_active(1)
    image.replay(BrokerRegistrationChangeRecord(1, 5, 1))
    assert image.brokers[1].fenced
    image.replay(registration(1, 6))
    broker = image.brokers[1]
    assert (broker.in_controlled_shutdown, broker.active_epoch, broker.epoch) == (False, 5, 6)
    assert not image.is_active(2)


def test_epochs_of_brokers_that_are_gone_do_not_come_again() -> None:
    image = replayed(registration(1, 5), UnregisterBrokerRecord(1, 5))
    assert image.brokers == {}
    assert image.next_broker_epoch == 6
    assert replayed(*image.snapshot()).next_broker_epoch == 6


def test_changes_of_a_partition() -> None:
    image = replayed(TopicRecord("t", A), partition(A, 0), NoOpRecord())
    steps: list[tuple[dict[str, Any], dict[str, object]]] = [
        ({"isr": [1, 2]}, {"isr": [1, 2], "leader_epoch": 0, "partition_epoch": 1}),
        ({"leader": 2}, {"leader": 2, "leader_epoch": 1, "partition_epoch": 2}),
        ({"leader": 2}, {"leader": 2, "leader_epoch": 2, "partition_epoch": 3}),
        ({"leader": -1, "isr": []}, {"leader": -1, "leader_epoch": 3, "isr": []}),
        ({"replicas": [2, 3], "adding_replicas": [3]}, {"replicas": [2, 3], "leader_epoch": 3}),
        ({"removing_replicas": [2]}, {"adding_replicas": [3], "removing_replicas": [2]}),
        ({"adding_replicas": []}, {"adding_replicas": [], "removing_replicas": [2]}),
        ({"leader_recovery_state": 1}, {"leader_recovery_state": 1, "partition_epoch": 8}),
        ({"last_known_elr": [2]}, {"leader_recovery_state": 1, "last_known_elr": [2]}),
    ]
    for change, expected in steps:
        image.replay(PartitionChangeRecord(0, A, **change))
        after = image.partition(A, 0)
        assert {name: getattr(after, name) for name in expected} == expected


def test_finding_a_partition() -> None:
    image = replayed(TopicRecord("t", A), partition(A, 0))
    assert image.partition(A, 0) is image.topics["t"].partitions[0]
    assert [image.partition(A, index) for index in (-1, 1)] == [None, None]
    assert image.partition(B, 0) is None


# -- the whole -------------------------------------------------------------------------------------

FULL = (
    registration(1, 5, fenced=False),
    registration(2, 6, fenced=False, log_dir=B),
    registration(2, 9, log_dir=B),
    registration(3, 10),
    registration(4, 11),
    UnregisterBrokerRecord(4, 11),
    TopicRecord("t", A),
    partition(A, 0),
    partition(A, 1, leader=2, epoch=7),
    PartitionChangeRecord(1, A, [], -1, [1, 2, 3], [1], [3], 1, last_known_elr=[1]),
    TopicRecord("u", B),
    ConfigRecord(TOPIC_RESOURCE, "t", "retention.ms", "1"),
    ConfigRecord(BROKER_RESOURCE, "", "num.partitions", "3"),
    ProducerIdsRecord(1, 5, 3000),
    AccessControlEntryRecord(A, 2, "t", 3, "User:alice", "*", 3, 3),
    AccessControlEntryRecord(B, 3, "g", 4, "User:bob", "10.0.0.1", 2, 2),
)


def test_a_snapshot_builds_an_equal_image() -> None:
    for count in range(len(FULL) + 1):
        image = replayed(*FULL[:count])
        encoded = [encode_metadata_record(record) for record in image.snapshot()]
        assert replayed(*map(decode_metadata_record, encoded)) == image


def test_a_copy_goes_its_own_way() -> None:
    changes: tuple[MetadataRecord, ...] = (
        BrokerRegistrationChangeRecord(1, 5, 1),
        PartitionChangeRecord(0, A, leader=2),
        partition(B, 0),
        ConfigRecord(TOPIC_RESOURCE, "t", "retention.ms", "2"),
        ProducerIdsRecord(1, 5, 4000),
        registration(5, 20),
        RemoveAccessControlEntryRecord(A),
        AccessControlEntryRecord(b"c" * 16, 2, "u", 3, "User:alice", "*", 3, 3),
        RemoveTopicRecord(A),
    )
    image, same = replayed(*FULL), replayed(*FULL)
    for record in changes:
        copy = image.copy()
        assert copy == image
        copy.replay(record)
        assert copy != image
        assert image == same


names = st.sampled_from(["t", "u", "v"])
commands = st.lists(
    st.one_of(
        st.tuples(st.just("create"), names),
        st.tuples(st.just("remove"), names),
        st.tuples(st.just("grow"), names),
        st.tuples(st.just("set"), names, st.sampled_from("ab"), st.none() | st.text(max_size=2)),
    ),
    max_size=30,
)


@settings(deadline=None)
@given(commands)
def test_against_plain_dictionaries(script: list[tuple[str, ...]]) -> None:
    """Every record goes through its bytes, as it does over a restart."""
    image = MetadataImage()
    topics: dict[str, tuple[bytes, int]] = {}
    configs: dict[str, dict[str, str]] = {}
    number = 0
    for command, name, *rest in script:
        record: MetadataRecord
        if command == "create":
            if name in topics:
                continue
            number += 1
            topics[name] = (number.to_bytes(16, "big"), 0)
            configs[name] = {}
            record = TopicRecord(name, topics[name][0])
        elif name not in topics:
            continue
        elif command == "remove":
            record = RemoveTopicRecord(topics.pop(name)[0])
            del configs[name]
        elif command == "grow":
            topic_id, count = topics[name]
            topics[name] = (topic_id, count + 1)
            record = partition(topic_id, count)
        else:
            key, value = rest
            record = ConfigRecord(TOPIC_RESOURCE, name, key, value)
            if value is None:
                configs[name].pop(key, None)
            else:
                configs[name][key] = value
        image.replay(decode_metadata_record(encode_metadata_record(record)))
    assert {n: (t.topic_id, len(t.partitions)) for n, t in image.topics.items()} == topics
    assert {t.topic_id: t.name for t in image.topics_by_id.values()} == {
        topic_id: name for name, (topic_id, _) in topics.items()
    }
    assert {name: image.topic_configs(name) for name in topics} == configs
