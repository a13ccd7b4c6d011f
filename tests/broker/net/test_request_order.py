"""What a connection asks first takes effect first, and what it reads later sees it.

Each test sends two or three requests in one write, on one node and on three, again and again: with
replicas to wait for, the first is still under way when the second has arrived.
"""

from collections.abc import Callable, Iterator
from itertools import count

import pytest

from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from barnabas.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from barnabas.wire.messages.delete_topics import DeleteTopicsRequest
from barnabas.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from barnabas.wire.messages.end_txn import EndTxnRequest
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest
from barnabas.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from barnabas.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
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
from barnabas.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from tests.broker.raw_client import RawClient, batch
from tests.broker.verbs import (
    BY_NAME,
    SET,
    TOPIC,
    asked,
    fetch_request,
    partitions_of,
    produce_request,
    values_of,
)
from tests.support.cluster import ClusterProcesses
from tests.support.wait import wait_until

ROUNDS = 50
LATEST, EARLIEST = -1, -2
GROUP, TRANSACTION = 0, 1
GROUPS_BY_NAME = 9
SETTING = "segment.bytes"
TIMEOUT_S = 60

_numbers = count()


@pytest.fixture(scope="module", params=[1, 3], ids=["one-node", "three-nodes"])
def cluster(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ClusterProcesses]:
    with ClusterProcesses(tmp_path_factory.mktemp("cluster"), nodes=request.param) as cluster:
        yield cluster
        for node in cluster.nodes.values():
            assert "Traceback" not in node.log.read_text(), node.log_tail()


@pytest.fixture
def topic(cluster: ClusterProcesses) -> str:
    """A topic of one partition, on every node."""
    name = f"order-{next(_numbers)}"
    cluster.create_topic(name, 1, len(cluster.nodes))
    return name


@pytest.fixture
def client(cluster: ClusterProcesses, topic: str) -> Iterator[RawClient]:
    """Connected to the topic's leader."""
    with cluster.leader_of(topic).connect(TIMEOUT_S) as client:
        yield client


def coordinator_of(cluster: ClusterProcesses, key_type: int, key: str) -> int:
    found = -1

    def is_found() -> bool:
        nonlocal found
        request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=[key])
        (answer,) = cluster.ask_any(request).coordinators
        found = answer.node_id
        return not answer.error_code

    wait_until(is_found, f"no coordinator for {key}")
    return found


def offset_fetch(group: str, topic: str, *, require_stable: bool = False) -> OffsetFetchRequest:
    topics = [OffsetFetchRequestTopics(topic, partition_indexes=[0])]
    return OffsetFetchRequest(
        groups=[OffsetFetchRequestGroup(group, topics=topics)], require_stable=require_stable
    )


def wait_until_served(client: RawClient, group: str, topic: str) -> None:
    def is_served() -> bool:
        (answer,) = client.ask(offset_fetch(group, topic), GROUPS_BY_NAME).groups
        return not answer.error_code

    wait_until(is_served, f"{group} is not served")


def list_offsets(topic: str, timestamp: int) -> ListOffsetsRequest:
    return ListOffsetsRequest(
        topics=[ListOffsetsTopic(topic, [ListOffsetsPartition(0, -1, timestamp)])]
    )


def base_offset_of(client: RawClient) -> int:
    """What the next answer, a Produce's, says."""
    ((answer,),) = (topic.partition_responses for topic in client.receive().responses)
    assert answer.error_code == ErrorCode.NONE, answer.error_message
    return int(answer.base_offset)


def listed_offset_of(client: RawClient) -> int:
    ((answer,),) = (topic.partitions for topic in client.receive().topics)
    assert answer.error_code == ErrorCode.NONE
    return int(answer.offset)


# -- records ---------------------------------------------------------------------------------------


def test_the_end_of_the_log_is_behind_what_was_produced(client: RawClient, topic: str) -> None:
    seen = []
    for number in range(ROUNDS):
        client.send_bytes(
            client.frame(produce_request(topic, batch(b"a")), BY_NAME)
            + client.frame(produce_request(topic, batch(b"b")), BY_NAME)
            + client.frame(list_offsets(topic, LATEST))
        )
        assert [base_offset_of(client), base_offset_of(client)] == [2 * number, 2 * number + 1]
        seen.append(listed_offset_of(client))
    assert seen == [2 * number + 2 for number in range(ROUNDS)]


def test_a_fetch_gets_what_was_produced(client: RawClient, topic: str) -> None:
    seen = []
    for number in range(ROUNDS):
        client.send_bytes(
            client.frame(produce_request(topic, batch(b"%d" % number)), BY_NAME)
            + client.frame(fetch_request(asked(topic, {0: number})), BY_NAME)
        )
        assert base_offset_of(client) == number
        seen.append(values_of(partitions_of(client.receive())[topic, 0]))
    assert seen == [[b"%d" % number] for number in range(ROUNDS)]


