"""What comes round by itself: retention, compaction, checkpoints."""

import logging
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from barnabas.broker.upkeep import _remove_set_aside
from barnabas.log import DataDirectory
from barnabas.records.encode import encode_batch
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.describe_producers import DescribeProducersRequest, TopicRequest
from barnabas.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from barnabas.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from tests.broker.raw_client import RawClient, batch, now_ms
from tests.broker.verbs import (
    BROKER,
    BY_NAME,
    DELETE,
    SET,
    TOPIC,
    alter,
    asked,
    create_topic,
    fetch_one,
    fetch_request,
    find_coordinator,
    offset_at,
    partitions_of,
    produced,
    stored,
    values_of,
)
from tests.log.memory_disk import MemoryDisk
from tests.support.broker import BrokerProcess
from tests.support.wait import wait_until

SETTINGS = {
    "log.retention.check.interval.ms": "50",
    "log.cleaner.backoff.ms": "50",
    "log.flush.offset.checkpoint.interval.ms": "50",
    "log.segment.delete.delay.ms": "0",
    "offsets.topic.num.partitions": "1",
    "offsets.topic.segment.bytes": "1024",
}
EARLIEST = -2


def segments(node: BrokerProcess, topic: str) -> list[Path]:
    return sorted((node.data / f"{topic}-0").glob("*.log*"))


def starts_at(client: RawClient, topic: str) -> int:
    return offset_at(client, topic, EARLIEST).offset


def aged(age_ms: int, *values: bytes) -> bytes:
    return bytes(encode_batch([(now_ms() - age_ms, None, value, ()) for value in values]))


# -- retention -------------------------------------------------------------------------------------


def test_by_age_also_what_nobody_has_read(
    client: RawClient, topic: str, node: BrokerProcess
) -> None:
    create_topic(client, topic, segment_bytes="1024", retention_ms="60000")
    for number in range(4):
        produced(client, topic, aged(120_000, b"old-%d" % number * 100))
    produced(client, topic, aged(0, b"new" * 200))
    wait_until(lambda: starts_at(client, topic) == 4, "old segments stay")
    assert stored(client, topic, 4) == [b"new" * 200]
    assert fetch_one(client, topic, 0).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    wait_until(lambda: len(segments(node, topic)) == 1, "old files stay")


def test_everything_may_go(client: RawClient, topic: str) -> None:
    """Offsets go on behind what was there."""
    create_topic(client, topic, retention_ms="60000")
    produced(client, topic, aged(120_000, b"a", b"b"))
    wait_until(lambda: starts_at(client, topic) == 2, "the old segment stays")
    assert produced(client, topic, aged(0, b"c")) == 2


def test_by_size(client: RawClient, topic: str) -> None:
    create_topic(client, topic, segment_bytes="1024", retention_bytes="2500")
    for number in range(10):
        produced(client, topic, aged(0, b"%d" % number * 900))
    wait_until(lambda: starts_at(client, topic) == 7, "too much stays")
    assert stored(client, topic, 7) == [b"%d" % number * 900 for number in (7, 8, 9)]


def test_retention_follows_the_settings(client: RawClient, topic: str) -> None:
    create_topic(client, topic, retention_ms="-1")
    produced(client, topic, aged(1000, b"a"))
    produced(client, topic, aged(1000, b"b"))
    assert starts_at(client, topic) == 0
    assert alter(client, (TOPIC, topic), ("retention.ms", SET, "500"))[0] == 0
    wait_until(lambda: starts_at(client, topic) == 2, "the new setting is not obeyed")


def test_producers_are_forgotten_by_the_setting(client: RawClient, topic: str) -> None:
    create_topic(client, topic)
    produced(client, topic, batch(b"a", producer_id=7, producer_epoch=0, base_sequence=0))

    def producers() -> list[int]:
        asked_for = DescribeProducersRequest([TopicRequest(topic, [0])])
        ((partition,),) = (each.partitions for each in client.ask(asked_for).topics)
        return [each.producer_id for each in partition.active_producers]

    assert producers() == [7]
    assert alter(client, (BROKER, ""), ("producer.id.expiration.ms", SET, "1"))[0] == 0
    try:
        wait_until(lambda: producers() == [], "the new setting is not obeyed")
    finally:
        assert alter(client, (BROKER, ""), ("producer.id.expiration.ms", DELETE, None))[0] == 0


def test_the_brokers_default_counts(client: RawClient, topic: str) -> None:
    create_topic(client, topic)
    produced(client, topic, aged(1000, b"a"))
    assert alter(client, (BROKER, ""), ("log.retention.ms", SET, "500"))[0] == 0
    try:
        wait_until(lambda: starts_at(client, topic) == 1, "the new default is not obeyed")
    finally:
        alter(client, (BROKER, ""), ("log.retention.ms", DELETE, None))


