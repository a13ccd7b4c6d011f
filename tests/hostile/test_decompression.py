"""Small requests that decompress to very much: others are served meanwhile."""

import pytest

from barnabas.records.compression import Compression
from barnabas.records.encode import encode_batch
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from tests.broker.raw_client import RawClient
from tests.broker.verbs import BY_NAME, create_topic, produce_request, stored
from tests.hostile.onlooker import MB, Onlooker
from tests.support.broker import BrokerProcess


def bomb() -> bytes:
    """A kilobyte that becomes 31 MiB."""
    batch = encode_batch([(0, None, bytes(31 * MB), ())], compression=Compression.ZSTD)
    assert len(batch) < 5_000
    return bytes(batch)


def request(topic: str, partitions: list[int], records: bytes) -> ProduceRequest:
    named = [PartitionProduceData(index, records) for index in partitions]
    return ProduceRequest(None, -1, 60_000, [TopicProduceData(topic, partition_data=named)])


def test_a_partition_that_is_named_twice_is_refused(broker: BrokerProcess) -> None:
    with RawClient(broker.host, broker.port) as client, Onlooker(broker) as onlooker:
        create_topic(client, "t")
        answer = client.ask(request("t", [0] * 5_000, bomb()), BY_NAME)
        errors = {each.error_code for each in answer.responses[0].partition_responses}
        assert errors == {ErrorCode.INVALID_REQUEST}
        assert stored(client, "t") == []
    assert onlooker.longest_wait_s < 1.0


@pytest.mark.parametrize("settings", [{}, {"compression_type": "gzip"}])
def test_a_request_decompresses_to_eight_of_the_largest_batches(
    broker: BrokerProcess, settings: dict[str, str]
) -> None:
    """However many partitions it names, and also if the topic has another codec."""
    with RawClient(broker.host, broker.port) as client, Onlooker(broker) as onlooker:
        create_topic(client, "t", 300, **settings)
        answer = client.ask(request("t", list(range(300)), bomb()), BY_NAME)
        answers = answer.responses[0].partition_responses
        refused = [each for each in answers if each.error_code == ErrorCode.REQUEST_TIMED_OUT]
        stored_in = [each.index for each in answers if each.error_code == ErrorCode.NONE]
        assert len(refused) + len(stored_in) == 300
        assert 4 <= len(stored_in) <= 8, f"{len(stored_in)}: 256 MiB, of which attempts count too"
        reasons = {each.error_message for each in refused}
        assert any("max.decompressed.batch.bytes" in reason for reason in reasons), reasons
        again = client.ask(request("t", [each.index for each in refused[:4]], bomb()), BY_NAME)
        codes = [each.error_code for each in again.responses[0].partition_responses]
        assert codes == [ErrorCode.NONE] * 4, "a retry has a budget again"
    assert onlooker.longest_wait_s < 1.0


def test_no_batch_overtakes_one_that_was_refused_for_its_request(broker: BrokerProcess) -> None:
    """An idempotent producer has sent the next ones before it reads the refusal."""
    first, second = (
        bytes(
            encode_batch(
                [(0, None, bytes(size), ())],
                compression=Compression.ZSTD,
                producer_id=1,
                producer_epoch=0,
                base_sequence=sequence,
            )
        )
        for sequence, size in enumerate((31 * MB, 1))
    )
    partitions = list(range(20))
    with RawClient(broker.host, broker.port) as client:
        create_topic(client, "t", len(partitions))
        for each in (first, second):
            client.send(request("t", partitions, each), BY_NAME)
        refused, next_ones = (
            {
                each.index: each.error_code
                for each in client.receive().responses[0].partition_responses
            }
            for _ in range(2)
        )
        assert set(refused.values()) == {ErrorCode.NONE, ErrorCode.REQUEST_TIMED_OUT}
        assert next_ones == refused


def test_a_request_of_many_small_batches_is_bounded_too(broker: BrokerProcess) -> None:
    """Each fits into a turn of the event loop, and all together are 400 MiB."""
    records = bytes(encode_batch([(0, None, bytes(MB), ())], compression=Compression.ZSTD))
    with RawClient(broker.host, broker.port) as client, Onlooker(broker) as onlooker:
        create_topic(client, "t", 400)
        answer = client.ask(request("t", list(range(400)), records), BY_NAME)
        codes = [each.error_code for each in answer.responses[0].partition_responses]
        assert set(codes) == {ErrorCode.NONE, ErrorCode.REQUEST_TIMED_OUT}
        assert codes.count(ErrorCode.NONE) <= 256
    assert onlooker.longest_wait_s < 1.0


def test_one_connection_does_not_take_the_turns_of_the_others(broker: BrokerProcess) -> None:
    with (
        RawClient(broker.host, broker.port) as greedy,
        RawClient(broker.host, broker.port) as other,
    ):
        create_topic(other, "t", 300)
        create_topic(other, "u", 3)
        greedy.send(request("t", list(range(300)), bomb()), BY_NAME)
        answer = other.ask(request("u", [0, 1, 2], bomb()), BY_NAME)
        errors = [each.error_code for each in answer.responses[0].partition_responses]
        assert errors == [ErrorCode.NONE] * 3
        refused = [each.error_code for each in greedy.receive().responses[0].partition_responses]
        assert ErrorCode.REQUEST_TIMED_OUT in refused


def test_the_batches_of_a_pipeline_keep_their_order(broker: BrokerProcess) -> None:
    """Whether they are checked on the event loop or in a thread."""
    small = [
        bytes(encode_batch([(0, None, b"%d" % number, ())], compression=Compression.ZSTD))
        for number in range(20)
    ]
    large = bomb()
    with RawClient(broker.host, broker.port) as client:
        create_topic(client, "t")
        for each in small:
            client.send(produce_request("t", large), BY_NAME)
            client.send(produce_request("t", each), BY_NAME)
        answers = [client.receive().responses[0].partition_responses[0] for _ in range(40)]
        assert [each.error_code for each in answers] == [ErrorCode.NONE] * 40
        assert [each.base_offset for each in answers] == list(range(40))
