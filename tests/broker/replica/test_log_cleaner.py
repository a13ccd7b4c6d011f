"""Compaction in a running broker, by the settings of its topics."""

import re
import time
from pathlib import Path

import psutil

from barnabas.records.batch import HEADER_SIZE, batch_size, patch_crc
from barnabas.records.encode import encode_batch
from tests.broker.raw_client import RawClient, now_ms
from tests.broker.verbs import (
    BROKER,
    DELETE,
    SET,
    TOPIC,
    alter,
    create_topic,
    delete_topic,
    offset_at,
    produced,
    stored,
)
from tests.support.broker import BrokerProcess
from tests.support.wait import wait_until

EARLIEST = -2
SETTINGS = {"log.cleaner.backoff.ms": "50", "log.retention.check.interval.ms": "50"}


def put(client: RawClient, topic: str, key: bytes, value: bytes | None, age_ms: int = 0) -> int:
    return produced(client, topic, bytes(encode_batch([(now_ms() - age_ms, key, value, ())])))


def test_the_dirty_part_may_stay_small(client: RawClient, topic: str) -> None:
    create_topic(
        client,
        topic,
        cleanup_policy="compact",
        segment_bytes="1024",
        min_cleanable_dirty_ratio="1",
    )
    for number in range(12):
        put(client, topic, b"key", b"%d" % number * 100)
    time.sleep(0.5)
    assert len(stored(client, topic)) == 12, "a ratio of 1 is never passed"
    assert alter(client, (TOPIC, topic), ("min.cleanable.dirty.ratio", SET, "0"))[0] == 0
    wait_until(lambda: len(stored(client, topic)) < 12, "the new setting is not obeyed")


def test_how_often_it_looks_can_be_changed(client: RawClient, topic: str) -> None:
    create_topic(
        client, topic, cleanup_policy="compact", segment_bytes="1024", min_cleanable_dirty_ratio="0"
    )
    assert alter(client, (BROKER, "1"), ("log.cleaner.backoff.ms", SET, "3600000"))[0] == 0
    time.sleep(0.2)
    for number in range(12):
        put(client, topic, b"key", b"%d" % number * 100)
    time.sleep(0.5)
    assert len(stored(client, topic)) == 12
    assert alter(client, (BROKER, "1"), ("log.cleaner.backoff.ms", DELETE, None))[0] == 0
    wait_until(lambda: len(stored(client, topic)) < 12, "the new setting is not obeyed")


def test_an_idle_topic_is_compacted_when_its_records_are_too_old(
    client: RawClient, topic: str
) -> None:
    """All of it, what was in the active segment too."""
    create_topic(client, topic, cleanup_policy="compact", max_compaction_lag_ms="60000")
    for number in range(5):
        put(client, topic, b"key", b"%d" % number, age_ms=30_000)
    time.sleep(0.3)
    assert len(stored(client, topic)) == 5
    assert alter(client, (TOPIC, topic), ("max.compaction.lag.ms", SET, "20000"))[0] == 0
    wait_until(lambda: stored(client, topic) == [b"4"], "nothing is compacted")


def test_tombstones_have_their_time(client: RawClient, topic: str) -> None:
    create_topic(
        client,
        topic,
        cleanup_policy="compact",
        max_compaction_lag_ms="1",
        delete_retention_ms="600000",
    )
    put(client, topic, b"key", b"value")
    put(client, topic, b"other", b"value")
    put(client, topic, b"key", None)
    wait_until(lambda: stored(client, topic) == [b"value", None], "the tombstone is kept")
    time.sleep(0.3)
    assert stored(client, topic) == [b"value", None]


def test_tombstones_go_without_anything_that_follows(client: RawClient, topic: str) -> None:
    create_topic(
        client, topic, cleanup_policy="compact", max_compaction_lag_ms="1", delete_retention_ms="1"
    )
    put(client, topic, b"other", b"value")
    put(client, topic, b"key", b"value")
    put(client, topic, b"key", None)
    wait_until(lambda: stored(client, topic) == [b"value"], "the tombstone stays")


def test_both_policies(client: RawClient, topic: str) -> None:
    create_topic(
        client,
        topic,
        cleanup_policy="compact,delete",
        segment_bytes="1024",
        retention_ms="60000",
    )
    for number in range(4):
        put(client, topic, b"old", b"%d" % number * 300, age_ms=120_000)
    # Each by itself, or what is left of an old segment takes the begin of the new ones along.
    wait_until(lambda: offset_at(client, topic, EARLIEST).offset == 4, "the old ones stay")
    for number in range(6):
        put(client, topic, b"new", b"%d" % number * 300)
    wait_until(lambda: len(stored(client, topic, 4)) <= 3, "nothing is compacted")
    assert stored(client, topic, 4)[-1] == b"5" * 300


def test_a_topic_may_go_while_it_is_compacted(
    client: RawClient, topic: str, node: BrokerProcess
) -> None:
    create_topic(client, topic, cleanup_policy="compact", segment_bytes="100000")
    value = bytes(50_000)
    for number in range(40):
        put(client, topic, b"%d" % (number % 30), value)
    delete_topic(client, topic)
    create_topic(client, topic, cleanup_policy="compact", segment_bytes="100000")
    put(client, topic, b"new", b"here")
    time.sleep(0.5)
    assert stored(client, topic) == [b"here"]
    assert put(client, topic, b"new", b"again") == 1


def test_no_process_is_left_behind(topic: str, tmp_path: Path) -> None:
    with BrokerProcess(tmp_path, SETTINGS) as node:
        with RawClient(node.host, node.port) as client:
            create_topic(client, topic, cleanup_policy="compact", max_compaction_lag_ms="1")
            put(client, topic, b"key", b"1")
            put(client, topic, b"key", b"2")
            wait_until(lambda: stored(client, topic) == [b"2"], "nothing is compacted")
        (child,) = psutil.Process(node.pid).children()
        node.stop()
        assert not child.is_running()


def test_a_batch_that_cannot_be_read_is_told_of_once(topic: str, tmp_path: Path) -> None:
    """It stays, and everything else is compacted, again and again."""
    with BrokerProcess(tmp_path, SETTINGS) as node:
        with RawClient(node.host, node.port) as client:
            create_topic(client, topic, cleanup_policy="compact", segment_bytes="1024")
            for number in range(3):
                put(client, topic, b"key", b"%d" % number)
        node.stop()
        (segment,) = (node.data / f"{topic}-0").glob("*.log")
        data = bytearray(segment.read_bytes())
        size = batch_size(data)
        second = data[size : size + batch_size(data, size)]
        second[HEADER_SIZE:] = b"\xff" * (len(second) - HEADER_SIZE)
        patch_crc(second)
        data[size : size + len(second)] = second
        segment.write_bytes(data)
        node.start()
        with RawClient(node.host, node.port) as client:
            assert alter(client, (TOPIC, topic), ("max.compaction.lag.ms", SET, "1"))[0] == 0
            for number in range(3, 6):
                put(client, topic, b"key", b"%d" % number)
                done = f"{topic}-0 compacted up to offset {number + 1}:"
                wait_until(lambda done=done: done in node.log.read_text(), done)
        said = node.log.read_text()
        assert said.count("can't be read") == 1
        assert re.search(r"compacted up to offset \d+: 1 key, \d+ B of \d+ B removed", said)
        assert " 0 B of" not in said, "nothing was removed"
        assert f"{topic}-0: the batch at offsets 1 to 1 holds records that can't be read" in said
        assert "run `barnabas log repair`" in said
