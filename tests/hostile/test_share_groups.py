"""Requests of share groups that no client would send: the node answers, and serves others."""

from collections.abc import Iterator
from typing import Any

import pytest

from barnabas.metadata.image import GROUP_RESOURCE
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages import alter_share_group_offsets as alter_offsets
from barnabas.wire.messages import describe_share_group_offsets as describe_offsets
from barnabas.wire.messages import share_acknowledge, share_fetch
from barnabas.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from barnabas.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from tests.broker.raw_client import RawClient, batch
from tests.broker.verbs import create_topic, find_coordinator, produced
from tests.support.broker import BrokerProcess
from tests.support.wait import wait_until

GREATEST = 2**63 - 1
MOST = 2**31 - 1
GROUP = "queue"


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    settings = {"group.share.max.share.sessions": "20"}
    with BrokerProcess(tmp_path_factory.mktemp("share"), settings) as broker:
        yield broker
        broker.stop()
        assert "Traceback" not in broker.log.read_text(), broker.log_tail()


@pytest.fixture
def client(node: BrokerProcess) -> Iterator[RawClient]:
    with RawClient(node.host, node.port) as client:
        yield client


@pytest.fixture(scope="module")
def topic_id(node: BrokerProcess) -> bytes:
    """A topic that the group may read."""
    with RawClient(node.host, node.port) as client:
        topic_id = create_topic(client, "jobs").topic_id
        find_coordinator(client, GROUP)
        # By default it begins where the log ends when it first fetches, which is here or there.
        earliest = AlterableConfig("share.auto.offset.reset", 0, "earliest")
        change = AlterConfigsResource(GROUP_RESOURCE, GROUP, [earliest])
        assert client.ask(IncrementalAlterConfigsRequest([change])).responses[0].error_code == 0
        wait_until(lambda: is_assigned(client), "the group gets no partition")
        return topic_id


def is_assigned(client: RawClient) -> bool:
    answer = client.ask(ShareGroupHeartbeatRequest(GROUP, "m", 0, None, ["jobs"]))
    return bool(answer.assignment and answer.assignment.topic_partitions)


def fetch(client: RawClient, topic_id: bytes, *indexes: int, **fields: Any) -> Any:
    request = share_fetch.ShareFetchRequest(
        fields.pop("group", GROUP),
        fields.pop("member", "m"),
        fields.pop("epoch", 0),
        fields.pop("max_wait_ms", 0),
        fields.pop("min_bytes", 0),
        fields.pop("max_bytes", 1 << 20),
        fields.pop("max_records", 10),
        fields.pop("batch_size", 10),
        topics=[
            share_fetch.FetchTopic(
                topic_id, [share_fetch.FetchPartition(index) for index in indexes]
            )
        ],
        **fields,
    )
    return client.ask(request)


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"group": None}, ErrorCode.INVALID_REQUEST),
        ({"member": None}, ErrorCode.INVALID_REQUEST),
        ({"epoch": MOST}, ErrorCode.SHARE_SESSION_NOT_FOUND),
        ({"epoch": -(2**31)}, ErrorCode.SHARE_SESSION_NOT_FOUND),
        ({"share_acquire_mode": 9}, ErrorCode.INVALID_REQUEST),
        ({"is_renew_ack": True}, ErrorCode.INVALID_REQUEST),
        ({"max_records": -5, "batch_size": -5, "max_bytes": -5, "min_bytes": -5}, ErrorCode.NONE),
        ({"max_records": MOST, "batch_size": MOST, "max_bytes": MOST}, ErrorCode.NONE),
        ({"max_wait_ms": -(2**31), "min_bytes": MOST}, ErrorCode.NONE),
    ],
)
def test_senseless_fetches(
    client: RawClient, topic_id: bytes, fields: dict[str, Any], error: ErrorCode
) -> None:
    assert fetch(client, topic_id, 0, **{"member": "forger", **fields}).error_code == error


