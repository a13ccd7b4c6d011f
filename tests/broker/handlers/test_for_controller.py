"""Requests that the controller decides: many topics are created a few at a time."""

import asyncio
from types import SimpleNamespace
from typing import Any

from barnabas.broker.handlers import for_controller
from barnabas.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)


def test_the_longest_throttle_time_of_the_parts_is_passed_on() -> None:
    throttle_times_ms = [20, 70, 30]
    names = [f"t{number:03d}" for number in range(250)]

    async def call(request: CreateTopicsRequest, *, timeout_ms: int) -> CreateTopicsResponse:
        results = [CreatableTopicResult(topic.name) for topic in request.topics]
        return CreateTopicsResponse(throttle_times_ms.pop(0), results)

    node: Any = SimpleNamespace(
        calls=SimpleNamespace(call=call),
        config=SimpleNamespace(topic_creation=SimpleNamespace(num_partitions=1)),
    )
    request = CreateTopicsRequest([CreatableTopic(name, 1, 1) for name in names])
    response = asyncio.run(for_controller._create_in_batches(node, request, 1000))
    assert not throttle_times_ms
    assert [topic.name for topic in response.topics] == names
    assert response.throttle_time_ms == 70