def test_a_produce_without_an_answer_keeps_its_place(client: RawClient, topic: str) -> None:
    """What is produced with acks=0 between two that are acknowledged is stored between them."""
    for number in range(0, 3 * ROUNDS, 3):
        client.send_bytes(
            client.frame(produce_request(topic, batch(b"a")), BY_NAME)
            + unanswered(client, produce_request(topic, batch(b"b"), acks=0))
            + client.frame(produce_request(topic, batch(b"c")), BY_NAME)
            + client.frame(fetch_request(asked(topic, {0: number})), BY_NAME)
        )
        assert [base_offset_of(client), base_offset_of(client)] == [number, number + 2]
        assert values_of(partitions_of(client.receive())[topic, 0]) == [b"a", b"b", b"c"]


def unanswered(client: RawClient, request: object) -> bytes:
    frame = client.frame(request, BY_NAME)  # type: ignore[arg-type]
    client.expect_no_answer()
    return frame


def test_the_start_of_the_log_is_where_records_were_deleted_to(
    client: RawClient, topic: str
) -> None:
    records = batch(*[b"x"] * ROUNDS)
    client.send(produce_request(topic, records), BY_NAME)
    assert base_offset_of(client) == 0
    seen = []
    for number in range(1, ROUNDS + 1):
        partition = DeleteRecordsPartition(0, number)
        deletion = DeleteRecordsRequest([DeleteRecordsTopic(topic, [partition])], 10_000)
        client.send_bytes(client.frame(deletion) + client.frame(list_offsets(topic, EARLIEST)))
        ((deleted,),) = (topic.partitions for topic in client.receive().topics)
        assert (deleted.error_code, deleted.low_watermark) == (ErrorCode.NONE, number)
        seen.append(listed_offset_of(client))
    assert seen == list(range(1, ROUNDS + 1))


# -- topics ----------------------------------------------------------------------------------------


