"""Topics that set `flush.*`: a message is exposed, and acknowledged to acks=all, once flushed."""

import asyncio
import time
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest

from barnabas.broker.handlers import produce_single
from barnabas.broker.handlers.produce import handle as handle_produce
from barnabas.broker.net.dispatcher import Dispatcher, Route
from barnabas.log import FlushJob
from barnabas.wire.errors import ErrorCode
from barnabas.wire.framing import encode_request
from barnabas.wire.messages.produce import ProduceRequest
from tests.broker.conftest import running_node
from tests.broker.raw_client import RawClient, batch
from tests.broker.verbs import (
    BY_NAME,
    SET,
    TOPIC,
    alter,
    asked,
    create_topic,
    delete_topic,
    fetch_one,
    fetch_request,
    offset_at,
    partitions_of,
    produce,
    produce_request,
    produced,
    stored,
    values_of,
)
from tests.support.broker import BrokerProcess
from tests.support.wait import LIMIT_S

LATEST, MAX_TIMESTAMP = -1, -3


def test_nothing_is_exposed_before_it_is_flushed(client: RawClient, topic: str) -> None:
    create_topic(client, topic, flush_messages="3")
    assert produced(client, topic, batch(b"a"), acks=1) == 0
    assert produced(client, topic, batch(b"b"), acks=1) == 1
    data = fetch_one(client, topic)
    assert (values_of(data), data.high_watermark) == ([], 0)
    assert offset_at(client, topic, LATEST).offset == 0
    assert offset_at(client, topic, MAX_TIMESTAMP).offset == -1
    assert offset_at(client, topic, 0).offset == -1
    beyond = fetch_one(client, topic, 1)
    assert (beyond.error_code, values_of(beyond)) == (0, [])
    assert produced(client, topic, batch(b"c"), acks=-1) == 2
    assert stored(client, topic) == [b"a", b"b", b"c"]


def test_a_flush_wakes_the_reader(client: RawClient, topic: str, node: BrokerProcess) -> None:
    create_topic(client, topic, flush_messages="2")
    with RawClient(node.host, node.port) as reader:
        reader.send(fetch_request(asked(topic, {0: 0}), max_wait_ms=600_000), BY_NAME)
        produced(client, topic, batch(b"a"), acks=1)
        assert reader.is_silent(0.1)
        produced(client, topic, batch(b"b"), acks=1)
        assert values_of(partitions_of(reader.receive())[topic, 0]) == [b"a", b"b"]


def test_acks_all_waits_for_the_flush(client: RawClient, topic: str, node: BrokerProcess) -> None:
    create_topic(client, topic, flush_messages="2")
    with RawClient(node.host, node.port) as waiting:
        waiting.send(produce_request(topic, batch(b"a"), timeout_ms=600_000), BY_NAME)
        assert waiting.is_silent(0.2)
        produced(client, topic, batch(b"b"), acks=1)
        (answer,) = waiting.receive().responses[0].partition_responses
        assert (answer.error_code, answer.base_offset) == (0, 0)


@pytest.mark.parametrize("flushes", ["log.flush.interval.messages", "log.flush.interval.ms"])
@pytest.mark.parametrize(
    "route",
    [
        Route(ProduceRequest, handle_produce),
        Route(ProduceRequest, handle_produce, produce_single.handle),
    ],
    ids=["ordinary", "short cut"],
)
def test_acks_1_is_answered_before_the_flush_and_acks_all_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, route: Route[Any], flushes: str
) -> None:
    """As docs/configuration.md says; here every message is flushed at once, on a slow disk."""
    may_sync = Event()
    sync = FlushJob.run

    def slow_sync(job: FlushJob) -> None:
        may_sync.wait(LIMIT_S)
        sync(job)

    def dispatch(acks: int) -> Any:
        request = produce_request("t", batch(b"a"), acks=acks)
        frame = b"".join(encode_request(request, BY_NAME, 1, "test"))
        peer: Any = SimpleNamespace(client_host="test", peer=None)
        return dispatcher.dispatch(memoryview(bytearray(frame[4:])), peer)

    with running_node(tmp_path, {flushes: "1"}) as node:
        dispatcher = Dispatcher(node, [route])
        node.loop.run_until_complete(node.topic_creation.create(["t"]))
        partition = node.partitions.find("t", 0)
        assert not isinstance(partition, ErrorCode)
        monkeypatch.setattr(FlushJob, "run", slow_sync)
        try:
            assert isinstance(dispatch(acks=1), list)
            answer = dispatch(acks=-1)
            assert isinstance(answer, asyncio.Future)
            node.loop.run_until_complete(asyncio.wait([answer], timeout=0.1))
            assert not answer.done()
            assert (partition.log.log_end_offset, partition.log.flushed_offset) == (2, 0)
        finally:
            may_sync.set()
        node.loop.run_until_complete(asyncio.wait_for(answer, LIMIT_S))
        assert partition.log.flushed_offset == 2


