"""Small requests that decompress to very much: others are served meanwhile."""

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


def test_batches_that_decompress_to_much_are_checked_in_turns(broker: BrokerProcess) -> None:
    with RawClient(broker.host, broker.port) as client, Onlooker(broker) as onlooker:
        create_topic(client, "t", 300)
        answer = client.ask(request("t", list(range(300)), bomb()), BY_NAME)
        errors = [each.error_code for each in answer.responses[0].partition_responses]
        assert set(errors) == {ErrorCode.NONE, ErrorCode.REQUEST_TIMED_OUT}
        assert errors.count(ErrorCode.NONE) >= 60, "those that fit into memory are stored"
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