def test_a_created_topic_is_known_and_a_deleted_one_is_not(cluster: ClusterProcesses) -> None:
    for node in cluster.nodes.values():
        with node.connect(TIMEOUT_S) as client:
            for number in range(ROUNDS // len(cluster.nodes)):
                name = f"made-{node.node_id}-{number}"
                topic = CreatableTopic(name, 1, len(cluster.nodes))
                looked = MetadataRequest([MetadataRequestTopic(name=name)], False)
                client.send_bytes(
                    client.frame(CreateTopicsRequest([topic], 10_000))
                    + client.frame(looked)
                    + client.frame(DeleteTopicsRequest(topic_names=[name], timeout_ms=10_000), 5)
                    + client.frame(looked)
                )
                assert client.receive().topics[0].error_code == ErrorCode.NONE
                assert client.receive().topics[0].error_code == ErrorCode.NONE
                assert client.receive().responses[0].error_code == ErrorCode.NONE
                gone = client.receive().topics[0].error_code
                assert gone == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_changed_setting_is_described(cluster: ClusterProcesses, topic: str) -> None:
    for node in cluster.nodes.values():
        with node.connect(TIMEOUT_S) as client:
            for number in range(ROUNDS // len(cluster.nodes)):
                value = str(100_000 + 1_000 * node.node_id + number)
                change = AlterConfigsResource(TOPIC, topic, [AlterableConfig(SETTING, SET, value)])
                look = DescribeConfigsResource(TOPIC, topic, [SETTING])
                client.send_bytes(
                    client.frame(IncrementalAlterConfigsRequest([change]))
                    + client.frame(DescribeConfigsRequest([look]))
                )
                assert client.receive().responses[0].error_code == ErrorCode.NONE
                assert client.receive().results[0].configs[0].value == value


# -- offsets ---------------------------------------------------------------------------------------


def test_a_committed_offset_is_read(cluster: ClusterProcesses, topic: str) -> None:
    group = f"group-{next(_numbers)}"
    coordinator = cluster[coordinator_of(cluster, GROUP, group)]
    with coordinator.connect(TIMEOUT_S) as client:
        wait_until_served(client, group, topic)
        seen = []
        for number in range(1, ROUNDS + 1):
            partitions = [OffsetCommitRequestPartition(0, number)]
            commit = OffsetCommitRequest(
                group, topics=[OffsetCommitRequestTopic(topic, partitions=partitions)]
            )
            client.send_bytes(
                client.frame(commit, GROUPS_BY_NAME)
                + client.frame(offset_fetch(group, topic), GROUPS_BY_NAME)
            )
            assert client.receive().topics[0].partitions[0].error_code == ErrorCode.NONE
            seen.append(client.receive().groups[0].topics[0].partitions[0].committed_offset)
    assert seen == list(range(1, ROUNDS + 1))


def same_coordinator(cluster: ClusterProcesses) -> tuple[int, str, str]:
    """A node, and a transactional id and a group that it coordinates."""
    transactional_id = f"id-{next(_numbers)}"
    node_id = coordinator_of(cluster, TRANSACTION, transactional_id)
    while True:
        group = f"group-{next(_numbers)}"
        if coordinator_of(cluster, GROUP, group) == node_id:
            return node_id, transactional_id, group


def test_a_transaction_has_the_offsets_that_came_before_its_end(
    cluster: ClusterProcesses, topic: str
) -> None:
    node_id, transactional_id, group = same_coordinator(cluster)
    with cluster[node_id].connect(TIMEOUT_S) as client:
        wait_until_served(client, group, topic)
        begun = None

        def has_begun() -> bool:
            nonlocal begun
            begun = client.ask(InitProducerIdRequest(transactional_id, 60_000, -1, -1), 5)
            return not begun.error_code

        wait_until(has_begun, "no coordinator for the transaction")
        assert begun is not None
        producer_id, epoch = begun.producer_id, begun.producer_epoch
        for number in range(1, ROUNDS + 1):
            partitions = [TxnOffsetCommitRequestPartition(0, number)]
            topics = [TxnOffsetCommitRequestTopic(topic, partitions)]
            commit = TxnOffsetCommitRequest(
                transactional_id, group, producer_id, epoch, topics=topics
            )
            end = EndTxnRequest(transactional_id, producer_id, epoch, True)
            client.send_bytes(client.frame(commit, 5) + client.frame(end, 5))
            committed = client.receive().topics[0].partitions[0].error_code
            ended = client.receive()
            assert (committed, ended.error_code) == (ErrorCode.NONE, ErrorCode.NONE)
            producer_id, epoch = ended.producer_id, ended.producer_epoch
            assert stable_offset(client, group, topic) == number


def stable_offset(client: RawClient, group: str, topic: str) -> int:
    """The offset once its transaction's marker is there, which comes after the answer."""
    request = offset_fetch(group, topic, require_stable=True)
    partition = None

    def is_stable() -> bool:
        nonlocal partition
        ((partition,),) = (
            found.partitions for found in client.ask(request, GROUPS_BY_NAME).groups[0].topics
        )
        return not partition.error_code

    wait_until(is_stable, "the transaction does not end")
    assert partition is not None
    return int(partition.committed_offset)


# -- what is allowed to overlap --------------------------------------------------------------------


def test_produces_wait_for_their_replicas_together(client: RawClient, topic: str) -> None:
    """A hundred in one write take about as long as one, not a hundred times that."""
    frames = [client.frame(produce_request(topic, batch(b"x")), BY_NAME) for _ in range(100)]
    client.send_bytes(b"".join(frames))
    assert [base_offset_of(client) for _ in frames] == list(range(100))


def test_nothing_overtakes_a_long_poll(cluster: ClusterProcesses, topic: str) -> None:
    """As in Kafka: a client that wants to be heard meanwhile has another connection."""
    leader = cluster.leader_of(topic)
    with leader.connect(TIMEOUT_S) as client, leader.connect(TIMEOUT_S) as other:
        client.send(fetch_request(asked(topic, {0: 0}), max_wait_ms=TIMEOUT_S * 1000), BY_NAME)
        client.send(produce_request(topic, batch(b"behind")), BY_NAME)
        assert client.is_silent(0.2)
        other.send(produce_request(topic, batch(b"from elsewhere")), BY_NAME)
        assert base_offset_of(other) == 0
        assert values_of(partitions_of(client.receive())[topic, 0]) == [b"from elsewhere"]
        assert base_offset_of(client) == 1


Send = Callable[[RawClient, bytes], None]


def all_at_once(client: RawClient, data: bytes) -> None:
    client.send_bytes(data)


def byte_by_byte(client: RawClient, data: bytes) -> None:
    for at in range(len(data)):
        client.send_bytes(data[at : at + 1])


@pytest.mark.parametrize("send", [all_at_once, byte_by_byte])
def test_who_closes_after_sending_has_said_it_all(
    cluster: ClusterProcesses, topic: str, send: Send
) -> None:
    """Requests that have arrived whole are carried out, although the client does not wait for the
    answers."""
    leader = cluster.leader_of(topic)
    with leader.connect(TIMEOUT_S) as client:
        send(
            client,
            client.frame(fetch_request(asked(topic, {0: 0}), max_wait_ms=300), BY_NAME)
            + client.frame(produce_request(topic, batch(b"last words")), BY_NAME)
            + client.frame(produce_request(topic, batch(b"cut off")), BY_NAME)[:-1],
        )
    with leader.connect(TIMEOUT_S) as other:
        fetched = fetch_request(asked(topic, {0: 0}), max_wait_ms=TIMEOUT_S * 1000)
        found = partitions_of(other.ask(fetched, BY_NAME))[topic, 0]
        assert values_of(found) == [b"last words"]
