"""Which partition of `__consumer_offsets`, and so which broker, looks after a group."""


def partition_of_group(group_id: str, partitions: int) -> int:
    """Kafka's choice: Java's hash of the string without its sign bit, modulo the partitions.

    Java hashes UTF-16 code units; anything else would send tools that know the rule elsewhere.
    """
    units = group_id.encode("utf-16-be")
    value = 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        value = (31 * value + (high << 8 | low)) & 0xFFFFFFFF
    return (value & 0x7FFFFFFF) % partitions
