"""Topics of two clusters, brought in line; and flows that are refused."""

import asyncio

import pytest

import barnabas
from barnabas.errors import InvalidArgument
from barnabas.mirror.flow import ClusterEnd, Flow, Names
from barnabas.mirror.loop_check import check_loops
from barnabas.mirror.topic_plan import TopicPlan
from barnabas.mirror.topic_sync import sync_topics
from tests.mirror.copies import copy, make_topic

Ends = tuple[ClusterEnd, ClusterEnd]


def sync(flow: Flow, before: dict[str, str] | None = None) -> TopicPlan:
    async def run() -> TopicPlan:
        async with flow.source.client() as source, flow.target.client() as target:
            return await sync_topics(source, target, flow, before or {})

    return asyncio.run(run())


def test_topics_are_created_and_followed(ends: Ends, topic: str) -> None:
    a, b = ends
    # Other tests of the two clusters may have written heartbeats, which would flow too.
    flow = Flow(a, b, topics=(topic,), sync_deletes=True, replicate_heartbeats=False)
    there = f"{a.name}.{topic}"
    make_topic(a, topic, 2, retention_ms="60000")
    with (
        barnabas.Admin(a.bootstrap_servers) as source,
        barnabas.Admin(b.bootstrap_servers) as admin,
    ):
        assert sync(flow).flowing == {topic: there}
        assert len(admin.describe_topic(there).partitions) == 2
        assert admin.configs(topic=there)["retention.ms"].value == "60000"
        source.add_partitions(topic, 3)
        source.set_configs({"retention.ms": 70000}, topic=topic)
        sync(flow)
        assert len(admin.describe_topic(there).partitions) == 3
        assert admin.configs(topic=there)["retention.ms"].value == "70000"
        assert sync(flow).alter == {}
        source.delete_topic(topic)
        assert sync(flow, {topic: there}).delete == [there]
        assert there not in admin.topics()


def test_a_flow_back_without_provenance_is_refused(ends: Ends, topic: str) -> None:
    a, b = ends
    for each in ends:
        make_topic(each, topic)
    there = Flow(a, b, topics=(topic,), names=Names.IDENTITY)
    copy(there, topic)

    async def check(flow: Flow) -> None:
        async with flow.source.client() as source, flow.target.client() as target:
            await check_loops(source, target, flow)

    with pytest.raises(InvalidArgument, match="copied in a loop"):
        asyncio.run(check(Flow(b, a, topics=(topic,), names=Names.IDENTITY)))
    asyncio.run(check(Flow(b, a, topics=(topic,), names=Names.IDENTITY, provenance=True)))
    asyncio.run(check(there))
