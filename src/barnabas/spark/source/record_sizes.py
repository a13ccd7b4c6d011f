"""About how many bytes a record of each partition takes in its log (`maxBytesPerTrigger`)."""

from barnabas.client.admin.topics import log_sizes
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.spark.source import log_offsets
from barnabas.spark.source.positions import Offsets


async def record_sizes(cluster: ClusterClient, ends: Offsets) -> dict[TopicPartition, float]:
    """The average size of a record in each log that ends at `ends`, as stored, so compressed.

    Brokers tell the size of a log, not of a part of it: where records of one partition differ much
    over time, a micro-batch is larger or smaller than was asked for.
    """
    firsts = await log_offsets.earliest(cluster, ends)
    sizes = await log_sizes(cluster, ends)
    return {each: size / max(ends[each] - firsts[each], 1) for each, size in sizes.items()}
