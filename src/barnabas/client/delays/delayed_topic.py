"""The companion topic in which records wait for a topic: TOPIC.delayed, a partition a level.

Its records are kept until they were moved, and deleted then: by a mover, not by their age.
"""

from barnabas.client.admin.companion_topic import ensure_companion
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicMetadata
from barnabas.client.delays.levels import LEVELS_S
from barnabas.errors import InvalidArgument

_SUFFIX = ".delayed"
_OWN = {
    "cleanup.policy": "delete",
    "retention.ms": "-1",
    "retention.bytes": "-1",
    "message.timestamp.type": "CreateTime",
    "segment.bytes": str(16 * 1024 * 1024),  # what was moved is deleted by whole segments
}


def delayed_topic(topic: str) -> str:
    """The topic in which records wait; also the name of the group that moves them."""
    return topic + _SUFFIX


def check_levels(found: TopicMetadata) -> None:
    """Raise if the topic can't be what it is taken for."""
    count = len(found.partitions)
    if count < len(LEVELS_S):
        raise InvalidArgument(
            f"topic {found.name} has {count} of the {len(LEVELS_S)} partitions that delays need: "
            f"delete it and let a queue create it, or barnabas topics alter {found.name} "
            f"--partitions {len(LEVELS_S)}"
        )


async def ensure_delayed_topic(cluster: ClusterClient, topic: str) -> None:
    """Create the companion of a topic, unless it exists."""
    found = await ensure_companion(
        cluster,
        topic,
        delayed_topic(topic),
        partitions=lambda _: len(LEVELS_S),
        configs=_OWN,
        needs="write",
    )
    if found is not None:
        check_levels(found)
