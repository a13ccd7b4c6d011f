"""The image is what replaying the records says, and nothing else."""

from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.metadata.image import BROKER_RESOURCE, TOPIC_RESOURCE, MetadataImage
from barnabas.metadata.records import (
    MetadataRecord,
    decode_metadata_record,
    encode_metadata_record,
)
from barnabas.wire.messages.metadata_records import (
    ConfigRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RemoveTopicRecord,
    TopicRecord,
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
