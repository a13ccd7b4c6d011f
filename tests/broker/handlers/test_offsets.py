"""ListOffsets, OffsetForLeaderEpoch, DeleteRecords, and where a log starts."""

import pytest

from barnabas.records.encode import encode_batch
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from barnabas.wire.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from tests.broker.raw_client import RawClient, batch
from tests.broker.verbs import create_topic, fetch_one, offset_at, produced, stored
from tests.support.broker import BrokerProcess

LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED, PENDING_UPLOAD = range(-1, -7, -1)
TIMES = (100, 300, 200, 300, 50)


def fill(client: RawClient, topic: str) -> None:
    """Five records in two batches, not in the order of time."""
    create_topic(client, topic)
    rows = [(timestamp, b"k", b"v", ()) for timestamp in TIMES]
    produced(client, topic, bytes(encode_batch(rows[:3])))
    produced(client, topic, bytes(encode_batch(rows[3:])))


@pytest.mark.parametrize(
    ("timestamp", "offset", "found"),
    [
        (LATEST, 5, -1),
        (EARLIEST, 0, -1),
        (MAX_TIMESTAMP, 1, 300),
        (EARLIEST_LOCAL, 0, -1),
        (LATEST_TIERED, -1, -1),
        (PENDING_UPLOAD, -1, -1),
        (0, 0, 100),
        (100, 0, 100),
        (101, 1, 300),
        (300, 1, 300),
        (301, -1, -1),
    ],
)
def test_by_time(client: RawClient, topic: str, timestamp: int, offset: int, found: int) -> None:
    fill(client, topic)
    answer = offset_at(client, topic, timestamp)
    assert (answer.error_code, answer.offset, answer.timestamp) == (0, offset, found)
    assert answer.leader_epoch == (-1 if offset == -1 else 0)


@pytest.mark.parametrize(
    ("timestamp", "offset"), [(LATEST, 0), (EARLIEST, 0), (MAX_TIMESTAMP, -1), (0, -1)]
)
def test_in_an_empty_log(client: RawClient, topic: str, timestamp: int, offset: int) -> None:
    create_topic(client, topic)
    assert offset_at(client, topic, timestamp).offset == offset


@pytest.mark.parametrize(("epoch", "error"), [(-1, 0), (0, 0), (3, ErrorCode.UNKNOWN_LEADER_EPOCH)])
def test_the_leader_must_be_the_one_meant(
    client: RawClient, topic: str, epoch: int, error: int
) -> None:
    create_topic(client, topic)
    assert offset_at(client, topic, LATEST, epoch).error_code == error


def end_of_epoch(client: RawClient, topic: str, current: int, epoch: int) -> EpochEndOffset:
    partition = OffsetForLeaderPartition(0, current, epoch)
    request = OffsetForLeaderEpochRequest(topics=[OffsetForLeaderTopic(topic, [partition])])
    ((answer,),) = (topic.partitions for topic in client.ask(request).topics)
    return answer


def test_where_an_epoch_ends(client: RawClient, topic: str) -> None:
    fill(client, topic)
    answer = end_of_epoch(client, topic, 0, 0)
    assert (answer.error_code, answer.leader_epoch, answer.end_offset) == (0, 0, 5)
    answer = end_of_epoch(client, topic, -1, 5)
    assert (answer.error_code, answer.leader_epoch, answer.end_offset) == (0, -1, -1)
    assert end_of_epoch(client, topic, 1, 0).error_code == ErrorCode.UNKNOWN_LEADER_EPOCH
    unknown = end_of_epoch(client, "nowhere", -1, 0)
    assert unknown.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


# -- DeleteRecords ---------------------------------------------------------------------------------


def delete_records(client: RawClient, topic: str, offset: int, index: int = 0) -> tuple[int, int]:
    partition = DeleteRecordsPartition(index, offset)
    request = DeleteRecordsRequest([DeleteRecordsTopic(topic, [partition])], 1000)
    ((answer,),) = (topic.partitions for topic in client.ask(request).topics)
    return answer.error_code, answer.low_watermark


def test_the_start_of_a_log_moves(client: RawClient, topic: str) -> None:
    create_topic(client, topic)
    for value in (b"a", b"b", b"c", b"d"):
        produced(client, topic, batch(value))
    assert delete_records(client, topic, 2) == (0, 2)
    assert offset_at(client, topic, EARLIEST).offset == 2
    assert offset_at(client, topic, 0).offset == 2
    assert fetch_one(client, topic, 1).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert fetch_one(client, topic, 2).log_start_offset == 2
    assert stored(client, topic, 2) == [b"c", b"d"]
    assert delete_records(client, topic, 1) == (0, 2)
    assert delete_records(client, topic, -1) == (0, 4)
    assert stored(client, topic, 4) == []
    assert produced(client, topic, batch(b"e")) == 4
    assert stored(client, topic, 4) == [b"e"]


@pytest.mark.parametrize("offset", [2, 100, -2])
def test_only_what_is_there_can_be_deleted(client: RawClient, topic: str, offset: int) -> None:
    create_topic(client, topic)
    produced(client, topic, batch(b"a"))
    assert delete_records(client, topic, offset) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1)
    assert stored(client, topic) == [b"a"]


def test_where_records_are_not_deleted(client: RawClient, topic: str) -> None:
    create_topic(client, topic, cleanup_policy="compact")
    produced(client, topic, batch(b"a"))
    assert delete_records(client, topic, 1) == (ErrorCode.POLICY_VIOLATION, -1)
    unknown = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1)
    assert delete_records(client, topic, 0, index=5) == unknown
    assert delete_records(client, "nowhere", 0) == unknown


@pytest.mark.parametrize("kill", [False, True])
def test_the_start_of_a_log_survives(
    topic: str, kill: bool, node: BrokerProcess, client: RawClient
) -> None:
    create_topic(client, topic)
    for value in (b"a", b"b", b"c"):
        produced(client, topic, batch(value))
    assert delete_records(client, topic, 2) == (0, 2)
    node.restart(kill=kill)
    with RawClient(node.host, node.port) as again:
        assert offset_at(again, topic, EARLIEST).offset == 2
        assert stored(again, topic, 2) == [b"c"]
