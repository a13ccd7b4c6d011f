"""The hash by which Kafka's clients choose a partition for a key: murmur2 with Java's seed."""

from barnabas.records.batch import Buffer
from barnabas.records.kernel import kernel

SEED = 0x9747B28C
M = 0x5BD1E995
_R = 24
_MASK = 0xFFFFFFFF


def plain_murmur2(data: Buffer) -> int:
    """The 32-bit hash of `data`, unsigned."""
    length = len(data)
    h = SEED ^ length
    whole = length & ~3
    for at in range(0, whole, 4):
        k = int.from_bytes(data[at : at + 4], "little") * M & _MASK
        k = (k ^ (k >> _R)) * M & _MASK
        h = (h * M & _MASK) ^ k
    if whole != length:
        h = (h ^ int.from_bytes(data[whole:], "little")) * M & _MASK
    h = (h ^ (h >> 13)) * M & _MASK
    return h ^ (h >> 15)


def plain_partition_for_key(key: Buffer, partition_count: int) -> int:
    """The partition of a key, the same as Java's default partitioner chooses."""
    if partition_count < 1:
        raise ValueError(f"{partition_count} partitions")
    return (plain_murmur2(key) & 0x7FFFFFFF) % partition_count


partition_for_key = plain_partition_for_key if kernel is None else kernel.partition_for_key
