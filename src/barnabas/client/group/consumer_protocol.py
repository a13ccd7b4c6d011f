"""What members of a consumer group say to each other, in bytes that no coordinator looks into.

Both messages begin with their version as an int16.
"""

import struct
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TypeVar

from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.errors import ProtocolMismatch
from barnabas.wire.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
)
from barnabas.wire.messages.consumer_protocol import TopicPartition as AssignedTopic
from barnabas.wire.primitives import INT16, Reader, WireError, Writer

MessageT = TypeVar("MessageT", ConsumerProtocolSubscription, ConsumerProtocolAssignment)

_VERSION = 0  # later versions add what only cooperative and rack-aware assignors use


def encode_subscription(topics: Sequence[str]) -> bytes:
    """What a member wants."""
    return _encode(ConsumerProtocolSubscription(topics=sorted(topics)))


def decode_subscription(data: bytes) -> list[str]:
    """The topics a member wants."""
    return _decode(data, ConsumerProtocolSubscription).topics


def encode_assignment(partitions: Iterable[TopicPartition]) -> bytes:
    """What a member gets."""
    topics: defaultdict[str, list[int]] = defaultdict(list)
    for topic, partition in partitions:
        topics[topic].append(partition)
    assigned = [AssignedTopic(topic=name, partitions=each) for name, each in topics.items()]
    return _encode(ConsumerProtocolAssignment(assigned_partitions=assigned))


def decode_assignment(data: bytes) -> list[TopicPartition]:
    """The partitions a member got; none if the leader sent nothing."""
    if not data:
        return []
    return [
        TopicPartition(assigned.topic, partition)
        for assigned in _decode(data, ConsumerProtocolAssignment).assigned_partitions
        for partition in assigned.partitions
    ]


def _encode(message: ConsumerProtocolSubscription | ConsumerProtocolAssignment) -> bytes:
    w = Writer()
    w.buffer += INT16.pack(_VERSION)
    message.encode(w, _VERSION)
    return b"".join(w.chunks())


def _decode(data: bytes, message_type: type[MessageT]) -> MessageT:
    r = Reader(data)
    try:
        version = min(r.int16(), message_type.MAX_VERSION)
        return message_type.decode(r, version)
    except (WireError, struct.error, UnicodeDecodeError) as error:
        raise ProtocolMismatch(
            f"a group member sent no {message_type.__name__}: {error}"
        ) from error
