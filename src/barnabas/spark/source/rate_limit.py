"""The end of a micro-batch with a limit (`maxOffsetsPerTrigger`, `maxBytesPerTrigger`)."""

from collections.abc import Mapping

from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.spark.source.positions import Offsets


def limited(starts: Offsets, ends: Offsets, max_records: int) -> Offsets:
    """Ends that take at most so many records in all, from each partition in proportion.

    At least one record is read, if there is any; the remainder of rounding goes to the partitions
    with the largest lag.
    """
    ahead = {each: max(ends[each] - starts[each], 0) for each in ends}
    total = sum(ahead.values())
    if total <= max_records:
        return ends
    shares = {each: max_records * count // total for each, count in ahead.items()}
    left = max_records - sum(shares.values())
    for each in sorted(ahead, key=lambda each: (shares[each] - ahead[each], each)):
        more = min(left, ahead[each] - shares[each], 1)
        shares[each] += more
        left -= more
    return {each: starts[each] + shares[each] if ahead[each] else ends[each] for each in ends}


def limited_by_bytes(
    starts: Offsets, ends: Offsets, record_bytes: Mapping[TopicPartition, float], max_bytes: int
) -> Offsets:
    """Ends that take about so many bytes in all, by the average size of each log's records.

    The same fraction of each partition is read, and at least one record in all.
    """
    ahead = {each: max(ends[each] - starts[each], 0) for each in ends}
    total = sum(count * record_bytes.get(each, 0.0) for each, count in ahead.items())
    if total <= max_bytes:
        return ends
    return limited(starts, ends, max(int(sum(ahead.values()) * max_bytes / total), 1))
