"""What a broker takes, what it refuses, and that nothing of the refused is stored."""

import struct
from collections.abc import Callable

import pytest

from barnabas.records.batch import parse_header, patch_crc, patch_max_timestamp
from barnabas.records.compression import Compression
from barnabas.records.decode import decode_batch
from barnabas.records.encode import encode_batch
from barnabas.records.record import Row
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest
from barnabas.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from barnabas.wire.messages.metadata import MetadataRequest
from barnabas.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from tests.broker.raw_client import RawClient, batch, now_ms
from tests.broker.verbs import (
    create_topic,
    fetch_one,
    offset_at,
    produce,
    produce_request,
    produced,
    stored,
)
from tests.records.forged import record, with_payload
from tests.support.broker import BrokerProcess
from tests.support.wait import wait_until

HOUR_MS = 3_600_000


def stamped(timestamp: int) -> bytes:
    return bytes(encode_batch([(timestamp, None, b"v", ())]))


# -- acknowledgements ------------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(3))
def test_old_versions_are_refused_and_not_stored(
    client: RawClient, topic: str, version: int
) -> None:
    create_topic(client, topic)
    answer = produce(client, topic, batch(b"a"), version=version)
    assert (answer.error_code, answer.base_offset) == (ErrorCode.UNSUPPORTED_VERSION, -1)
    assert stored(client, topic) == []


@pytest.mark.parametrize("version", range(3, 13))
@pytest.mark.parametrize("acks", [-1, 1])
def test_an_answer_says_where_it_went(
    client: RawClient, topic: str, version: int, acks: int
) -> None:
    create_topic(client, topic)
    assert produced(client, topic, batch(b"a", b"b"), version=version, acks=acks) == 0
    assert produced(client, topic, batch(b"c"), version=version, acks=acks) == 2
    assert stored(client, topic) == [b"a", b"b", b"c"]


def _in_several_turns(topic: str, partitions: int, acks: int) -> ProduceRequest:
    large = batch(bytes(350_000))  # as the key too
    named = [PartitionProduceData(index, large) for index in range(partitions)]
    return ProduceRequest(None, acks, 60_000, [TopicProduceData(topic, partition_data=named)])


def test_a_large_request_is_not_overtaken(client: RawClient, topic: str) -> None:
    """Its batches are stored in several turns of the event loop."""
    create_topic(client, topic, 8)
    client.send(_in_several_turns(topic, 8, -1), 12)
    client.send(produce_request(topic, batch(b"next"), partition=7), 12)
    large, small = client.receive(), client.receive()
    answers = large.responses[0].partition_responses
    assert [(each.index, each.error_code, each.base_offset) for each in answers] == [
        (index, 0, 0) for index in range(8)
    ]
    (answer,) = small.responses[0].partition_responses
    assert (answer.error_code, answer.base_offset) == (0, 1)


def test_a_large_request_is_stored_though_the_client_has_gone(
    client: RawClient, topic: str
) -> None:
    create_topic(client, topic, 8)
    with RawClient(*client.socket.getpeername()[:2]) as gone:
        gone.send(_in_several_turns(topic, 8, 0), 12)
    last = ListOffsetsRequest(topics=[ListOffsetsTopic(topic, [ListOffsetsPartition(7, -1, -1)])])
    wait_until(
        lambda: client.ask(last).topics[0].partitions[0].offset == 1,
        "the last batch was not stored",
    )


def test_by_topic_id(client: RawClient, topic: str) -> None:
    def ask(topic_id: bytes, partition: int) -> tuple[int, int]:
        data = TopicProduceData("", topic_id, [PartitionProduceData(partition, batch(b"a"))])
        response = client.ask(ProduceRequest(None, -1, 1000, [data]), 13)
        assert response.responses[0].topic_id == topic_id
        (answer,) = response.responses[0].partition_responses
        return answer.error_code, answer.base_offset

    topic_id = create_topic(client, topic).topic_id
    assert ask(topic_id, 0) == (0, 0)
    assert ask(topic_id, 1) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1)
    assert ask(b"\1" * 16, 0) == (ErrorCode.UNKNOWN_TOPIC_ID, -1)


