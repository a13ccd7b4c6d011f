"""Heartbeats flow, and nothing else does: no command may say that everything is copied."""

import asyncio
from collections.abc import Coroutine
from dataclasses import replace
from threading import Thread
from typing import Any

import pytest

import barnabas
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.errors import InvalidArgument
from barnabas.mirror.flow import ClusterEnd, Flow
from barnabas.mirror.formats.heartbeat import HeartbeatRecord
from barnabas.mirror.groups.internal_writer import InternalWriter
from barnabas.mirror.names import HEARTBEATS, remote_topic
from barnabas.mirror.operations.failback import complete
from barnabas.mirror.operations.failover import failover
from barnabas.mirror.operations.mirror_clients import MirrorClients, connect
from barnabas.mirror.operations.never_copied import never_copied
from barnabas.mirror.operations.status import collect_status
from barnabas.mirror.operations.verify import verify
from tests.mirror.copies import copy, make_topic

Ends = tuple[ClusterEnd, ClusterEnd]


def produce(end: ClusterEnd, topic: str, partition: int = 0) -> None:
    with barnabas.Producer(end.bootstrap_servers) as producer:
        producer.send(topic, b"x", partition=partition)


def let_heartbeats_flow(flow: Flow) -> None:
    """As `mirror run` does, whatever topics it names."""

    async def write() -> None:
        async with flow.source.client() as source, InternalWriter(flow, source) as writer:
            await writer.write_heartbeat(HeartbeatRecord(flow.target.name, flow.source.name, 1))

    asyncio.run(write())
    make_topic(flow.target, remote_topic(flow, HEARTBEATS))
    copy(flow, HEARTBEATS)


def with_clients(flow: Flow, work) -> Any:
    async def run() -> Any:
        async with connect(flow) as clients:
            done: Coroutine[Any, Any, Any] = work(flow, clients)
            return await done

    return asyncio.run(run())


@pytest.mark.parametrize("force", [False, True])
def test_a_flow_of_heartbeats_alone_is_not_failed_over(ends: Ends, topic: str, force: bool) -> None:
    flow = Flow(*ends, topics=("oders",))
    make_topic(flow.source, topic)
    produce(flow.source, topic)
    let_heartbeats_flow(flow)
    found = with_clients(flow, collect_status)
    assert [each.topic for each in found.partitions] == [HEARTBEATS]
    assert found.lag is None, "0 would say that everything is copied"
    for topics in ((), (topic,)):
        with pytest.raises(InvalidArgument, match="has copied nothing"):
            with_clients(flow, lambda *given, named=topics: verify(*given, topics=named))
    with pytest.raises(InvalidArgument, match="has copied nothing"):
        with_clients(flow, lambda *given: failover(*given, force=force))


@pytest.mark.long
def test_a_flow_back_that_has_not_begun_does_not_end_a_failback(ends: Ends, topic: str) -> None:
    a, b = ends
    flow, back = Flow(a, b, topics=(topic,)), Flow(b, a, topics=(topic,))
    for end in ends:
        make_topic(end, topic, 2)
    for each in (flow, back):
        make_topic(each.target, remote_topic(each, topic), 2)
        let_heartbeats_flow(each)
    copy(flow, topic, 2)
    produce(b, topic, 0)

    def fail_back(given: Flow, clients: MirrorClients) -> Coroutine[Any, Any, Any]:
        return complete(given, clients, wait_s=0)

    with pytest.raises(InvalidArgument, match=f"{back.name} has copied nothing yet"):
        with_clients(flow, fail_back)
    copy(back, topic, 1)  # partition 1 is still empty, and needs no position
    with_clients(flow, fail_back)
    produce(b, topic, 1)
    with pytest.raises(InvalidArgument, match=f"copied nothing of {topic}-1"):
        with_clients(flow, fail_back)
    copy(back, topic, 2)
    with_clients(flow, fail_back)


def test_a_failback_shows_progress_and_waits_for_a_flow_that_starts(ends: Ends, topic: str) -> None:
    a, b = ends
    flow, back = Flow(a, b, topics=(topic,)), Flow(b, a, topics=(topic,))
    for end in ends:
        make_topic(end, topic)
    for each in (flow, back):
        make_topic(each.target, remote_topic(each, topic))
    copy(flow, topic)
    produce(b, topic)
    shown: list[str] = []

    def show(text: str) -> None:
        shown.append(text)
        if len(shown) == 2:
            copying.start()

    copying = Thread(target=copy, args=(back, topic))
    with_clients(flow, lambda *given: complete(*given, wait_s=60, show=show))
    copying.join()
    assert len(shown) >= 2
    assert f"{back.name} has copied nothing of {topic}-0" in shown[0]


def test_planned_partitions_with_records_need_a_position(ends: Ends, topic: str) -> None:
    flow = Flow(*ends, topics=(f"{topic}.*",))
    for name in (topic, f"{topic}-excluded", f"{topic}-empty"):
        make_topic(flow.source, name)
    produce(flow.source, topic)
    produce(flow.source, f"{topic}-excluded")
    flow = replace(flow, exclude=(f"{topic}-excluded",))
    assert with_clients(flow, never_copied) == [TopicPartition(topic, 0)]
    make_topic(flow.target, remote_topic(flow, topic))
    copy(flow, topic)
    assert with_clients(flow, never_copied) == []
