"""The companion topic of results: TOPIC.results. What is in it expires after a day.

Its timestamps are those of the brokers, so a worker's clock has nothing to say about when a result
expires.
"""

from barnabas.client.admin.companion_topic import ensure_companion
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.results.job_ids import SUFFIX

_PARTITIONS = 12  # at most: a client looks for ids of one of them
_OWN = {
    "cleanup.policy": "delete",
    "retention.ms": str(24 * 60 * 60 * 1000),
    "segment.ms": str(60 * 60 * 1000),  # only whole segments expire
    "message.timestamp.type": "LogAppendTime",
}


def results_topic(topic: str) -> str:
    """Where the results of the jobs in a topic are."""
    return topic + SUFFIX


async def ensure_results_topic(cluster: ClusterClient, topic: str) -> int:
    """Create it, unless it exists; the number of its partitions."""
    name = results_topic(topic)
    found = await ensure_companion(
        cluster,
        topic,
        name,
        partitions=lambda source: min(len(source.partitions), _PARTITIONS),
        configs=_OWN,
        needs="read",
    )
    if found is None:
        found = await cluster.topic(name, auto_create=True)  # which waits until it is known
    return len(found.partitions)