def test_what_is_not_flushed_is_not_dropped(client: RawClient, topic: str) -> None:
    """Nor what a reader could not have seen yet."""
    create_topic(client, topic, retention_ms="1", flush_messages="2")
    produced(client, topic, aged(60_000, b"a"), acks=1)
    create_topic(client, f"{topic}-other", retention_ms="1")
    produced(client, f"{topic}-other", aged(60_000, b"a"))
    wait_until(lambda: starts_at(client, f"{topic}-other") == 1, "retention does not run")
    assert starts_at(client, topic) == 0


def test_a_waiting_reader_is_not_disturbed(
    client: RawClient, topic: str, node: BrokerProcess
) -> None:
    create_topic(client, topic, retention_ms="60000")
    produced(client, topic, aged(120_000, b"a"))
    with RawClient(node.host, node.port) as reader:
        reader.send(fetch_request(asked(topic, {0: 1}), max_wait_ms=20_000), BY_NAME)
        wait_until(lambda: starts_at(client, topic) == 1, "the old segment stays")
        assert reader.is_silent(0.1)
        produced(client, topic, aged(0, b"b"))
        assert values_of(partitions_of(reader.receive())[topic, 0]) == [b"b"]


# -- compaction ------------------------------------------------------------------------------------


def test_the_last_record_of_a_key_stays(client: RawClient, topic: str, node: BrokerProcess) -> None:
    create_topic(
        client,
        topic,
        cleanup_policy="compact",
        segment_bytes="1024",
        min_cleanable_dirty_ratio="0.01",  # or what a first round left may stay, half of the log
    )
    for number in range(30):
        row = (now_ms(), b"key-%d" % (number % 3), b"%d" % number * 100, ())
        produced(client, topic, bytes(encode_batch([row])))
    wait_until(lambda: len(stored(client, topic)) <= 5, "nothing is compacted")
    assert stored(client, topic)[-3:] == [b"%d" % number * 100 for number in (27, 28, 29)]
    assert starts_at(client, topic) == 0
    assert produced(client, topic, batch(b"more")) == 30
    node.restart(kill=True)
    with RawClient(node.host, node.port) as again:
        assert stored(again, topic)[-1] == b"more"
        assert len(stored(again, topic)) <= 6


@pytest.mark.parametrize("kill", [True, False])
def test_committed_offsets_survive_compaction(node: BrokerProcess, topic: str, kill: bool) -> None:
    """One group commits often, many commit once: the log shrinks and loses nothing."""

    def commit(client: RawClient, group: str, offset: int) -> None:
        partition = OffsetCommitRequestPartition(0, offset, -1, f"at {offset}")
        asked_for = OffsetCommitRequestTopic(topic, partitions=[partition])
        response = client.ask(OffsetCommitRequest(group, topics=[asked_for]), 9)
        assert response.topics[0].partitions[0].error_code == 0

    def committed(client: RawClient, group: str) -> tuple[int, str]:
        topics = [OffsetFetchRequestTopics(topic, partition_indexes=[0])]
        request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group, topics=topics)])
        (partition,) = client.ask(request, 9).groups[0].topics[0].partitions
        return partition.committed_offset, partition.metadata

    with RawClient(node.host, node.port) as client:
        create_topic(client, topic)
        find_coordinator(client, topic)
        for number in range(20):
            commit(client, f"{topic}-once-{number}", number)
        for number in range(200):
            commit(client, f"{topic}-often", number)

        def size() -> int:
            """Of the segments; other files come and go while we look."""
            found = 0
            for path in segments(node, "__consumer_offsets"):
                with suppress(FileNotFoundError):
                    found += path.stat().st_size
            return found

        # 220 commits of well over 100 bytes each.
        wait_until(lambda: size() < 16_000, "the log of the offsets does not shrink")
    node.restart(kill=kill)
    with RawClient(node.host, node.port) as client:
        for group in ("often", *(f"once-{number}" for number in range(20))):
            find_coordinator(client, f"{topic}-{group}")
        assert committed(client, f"{topic}-often") == (199, "at 199")
        for number in range(20):
            assert committed(client, f"{topic}-once-{number}") == (number, f"at {number}")


# -- set-aside -------------------------------------------------------------------------------------


def test_what_is_removed_from_set_aside_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    disk = MemoryDisk()
    data = DataDirectory.open(
        disk, "data", node_id=1, new_cluster_id="c", new_directory_id=bytes(16)
    )
    week_ms = 7 * 24 * 3600 * 1000
    old = data.set_aside_path("t", 0, 10 * week_ms)
    new = data.set_aside_path("t", 0, 11 * week_ms)
    for path in (old, new):
        disk.make_directory(path)
    node: Any = SimpleNamespace(
        data=data,
        clock=SimpleNamespace(now_ms=lambda: 11 * week_ms + 1),
        config=SimpleNamespace(
            upkeep=SimpleNamespace(set_aside_retention_ms=week_ms, set_aside_retention_bytes=-1)
        ),
        partitions=SimpleNamespace(run_later=lambda job: job.run()),
    )
    _remove_set_aside(node)
    assert (disk.exists(old), disk.exists(new)) == (False, True)
    (logged,) = caplog.records
    assert f"removing {old}:" in logged.getMessage()