def test_forged_offsets(client: RawClient, topic_id: bytes) -> None:
    """A member holds some records, and another one claims to have them."""
    assert fetch(client, topic_id, 0).error_code == 0
    produced(client, "jobs", batch(b"a", b"b"))
    got: list[Any] = []
    epoch = 1

    def is_there() -> bool:
        nonlocal epoch
        answer = fetch(client, topic_id, epoch=epoch, max_wait_ms=100)
        epoch += 1
        got.extend(
            each
            for topic in answer.responses
            for data in topic.partitions
            for each in data.acquired_records
        )
        return bool(got)

    wait_until(is_there, "no records")
    assert fetch(client, topic_id, 0, member="forger").error_code == 0
    for turn, (first, last, types) in enumerate(
        [
            (0, GREATEST, [1]),
            (GREATEST, GREATEST, [1]),
            (-GREATEST, 0, [1]),
            (0, 0, [127]),
            (0, 0, [-128]),
            (0, 1, [1] * 5_000),
            (got[0].first_offset, got[0].last_offset, [1]),
        ]
    ):
        request = share_acknowledge.ShareAcknowledgeRequest(
            GROUP,
            "forger",
            turn + 1,
            topics=[
                share_acknowledge.AcknowledgeTopic(
                    topic_id,
                    [
                        share_acknowledge.AcknowledgePartition(
                            index,
                            [share_acknowledge.AcknowledgementBatch(first, last, types)],
                        )
                        for index in (0, -1, 7)
                    ],
                )
            ],
        )
        answer = client.ask(request)
        assert answer.error_code == 0
        codes = [data.error_code for data in answer.responses[0].partitions]
        assert 0 not in codes, (first, last, answer)
    # They are still with their member.
    accept = share_acknowledge.AcknowledgementBatch(got[0].first_offset, got[-1].last_offset, [1])
    topic = share_acknowledge.AcknowledgeTopic(
        topic_id, [share_acknowledge.AcknowledgePartition(0, [accept])]
    )
    answer = client.ask(
        share_acknowledge.ShareAcknowledgeRequest(GROUP, "m", epoch, topics=[topic])
    )
    assert answer.responses[0].partitions[0].error_code == 0


def test_a_crowd_of_sessions_is_refused(node: BrokerProcess, topic_id: bytes) -> None:
    with RawClient(node.host, node.port) as client:
        codes = {
            fetch(client, topic_id, 0, member=f"crowd-{number}").error_code for number in range(40)
        }
        assert codes == {0, ErrorCode.SHARE_SESSION_LIMIT_REACHED}

    def has_room() -> bool:
        with RawClient(node.host, node.port) as client:
            return fetch(client, topic_id, 0, member="late").error_code == 0

    wait_until(has_room, "sessions stay when their connection is gone")


def test_groups_nobody_coordinates_take_no_memory(
    node: BrokerProcess, client: RawClient, topic_id: bytes
) -> None:
    for number in range(200):
        answer = fetch(client, topic_id, 0, 1, 2, group=f"no-{number}", max_wait_ms=5_000)
        for data in answer.responses[0].partitions:
            assert data.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        over = fetch(client, topic_id, group=f"no-{number}", epoch=-1)
        assert over.error_code == 0
    assert node.alive


def test_what_a_request_repeats_is_done_once(client: RawClient, topic_id: bytes) -> None:
    """Each group of a short request may have many partitions, and each of them takes calls."""
    assert topic_id
    group = describe_offsets.DescribeShareGroupOffsetsRequestGroup
    asked = [group(GROUP, None), group("other", None), group(GROUP, None)]
    answer = client.ask(describe_offsets.DescribeShareGroupOffsetsRequest(asked))
    assert [(each.group_id, each.error_code, len(each.topics)) for each in answer.groups] == [
        (GROUP, ErrorCode.NONE, 1),
        ("other", ErrorCode.GROUP_ID_NOT_FOUND, 0),
        (GROUP, ErrorCode.INVALID_REQUEST, 0),
    ]
    for epoch in (0, -1):
        left = client.ask(ShareGroupHeartbeatRequest("empty", "m", epoch, None, ["jobs"]))
        assert left.error_code == 0
    topics = [
        alter_offsets.AlterShareGroupOffsetsRequestTopic(
            "jobs", [alter_offsets.AlterShareGroupOffsetsRequestPartition(0, start_offset)]
        )
        for start_offset in (1, 0)
    ]
    answer = client.ask(alter_offsets.AlterShareGroupOffsetsRequest("empty", topics))
    codes = [each.error_code for topic in answer.responses for each in topic.partitions]
    assert codes == [ErrorCode.NONE, ErrorCode.INVALID_REQUEST]
