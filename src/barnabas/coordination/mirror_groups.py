"""The groups in which mirrors record their progress, by their names.

What they commit are no offsets of the partitions that it is committed for, so they have no lag. The
positions of flow A->B are offsets of A, committed in B: see `mirror/positions.py`.
"""

MIRROR_PREFIX = "barnabas-mirror."
FAILOVER_SUFFIX = ".failover"
"""Of the one group of a mirror with offsets of its own cluster: where that ended at a failover."""


def is_of_mirror(group_id: str) -> bool:
    """Whether a mirror records its progress there."""
    return group_id.startswith(MIRROR_PREFIX)


def has_foreign_offsets(group_id: str) -> bool:
    """Whether the numbers that are committed are no offsets of the partitions they belong to.

    They are offsets of a mirror's source, times or counts, and mean the same in any cluster.
    """
    return is_of_mirror(group_id) and not group_id.endswith(FAILOVER_SUFFIX)
