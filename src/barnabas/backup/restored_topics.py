"""Topics of the target: made for the restore, and given their own settings when it is over.

Until then nothing may expire, be compacted, or get another timestamp.
"""

from barnabas.backup.manifest import TopicData
from barnabas.client.admin.configs import ResourceType, alter_configs, alter_what_is_known
from barnabas.client.admin.topics import create_topic
from barnabas.client.connect.cluster_client import ClusterClient

_FOREVER = str((1 << 63) - 1)
_MEANWHILE = {
    "cleanup.policy": "delete",
    "retention.ms": "-1",
    "retention.bytes": "-1",
    "message.timestamp.type": "CreateTime",
    "message.timestamp.before.max.ms": _FOREVER,
    "message.timestamp.after.max.ms": _FOREVER,
    "min.insync.replicas": "1",
}
_FROM_THE_BEGINNING = ("max.message.bytes",)
_MIN_IN_SYNC = "min.insync.replicas"


def replicas_of(topic: TopicData, wanted: int | None, brokers: int) -> int:
    """How many replicas a topic gets: as many as it had, if there are so many brokers."""
    return min(wanted or topic.replication_factor, brokers)


async def make_topic(
    cluster: ClusterClient, name: str, topic: TopicData, replication_factor: int
) -> None:
    """A topic to restore into."""
    settings = {
        **_MEANWHILE,
        **{key: topic.configs[key] for key in _FROM_THE_BEGINNING if key in topic.configs},
    }
    await create_topic(
        cluster,
        name,
        partitions=len(topic.partitions),
        replication_factor=replication_factor,
        configs=settings,
    )


async def finish_topic(
    cluster: ClusterClient, name: str, topic: TopicData, replication_factor: int
) -> list[str]:
    """Give a topic the settings that it had; returns what the target does not take."""
    wanted = dict(topic.configs)
    problems = []
    if int(wanted.get(_MIN_IN_SYNC, "1")) > replication_factor:
        problems.append(
            f"topic {name}: {_MIN_IN_SYNC}={wanted.pop(_MIN_IN_SYNC)} is left out, because it has "
            f"only {replication_factor} replicas here"
        )
    refused = await alter_what_is_known(cluster, ResourceType.TOPIC, name, wanted)
    problems += [
        f"topic {name}: {key}={wanted[key]} is left out: {why}" for key, why in refused.items()
    ]
    unset = [key for key in _MEANWHILE if key not in wanted or key in refused]
    await alter_configs(cluster, ResourceType.TOPIC, name, deletions=unset)
    return problems
