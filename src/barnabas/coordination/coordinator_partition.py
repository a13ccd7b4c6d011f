"""Which partition of a coordinator's topic, and so which broker, coordinates a key.

A key is a group id or a transactional id.
"""

_SIGN_BIT = 0x80000000


def partition_of(key: str, partitions: int) -> int:
    """Kafka's choice: the absolute value of Java's hash of the string, modulo the partitions.

    Java hashes UTF-16 code units into a signed int; the smallest one, which has no absolute
    value, counts as zero. Kafka's tools compute the same partition.
    """
    units = key.encode("utf-16-be")
    value = 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        value = (31 * value + (high << 8 | low)) & 0xFFFFFFFF
    if value & _SIGN_BIT:
        value = -value & (_SIGN_BIT - 1)
    return value % partitions
