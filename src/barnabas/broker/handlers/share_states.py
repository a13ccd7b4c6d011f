"""What the handlers of the share coordinator share: each share partition has its own shard."""

from asyncio import gather
from collections import defaultdict
from collections.abc import Callable
from typing import Any, Protocol

from barnabas.broker.coordinator.share_coordinator import ShareCoordinator
from barnabas.broker.coordinator.share_coordinator_shard import ShareCoordinatorShard
from barnabas.share.state import SharePartitionKey, ShareStateDecision, coordinator_key
from barnabas.wire.errors import ErrorCode


class Needs(Protocol):
    """What these handlers ask of the node."""

    share_coordinator: ShareCoordinator


async def decided_by_shards(
    node: Needs,
    request: Any,
    decide: Callable[[ShareCoordinatorShard, Any, object], ShareStateDecision],
    failed: Callable[[int, ErrorCode], Any],
    result_type: Callable[[bytes, list[Any]], Any],
) -> Any:
    """Have each shard decide on its part of the request, and put the results together.

    `failed` makes the result of a share partition that can't be served here, `result_type` that of
    a topic.
    """
    parts: dict[ShareCoordinatorShard, Any] = {}
    results: defaultdict[bytes, list[Any]] = defaultdict(list)
    for topic in request.topics:
        for asked in topic.partitions:
            key = SharePartitionKey(request.group_id, topic.topic_id, asked.partition)
            shard = node.share_coordinator.find(coordinator_key(key))
            if isinstance(shard, ErrorCode):
                results[topic.topic_id].append(failed(asked.partition, shard))
            else:
                part = parts.setdefault(shard, type(request)(request.group_id))
                if not part.topics or part.topics[-1].topic_id != topic.topic_id:
                    part.topics.append(type(topic)(topic.topic_id))
                part.topics[-1].partitions.append(asked)
    answers = [_decided(shard, part, decide) for shard, part in parts.items()]
    for response in await gather(*answers):
        for answered in response.results:
            results[answered.topic_id] += answered.partitions
    return request.RESPONSE([result_type(*each) for each in results.items()])


def _decided(
    shard: ShareCoordinatorShard,
    part: Any,
    decide: Callable[[ShareCoordinatorShard, Any, object], ShareStateDecision],
) -> Any:
    return shard.decide(lambda token: decide(shard, part, token))
