"""Which partitions are read: of named topics, of those that match a pattern, or single ones."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from barnabas.client.connect.broker_errors import check
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicMetadata, TopicPartition
from barnabas.wire.errors import ErrorCode

_MISSING = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID)


@dataclass(frozen=True)
class Named:
    """`subscribe`: all partitions of these topics."""

    topics: tuple[str, ...]


@dataclass(frozen=True)
class Pattern:
    """`subscribePattern`: all partitions of the topics whose whole name matches."""

    pattern: str


@dataclass(frozen=True)
class Assigned:
    """`assign`: these partitions."""

    partitions: tuple[TopicPartition, ...]


Subscription = Named | Pattern | Assigned


async def partitions_of(
    cluster: ClusterClient, subscription: Subscription, *, missing_ok: bool = False
) -> dict[TopicPartition, bytes]:
    """The partitions there are now, each with the id of its topic (`ZERO_UUID`: it has none).

    Topics that do not exist are an error or left out.
    """

    async def attempt() -> dict[TopicPartition, bytes]:
        topics = await cluster.refresh(_asked(subscription))
        return _chosen(subscription, topics, missing_ok)

    return await cluster.retrying(attempt)


def _chosen(
    subscription: Subscription, topics: dict[str, TopicMetadata], missing_ok: bool
) -> dict[TopicPartition, bytes]:
    match subscription:
        case Pattern(pattern):
            matches = re.compile(pattern).fullmatch
            return _partitions(
                topic
                for name, topic in topics.items()
                if matches(name) and not topic.is_internal and not topic.error_code
            )
        case Named(names):
            return _partitions(_existing([topics[name] for name in names], missing_ok))
        case Assigned(partitions):
            named = [topics[name] for name in {each.topic for each in partitions}]
            existing = _partitions(_existing(named, missing_ok))
            for each in partitions:
                if each not in existing and not missing_ok:
                    check(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"partition {each}")
            return {each: existing[each] for each in partitions if each in existing}


def _asked(subscription: Subscription) -> list[str] | None:
    match subscription:
        case Pattern():
            return None
        case Named(names):
            return list(names)
        case Assigned(partitions):
            return list({each.topic for each in partitions})


def _existing(topics: list[TopicMetadata], missing_ok: bool) -> list[TopicMetadata]:
    for topic in topics:
        if topic.error_code and not (missing_ok and topic.error_code in _MISSING):
            check(topic.error_code, f"topic {topic.name}", needs="describe")
    return topics


def _partitions(topics: Iterable[TopicMetadata]) -> dict[TopicPartition, bytes]:
    return {
        TopicPartition(topic.name, each.partition): topic.topic_id
        for topic in topics
        for each in topic.partitions
    }
