"""What the tests ask a broker over and over, each in one line."""

from collections.abc import Iterable
from typing import Any

from barnabas.records.decode import decode_records
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreatableTopicResult,
    CreateTopicsRequest,
)
from barnabas.wire.messages.delete_topics import DeleteTopicsRequest
from barnabas.wire.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
    PartitionData,
)
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from barnabas.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from barnabas.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from barnabas.wire.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    TopicProduceData,
)
from tests.broker.raw_client import RawClient
from tests.support.wait import wait_until

TOPIC, BROKER = 2, 4
SET, DELETE, APPEND, SUBTRACT = range(4)

BY_NAME = 12
"""The newest version of Produce and of Fetch that names topics instead of giving their ids."""


def create_topic(
    client: RawClient, name: str, partitions: int = 1, **configs: str
) -> CreatableTopicResult:
    """Create a topic that must come into being; `flush_ms="1"` sets `flush.ms`."""
    settings = [CreatableTopicConfig(key.replace("_", "."), v) for key, v in configs.items()]
    topic = CreatableTopic(name, partitions, -1, configs=settings)
    (result,) = client.ask(CreateTopicsRequest([topic])).topics
    assert result.error_code == 0, result.error_message
    return result


def find_coordinator(client: RawClient, group: str) -> None:
    """Have it found, and wait until it serves the group; it is the node behind `client`."""

    def serves() -> bool:
        (found,) = client.ask(FindCoordinatorRequest(coordinator_keys=[group])).coordinators
        asked_for = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group)])
        (answer,) = client.ask(asked_for, 9).groups
        return (found.error_code, answer.error_code) == (ErrorCode.NONE, ErrorCode.NONE)

    wait_until(serves, f"no coordinator for {group}")


def delete_topic(client: RawClient, name: str) -> None:
    (result,) = client.ask(DeleteTopicsRequest(topic_names=[name]), 5).responses
    assert result.error_code == 0, result.error_message


def produce_request(
    topic: str, records: bytes | None, partition: int = 0, acks: int = -1, timeout_ms: int = 5000
) -> ProduceRequest:
    data = TopicProduceData(topic, partition_data=[PartitionProduceData(partition, records)])
    return ProduceRequest(None, acks, timeout_ms, [data])


def produce(
    client: RawClient, topic: str, records: bytes | None, *, version: int = BY_NAME, **how: Any
) -> PartitionProduceResponse:
    """The answer for the one partition written to."""
    response = client.ask(produce_request(topic, records, **how), version)
    ((answer,),) = (topic.partition_responses for topic in response.responses)
    return answer


def produced(client: RawClient, topic: str, records: bytes | None, **how: Any) -> int:
    """The offset of a write that must succeed."""
    answer = produce(client, topic, records, **how)
    assert answer.error_code == 0, answer.error_message
    return answer.base_offset


def asked(
    topic: str, offsets: dict[int, int], max_bytes: int = 1 << 20, epoch: int = -1
) -> FetchTopic:
    """Partitions of one topic, each with the offset to read from."""
    return FetchTopic(
        topic,
        partitions=[
            FetchPartition(index, epoch, offset, partition_max_bytes=max_bytes)
            for index, offset in offsets.items()
        ],
    )


def fetch_request(
    *topics: FetchTopic,
    max_wait_ms: int = 0,
    min_bytes: int = 1,
    max_bytes: int = 1 << 20,
    session: tuple[int, int] = (0, -1),
    forgotten: Iterable[tuple[str, list[int]]] = (),
    isolation_level: int = 0,
) -> FetchRequest:
    return FetchRequest(
        isolation_level=isolation_level,
        max_wait_ms=max_wait_ms,
        min_bytes=min_bytes,
        max_bytes=max_bytes,
        session_id=session[0],
        session_epoch=session[1],
        topics=list(topics),
        forgotten_topics_data=[
            ForgottenTopic(topic, partitions=indexes) for topic, indexes in forgotten
        ],
    )


def partitions_of(response: FetchResponse) -> dict[tuple[str, int], PartitionData]:
    """What a fetch told, by topic and partition."""
    assert response.error_code == 0
    return {
        (topic.topic, data.partition_index): data
        for topic in response.responses
        for data in topic.partitions
    }


def fetch_one(client: RawClient, topic: str, offset: int = 0, **how: Any) -> PartitionData:
    """Partition 0, read without a session."""
    response = client.ask(fetch_request(asked(topic, {0: offset}), **how), BY_NAME)
    return partitions_of(response)[topic, 0]


def values_of(data: PartitionData) -> list[bytes | None]:
    return [record.value for record in decode_records(data.records or b"")]


def stored(client: RawClient, topic: str, offset: int = 0) -> list[bytes | None]:
    """Every value of partition 0 from `offset` on."""
    values: list[bytes | None] = []
    while True:
        data = fetch_one(client, topic, offset)
        assert data.error_code == 0
        records = [r for r in decode_records(data.records or b"") if r.offset >= offset]
        if not records:
            return values
        values += [record.value for record in records]
        offset = records[-1].offset + 1


def offset_at(
    client: RawClient, topic: str, timestamp: int, epoch: int = -1
) -> ListOffsetsPartitionResponse:
    """What ListOffsets says of partition 0."""
    partition = ListOffsetsPartition(0, epoch, timestamp)
    response = client.ask(ListOffsetsRequest(topics=[ListOffsetsTopic(topic, [partition])]))
    ((answer,),) = (topic.partitions for topic in response.topics)
    return answer


def alter(
    client: RawClient,
    resource: tuple[int, str],
    *changes: tuple[str, int, str | None],
    validate_only: bool = False,
) -> tuple[int, str | None]:
    """Change settings; the error code and message."""
    configs = [AlterableConfig(name, operation, value) for name, operation, value in changes]
    request = IncrementalAlterConfigsRequest(
        [AlterConfigsResource(*resource, configs)], validate_only
    )
    (answer,) = client.ask(request).responses
    return answer.error_code, answer.error_message
