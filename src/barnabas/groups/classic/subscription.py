"""The subscription in the metadata that consumers send when they join.

A member's metadata is opaque to the coordinator, with one exception: the topics that a group of
consumers is subscribed to decide whether their offsets may be deleted or expire, and whether the
subscription of a restarted static member is unchanged.
"""

import struct

from barnabas.wire.messages.consumer_protocol import ConsumerProtocolSubscription
from barnabas.wire.primitives import Reader, WireError

CONSUMER_PROTOCOL_TYPE = "consumer"

_TOPICS_ARE_IN_VERSION = 0


def subscribed_topics(metadata: bytes) -> frozenset[str] | None:
    """The topics of a consumer's subscription; None if it can't be decoded.

    The metadata is an int16 version and a ConsumerProtocolSubscription. Every version begins with
    the fields of version 0, and some clients send a newer number without the newer fields, so it
    is read as version 0 whatever the number.
    """
    reader = Reader(metadata)
    try:
        if reader.int16() < 0:
            return None
        subscription = ConsumerProtocolSubscription.decode(reader, _TOPICS_ARE_IN_VERSION)
    except (WireError, struct.error, UnicodeDecodeError):
        return None
    return frozenset(subscription.topics)


def is_same_subscription(protocol_type: str | None, before: bytes, now: bytes) -> bool:
    """Whether metadata `now` means the same subscription as metadata `before`.

    Metadata of consumers includes the partitions that they own, which a restarted one no longer
    knows, so it is compared by topics.
    """
    if before == now:
        return True
    if protocol_type != CONSUMER_PROTOCOL_TYPE:
        return False
    topics = subscribed_topics(now)
    return topics is not None and topics == subscribed_topics(before)
