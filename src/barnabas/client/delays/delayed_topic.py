"""The companion topic in which records wait for a topic: TOPIC.delayed, a partition a level.

Its records are kept until they were moved, and deleted then: by a mover, not by their age.
"""

from contextlib import suppress

from barnabas.client.admin.configs import ResourceType, describe_configs
from barnabas.client.admin.topics import create_topic
from barnabas.client.connect.broker_errors import check
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicMetadata
from barnabas.client.delays.levels import LEVELS_S
from barnabas.errors import InvalidArgument, NotAuthorized, TopicExists
from barnabas.wire.errors import ErrorCode

_SUFFIX = ".delayed"
_OWN = {
    "cleanup.policy": "delete",
    "retention.ms": "-1",
    "retention.bytes": "-1",
    "message.timestamp.type": "CreateTime",
    "segment.bytes": str(16 * 1024 * 1024),  # what was moved is deleted by whole segments
}
_INHERITED = ("min.insync.replicas", "max.message.bytes")
"""As safe as the topic, and with room for what it has room for."""


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
    """Create the companion of a topic, unless it exists.

    A broker may create the topic itself first, as for any record that is sent.
    """
    name = delayed_topic(topic)
    source = await cluster.retrying(lambda: cluster.topic(topic, auto_create=True))
    found = await cluster.retrying(lambda: cluster.refresh([name]))
    if found[name].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        with suppress(TopicExists):  # another producer was faster
            await create_topic(
                cluster,
                name,
                partitions=len(LEVELS_S),
                replication_factor=min(len(each.replicas) for each in source.partitions),
                configs=_OWN | await _inherited(cluster, topic),
            )
        return
    check(found[name].error_code, f"topic {name}", needs="write")
    check_levels(found[name])


async def _inherited(cluster: ClusterClient, topic: str) -> dict[str, str]:
    refused: dict[str, NotAuthorized] = {}
    described = await describe_configs(
        cluster, ResourceType.TOPIC, [topic], keys=_INHERITED, refused=refused
    )
    return {
        each.name: each.value
        for each in described.get(topic, ())
        if each.is_own and each.value is not None
    }