def test_one_bad_partition_does_not_stop_the_others(client: RawClient, topic: str) -> None:
    create_topic(client, topic, 2)
    indexes = [0, 7, 1, -1]
    data = TopicProduceData(
        topic, partition_data=[PartitionProduceData(index, batch(b"a")) for index in indexes]
    )
    response = client.ask(ProduceRequest(None, -1, 1000, [data]), 9)
    answers = {a.index: a.error_code for a in response.responses[0].partition_responses}
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert answers == {0: 0, 7: unknown, 1: 0, -1: unknown}


def test_acks_0_gets_no_answer(client: RawClient, topic: str) -> None:
    create_topic(client, topic)
    client.send_bytes(client.frame(produce_request(topic, batch(b"a"), acks=0), 9))
    client._asked.clear()
    assert stored(client, topic) == [b"a"]


def test_acks_0_refused_closes_the_connection(client: RawClient, node: BrokerProcess) -> None:
    """Answers to what was asked before are sent all the same, even when it came in one piece."""
    frames = [
        client.frame(MetadataRequest([])),
        client.frame(produce_request("no-such-topic", batch(b"a"), acks=0), 9),
        client.frame(MetadataRequest([])),
    ]
    client.send_bytes(b"".join(frames))
    assert client.receive().cluster_id
    assert client.is_closed()
    with RawClient(node.host, node.port) as another:
        assert another.ask(MetadataRequest([])).cluster_id


@pytest.mark.parametrize("acks", [2, -2, 100])
def test_there_are_no_other_acks(client: RawClient, topic: str, acks: int) -> None:
    create_topic(client, topic)
    answer = produce(client, topic, batch(b"a"), acks=acks)
    assert answer.error_code == ErrorCode.INVALID_REQUIRED_ACKS
    assert stored(client, topic) == []


# -- idempotence -----------------------------------------------------------------------------------


def test_a_repeated_batch_is_stored_once(client: RawClient, topic: str) -> None:
    create_topic(client, topic)
    producer_id = client.ask(InitProducerIdRequest(None)).producer_id

    def send(sequence: int, *values: bytes, epoch: int = 0) -> int:
        data = batch(*values, producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence)
        return produced(client, topic, data)

    assert send(0, b"a", b"b") == 0
    assert send(2, b"c") == 2
    assert send(0, b"a", b"b") == 0
    assert send(2, b"c") == 2
    assert send(0, b"d", epoch=1) == 3
    assert stored(client, topic) == [b"a", b"b", b"c", b"d"]


def test_a_batch_out_of_sequence_is_refused(client: RawClient, topic: str) -> None:
    create_topic(client, topic)
    producer_id = client.ask(InitProducerIdRequest(None)).producer_id

    def send(sequence: int, epoch: int) -> int:
        data = batch(b"a", producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence)
        return produce(client, topic, data).error_code

    assert send(0, 1) == ErrorCode.NONE
    assert send(2, 1) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert send(1, 0) == ErrorCode.INVALID_PRODUCER_EPOCH
    assert send(1, 1) == ErrorCode.NONE
    assert len(stored(client, topic)) == 2


def test_producer_ids_are_never_given_twice(client: RawClient) -> None:
    ids = [client.ask(InitProducerIdRequest(None)).producer_id for _ in range(20)]
    assert len(set(ids)) == 20


# -- what is refused -------------------------------------------------------------------------------


def with_field(data: bytes, at: int, layout: str, value: int, *, crc: bool = True) -> bytes:
    changed = bytearray(data)
    struct.pack_into(layout, changed, at, value)
    if crc:
        patch_crc(changed)
    return bytes(changed)


def bomb() -> bytes:
    row = (now_ms(), None, bytes(40 << 20), ())
    return bytes(encode_batch([row], compression=Compression.ZSTD))