def test_acks_all_times_out(client: RawClient, topic: str) -> None:
    """The records are stored all the same, and appear when they are flushed."""
    create_topic(client, topic, flush_messages="2")
    started = time.monotonic()
    answer = produce(client, topic, batch(b"a"), acks=-1, timeout_ms=200)
    assert answer.error_code == ErrorCode.REQUEST_TIMED_OUT
    assert time.monotonic() - started > 0.19
    produced(client, topic, batch(b"b"), acks=-1)
    assert stored(client, topic) == [b"a", b"b"]


def test_by_age(client: RawClient, topic: str) -> None:
    create_topic(client, topic, flush_ms="200")
    started = time.monotonic()
    assert produced(client, topic, batch(b"a"), acks=-1) == 0
    assert time.monotonic() - started > 0.15
    assert stored(client, topic) == [b"a"]


def test_every_message(client: RawClient, topic: str) -> None:
    create_topic(client, topic, flush_messages="1")
    for number in range(20):
        assert produced(client, topic, batch(b"%d" % number), acks=-1) == number
    assert stored(client, topic) == [b"%d" % number for number in range(20)]


def test_switching_it_off_exposes_what_waits(
    client: RawClient, topic: str, node: BrokerProcess
) -> None:
    create_topic(client, topic, flush_messages="100")
    with RawClient(node.host, node.port) as writer:
        writer.send(produce_request(topic, batch(b"a"), timeout_ms=600_000), BY_NAME)
        assert writer.is_silent(0.1)
        assert alter(client, (TOPIC, topic), ("flush.messages", SET, str(2**63 - 1)))[0] == 0
        assert writer.receive().responses[0].partition_responses[0].error_code == 0
    assert stored(client, topic) == [b"a"]


def test_a_lower_limit_flushes_what_waits(
    client: RawClient, topic: str, node: BrokerProcess
) -> None:
    create_topic(client, topic, flush_messages="100")
    with RawClient(node.host, node.port) as writer:
        writer.send(produce_request(topic, batch(b"a", b"b"), timeout_ms=600_000), BY_NAME)
        assert writer.is_silent(0.1)
        assert alter(client, (TOPIC, topic), ("flush.messages", SET, "2"))[0] == 0
        assert writer.receive().responses[0].partition_responses[0].error_code == 0


def test_a_topic_deleted_before_its_flush_is_no_success(
    client: RawClient, topic: str, node: BrokerProcess
) -> None:
    create_topic(client, topic, flush_messages="100")
    with RawClient(node.host, node.port) as writer:
        writer.send(produce_request(topic, batch(b"a"), timeout_ms=600_000), BY_NAME)
        assert writer.is_silent(0.1)
        delete_topic(client, topic)
        answer = writer.receive().responses[0].partition_responses[0]
    assert answer.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize("kill", [False, True])
def test_what_was_not_flushed_yet_survives_the_process(
    node: BrokerProcess, topic: str, kill: bool
) -> None:
    with RawClient(node.host, node.port) as client:
        create_topic(client, topic, flush_messages="100")
        produced(client, topic, batch(b"a"), acks=1)
    node.restart(kill=kill)
    with RawClient(node.host, node.port) as client:
        assert stored(client, topic) == [b"a"]
