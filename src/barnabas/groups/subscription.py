"""Looking into the metadata that consumers send along with their joins.

To the coordinator a member's metadata is opaque, with one exception: which topics a group of
consumers is subscribed to decides whether their offsets may be deleted or expire, and whether a
restarted static member still wants the same.
"""

import struct

from barnabas.wire.messages.consumer_protocol import ConsumerProtocolSubscription
from barnabas.wire.primitives import Reader, WireError

CONSUMER_PROTOCOL_TYPE = "consumer"

_TOPICS_ARE_IN_VERSION = 0


def subscribed_topics(metadata: bytes) -> frozenset[str] | None:
    """The topics of a consumer's subscription; None when it can't be read.

    The metadata is an int16 version and a ConsumerProtocolSubscription. Every version begins with
    the fields of version 0, and some clients send a newer number without the newer fields, so it
    is read as version 0 whatever it says.
    """
    reader = Reader(metadata)
    try:
        if reader.int16() < 0:
            return None
        subscription = ConsumerProtocolSubscription.decode(reader, _TOPICS_ARE_IN_VERSION)
    except (WireError, struct.error, UnicodeDecodeError):
        return None
    return frozenset(subscription.topics)


def wants_the_same(protocol_type: str | None, before: bytes, now: bytes) -> bool:
    """Whether metadata `now` asks for what metadata `before` asked for.

    Consumers put what they own into their metadata, which a restarted one no longer knows, so
    theirs are compared by topics.
    """
    if before == now:
        return True
    if protocol_type != CONSUMER_PROTOCOL_TYPE:
        return False
    topics = subscribed_topics(now)
    return topics is not None and topics == subscribed_topics(before)