REFUSED: dict[str, tuple[Callable[[], bytes | None], ErrorCode]] = {
    "null": (lambda: None, ErrorCode.INVALID_RECORD),
    "empty": (lambda: b"", ErrorCode.INVALID_RECORD),
    "one byte": (lambda: b"\0", ErrorCode.INVALID_RECORD),
    "cut off": (lambda: batch(b"a")[:-1], ErrorCode.INVALID_RECORD),
    "a byte too many": (lambda: batch(b"a") + b"\0", ErrorCode.INVALID_RECORD),
    "two batches": (lambda: batch(b"a") + batch(b"b"), ErrorCode.INVALID_RECORD),
    "CRC": (lambda: batch(b"a")[:-1] + b"!", ErrorCode.CORRUPT_MESSAGE),
    "magic 1": (lambda: with_field(batch(b"a"), 16, ">b", 1), ErrorCode.INVALID_RECORD),
    "magic 3": (lambda: with_field(batch(b"a"), 16, ">b", 3), ErrorCode.CORRUPT_MESSAGE),
    "codec 7": (
        lambda: with_field(batch(b"a"), 21, ">h", 7),
        ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
    ),
    "no gzip": (lambda: with_field(batch(b"a"), 21, ">h", 1), ErrorCode.CORRUPT_MESSAGE),
    "control": (lambda: batch(b"a", control=True), ErrorCode.INVALID_RECORD),
    "transactional": (
        lambda: batch(b"a", transactional=True, producer_id=1, producer_epoch=0, base_sequence=0),
        ErrorCode.INVALID_TXN_STATE,
    ),
    "more records than bytes": (
        lambda: with_field(with_field(batch(b"a"), 23, ">i", 9999), 57, ">i", 10000),
        ErrorCode.INVALID_RECORD,
    ),
    "too large": (lambda: batch(b"a" * 600_000), ErrorCode.MESSAGE_TOO_LARGE),
    "bomb": (bomb, ErrorCode.MESSAGE_TOO_LARGE),
    "ahead of its time": (
        lambda: stamped(now_ms() + 2 * HOUR_MS),
        ErrorCode.INVALID_TIMESTAMP,
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_nothing_of_a_refused_batch_is_stored(client: RawClient, topic: str, name: str) -> None:
    make, expected = REFUSED[name]
    records = make()
    create_topic(client, topic)
    produced(client, topic, batch(b"before"))
    for acks in (-1, 1):
        answer = produce(client, topic, records, acks=acks)
        assert (answer.error_code, answer.base_offset) == (expected, -1)
        assert answer.error_message
    assert produced(client, topic, batch(b"after")) == 1
    assert stored(client, topic) == [b"before", b"after"]


def test_a_batch_of_no_transaction_is_refused(client: RawClient, topic: str) -> None:
    create_topic(client, topic)
    client.ask(FindCoordinatorRequest(key_type=1, coordinator_keys=["t"]))
    row = (now_ms(), None, b"a", ())
    records = encode_batch(
        [row], producer_id=7, producer_epoch=0, base_sequence=0, transactional=True
    )
    request = produce_request(topic, bytes(records))
    for transactional_id, version, error in (
        (None, 9, ErrorCode.INVALID_TXN_STATE),
        ("t", 9, ErrorCode.INVALID_PRODUCER_ID_MAPPING),
        ("t", 12, ErrorCode.INVALID_PRODUCER_ID_MAPPING),
    ):
        request.transactional_id = transactional_id
        (answer,) = client.ask(request, version).responses[0].partition_responses
        assert answer.error_code == error
    assert stored(client, topic) == []


def test_clients_do_not_write_to_internal_topics(client: RawClient) -> None:
    answer = produce(client, "__consumer_offsets", batch(b"a"))
    assert answer.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    answer = produce(client, "__cluster_metadata", batch(b"a"))
    assert answer.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


# -- topic settings --------------------------------------------------------------------------------


def test_max_message_bytes_of_a_topic(client: RawClient, topic: str) -> None:
    create_topic(client, topic, max_message_bytes="200")
    assert produced(client, topic, batch(b"a")) == 0
    answer = produce(client, topic, batch(b"a" * 100))
    assert answer.error_code == ErrorCode.MESSAGE_TOO_LARGE
    assert "200" in answer.error_message


def test_timestamp_limits_of_a_topic(client: RawClient, topic: str) -> None:
    create_topic(
        client,
        topic,
        message_timestamp_before_max_ms="60000",
        message_timestamp_after_max_ms=str(48 * HOUR_MS),
    )
    produced(client, topic, stamped(now_ms() + 24 * HOUR_MS))
    produced(client, topic, stamped(now_ms() - 30_000))
    answer = produce(client, topic, stamped(now_ms() - 120_000))
    assert answer.error_code == ErrorCode.INVALID_TIMESTAMP


def test_log_append_time(client: RawClient, topic: str) -> None:
    """The broker's time replaces the producer's, however wrong that is."""
    create_topic(client, topic, message_timestamp_type="LogAppendTime")
    before = now_ms()
    answer = produce(client, topic, stamped(now_ms() + 1000 * HOUR_MS))
    assert answer.error_code == 0
    assert before <= answer.log_append_time_ms <= now_ms()
    assert offset_at(client, topic, -3).timestamp == answer.log_append_time_ms


@pytest.mark.parametrize("version", [8, 12])
def test_more_replicas_than_there_are(client: RawClient, topic: str, version: int) -> None:
    """Who wants two copies of everything is not told that there are two."""
    create_topic(client, topic, min_insync_replicas="2")
    answer = produce(client, topic, batch(b"a"), version=version)
    assert (answer.error_code, answer.base_offset) == (ErrorCode.NOT_ENOUGH_REPLICAS, -1)
    assert produced(client, topic, batch(b"b"), version=version, acks=1) == 0
    assert stored(client, topic) == [b"b"]


# -- single records --------------------------------------------------------------------------------


def garbage(compression: Compression = Compression.NONE) -> bytes:
    """A batch with a right CRC around what is no record."""
    return bytes(with_payload(record(0, 0, -1, 3, b"value", 0), compression=compression))


@pytest.mark.parametrize("compression", list(Compression), ids=str)
def test_records_that_nobody_can_read_are_refused(
    client: RawClient, topic: str, compression: Compression
) -> None:
    create_topic(client, topic)
    for acks in (-1, 1):
        answer = produce(client, topic, garbage(compression), acks=acks)
        assert answer.error_code == ErrorCode.INVALID_RECORD
        assert answer.error_message.startswith("record 0 of 1: ")
    assert produced(client, topic, batch(b"a")) == 0
    assert stored(client, topic) == [b"a"]


@pytest.mark.parametrize("compression", [Compression.NONE, Compression.ZSTD], ids=str)
@pytest.mark.parametrize("kind", ["CreateTime", "LogAppendTime"])
def test_records_without_a_key_are_named(
    client: RawClient, topic: str, compression: Compression, kind: str
) -> None:
    create_topic(client, topic, cleanup_policy="compact", message_timestamp_type=kind)
    rows: list[Row] = [
        (now_ms(), None if number % 10 == 7 else b"k", b"v", ()) for number in range(100)
    ]
    answer = produce(client, topic, bytes(encode_batch(rows, compression=compression)))
    assert answer.error_code == ErrorCode.INVALID_RECORD
    assert "10 of 100 records have no key" in answer.error_message
    assert [error.batch_index for error in answer.record_errors] == list(range(7, 100, 10))
    assert {error.batch_index_error_message for error in answer.record_errors} == {
        "the record has no key"
    }
    assert stored(client, topic) == []


def test_the_answer_to_many_records_without_a_key_is_bounded(client: RawClient, topic: str) -> None:
    create_topic(client, topic, cleanup_policy="compact")
    batch = encode_batch([(now_ms(), None, None, ())] * 50_000, compression=Compression.ZSTD)
    answer = produce(client, topic, bytes(batch))
    assert "at least 10,000 of 50,000 records have no key" in answer.error_message
    assert [error.batch_index for error in answer.record_errors] == list(range(10_000))


def test_timestamps_of_single_records_are_checked(client: RawClient, topic: str) -> None:
    create_topic(
        client,
        topic,
        message_timestamp_before_max_ms="60000",
        message_timestamp_after_max_ms="60000",
    )
    now = now_ms()
    times = [now, now - 120_000, -1, now + 120_000, now]
    rows: list[Row] = [(timestamp, None, b"v", ()) for timestamp in times]
    answer = produce(client, topic, bytes(encode_batch(rows)))
    assert answer.error_code == ErrorCode.INVALID_TIMESTAMP
    assert [error.batch_index for error in answer.record_errors] == [1, 3]
    assert f"timestamp {now - 120_000} is not between" in str(answer.record_errors[0])
    assert stored(client, topic) == []


@pytest.mark.parametrize("timestamp", [-2, 2**63 - 1])
def test_timestamps_that_are_none_are_refused(
    client: RawClient, topic: str, timestamp: int
) -> None:
    create_topic(client, topic)
    answer = produce(client, topic, stamped(timestamp))
    assert answer.error_code == ErrorCode.INVALID_TIMESTAMP
    assert [error.batch_index for error in answer.record_errors] == [0]
    assert stored(client, topic) == []


@pytest.mark.parametrize("said", [-1, 0, 5, 2**62])
@pytest.mark.parametrize("compression", [Compression.NONE, Compression.LZ4], ids=str)
@pytest.mark.parametrize("times", [[-1, -1], [1000, 4000, 2000], [-1, 3000]])
def test_the_largest_timestamp_is_what_the_records_say(
    client: RawClient, topic: str, said: int, compression: Compression, times: list[int]
) -> None:
    create_topic(client, topic, retention_ms="-1")
    rows: list[Row] = [(timestamp, b"k", b"v", ()) for timestamp in times]
    sent = encode_batch(rows, compression=compression)
    patch_max_timestamp(memoryview(sent), parse_header(sent), said)
    assert produced(client, topic, bytes(sent)) == 0
    kept = fetch_one(client, topic).records
    assert parse_header(kept).max_timestamp == max(times)
    assert [each.timestamp for each in decode_batch(kept)] == times
    found = offset_at(client, topic, -3)
    expected = (times.index(max(times)), max(times)) if max(times) >= 0 else (-1, -1)
    assert (found.offset, found.timestamp) == expected


@pytest.mark.parametrize("acks", [-1, 1])
def test_a_partition_that_is_named_twice(client: RawClient, topic: str, acks: int) -> None:
    create_topic(client, topic, 2)
    once = [PartitionProduceData(index, batch(b"a")) for index in (0, 1)]
    one, other = (TopicProduceData(topic, partition_data=[data]) for data in once)
    for topics, errors in (
        ([TopicProduceData(topic, partition_data=[*once, once[0]])], [42, 42, 42]),
        ([one, other, one], [42, 42, 42]),
        ([one, other], [0, 0]),
    ):
        response = client.ask(ProduceRequest(None, acks, 1000, topics), 9)
        told = [each.error_code for part in response.responses for each in part.partition_responses]
        assert told == errors
    assert stored(client, topic) == [b"a"]


def test_an_answer_names_so_many_records_in_all(client: RawClient, topic: str) -> None:
    """A hundred small batches can have a million records that are refused."""
    create_topic(client, topic, 3, message_timestamp_before_max_ms=str(HOUR_MS))
    rows = [(1, None, b"", ())] * 6_000
    records = bytes(encode_batch(rows, compression=Compression.ZSTD))
    data = [PartitionProduceData(index, records) for index in range(3)]
    response = client.ask(
        ProduceRequest(None, 1, 1000, [TopicProduceData(topic, partition_data=data)]), 9
    )
    answers = response.responses[0].partition_responses
    assert {each.error_code for each in answers} == {ErrorCode.INVALID_TIMESTAMP}
    assert [len(each.record_errors) for each in answers] == [6_000, 4_000, 1]
