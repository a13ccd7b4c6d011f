"""The subscriptions and assignments of consumers of the classic protocol.

The coordinator passes them on without a look, unless the group is migrated. Both are an int16
version and a message. Every version begins with the fields of older ones, so a newer one is read
as the newest that is known.
"""

import struct
from collections.abc import Mapping

from barnabas.groups.modern.assignment import Partitions
from barnabas.groups.modern.topics import Topics
from barnabas.wire.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    TopicPartition,
)
from barnabas.wire.primitives import INT16, Reader, WireError, Writer

_WELL_KNOWN = ("range", "roundrobin", "sticky", "cooperative-sticky")

_MALFORMED = (WireError, struct.error, UnicodeDecodeError)


class MalformedMetadata(Exception):  # noqa: N818 - says what the bytes are
    """Not a consumer's metadata or assignment, or one that means more than partitions."""


def read_subscription(metadata: bytes) -> ConsumerProtocolSubscription:
    """Raises `MalformedMetadata`."""
    reader = Reader(metadata)
    try:
        version = min(reader.int16(), ConsumerProtocolSubscription.MAX_VERSION)
        if version < 0:
            raise MalformedMetadata(f"version {version}")
        return ConsumerProtocolSubscription.decode(reader, version)
    except _MALFORMED as error:
        raise MalformedMetadata(str(error)) from error


def owned_partitions(subscription: ConsumerProtocolSubscription, topics: Topics) -> Partitions:
    """What a member says it owns; nothing if it gives up everything before it joins."""
    return _by_id(
        ((each.topic, each.partitions) for each in subscription.owned_partitions or ()), topics
    )


def read_assignment(assignment: bytes, protocol_name: str | None, topics: Topics) -> Partitions:
    """Raises `MalformedMetadata`, also if a custom assignor has added data of its own.

    Sticky assignors of librdkafka add what the member owned before, which may be lost.
    """
    if not assignment:
        return {}
    reader = Reader(assignment)
    try:
        version = min(reader.int16(), ConsumerProtocolAssignment.MAX_VERSION)
        if version < 0:
            raise MalformedMetadata(f"version {version}")
        decoded = ConsumerProtocolAssignment.decode(reader, version)
    except _MALFORMED as error:
        raise MalformedMetadata(str(error)) from error
    if decoded.user_data and protocol_name not in _WELL_KNOWN:
        raise MalformedMetadata("the data of a custom assignor would be lost")
    return _by_id(((each.topic, each.partitions) for each in decoded.assigned_partitions), topics)


def write_assignment(
    partitions: Mapping[bytes, Mapping[int, int] | frozenset[int]], topics: Topics, metadata: bytes
) -> bytes:
    """An assignment in the version of the member's `metadata`; deleted topics are left out."""
    version = int.from_bytes(metadata[:2], signed=True) if len(metadata) >= 2 else 0
    version = max(0, min(version, ConsumerProtocolAssignment.MAX_VERSION))
    named = [
        TopicPartition(topic.name, sorted(indexes))
        for topic_id, indexes in partitions.items()
        if (topic := topics.by_id(topic_id)) is not None
    ]
    writer = Writer()
    writer.buffer += INT16.pack(version)
    ConsumerProtocolAssignment(sorted(named, key=lambda each: each.topic)).encode(writer, version)
    return writer.getvalue()


def _by_id(named, topics: Topics) -> Partitions:  # type: ignore[no-untyped-def]
    found: dict[bytes, frozenset[int]] = {}
    for name, indexes in named:
        topic = topics.by_name(name)
        if topic is not None and indexes:
            found[topic.topic_id] = found.get(topic.topic_id, frozenset()) | frozenset(indexes)
    return found
