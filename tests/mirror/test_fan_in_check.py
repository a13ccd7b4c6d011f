"""Two sources do not write one topic unless their records can be told apart."""

import asyncio
from dataclasses import replace

import pytest

from barnabas.errors import InvalidArgument
from barnabas.mirror.fan_in_check import check_fan_in
from barnabas.mirror.flow import ClusterEnd, Flow, Names
from tests.mirror.copies import copy, make_topic

Ends = tuple[ClusterEnd, ClusterEnd]


def check(flow: Flow) -> None:
    async def run() -> None:
        async with flow.source.client() as source, flow.target.client() as target:
            await check_fan_in(source, target, flow)

    asyncio.run(run())


def test_a_topic_that_another_flow_writes_is_refused(ends: Ends, topic: str) -> None:
    a, b = ends
    for each in ends:
        make_topic(each, topic)
    first = Flow(a, b, topics=(f"{topic}.*",), names=Names.IDENTITY)
    copy(first, topic)
    other = replace(first, source=replace(a, name=f"C{a.name}"))
    with pytest.raises(InvalidArgument, match=f"{topic} of {b.name} is written by the flow"):
        check(other)
    check(first)
    check(replace(other, provenance=True))
    check(replace(other, names=Names.PREFIX))
    check(replace(other, exclude=(topic,)))
