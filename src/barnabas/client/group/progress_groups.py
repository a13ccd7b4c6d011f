"""Groups that have no members and record the progress of a tool: known by their names.

They look unused, because no application consumes with them. But a tool whose progress is deleted
does its work again.

Those of a mirror hold no offsets of the partitions that they are committed for, so they have no
lag: the positions of flow A->B are offsets of A, committed in B. See `mirror/positions.py`.
"""

REPLAY_SUFFIX = ".replay"
MIRROR_PREFIX = "barnabas-mirror."
FAILOVER_SUFFIX = ".failover"
"""Of the one group of a mirror with offsets of its own cluster: where that ended at a failover."""


def purpose_of(group_id: str) -> str | None:
    """What a group records, and what comes of its deletion; None of a group of consumers."""
    if group_id.startswith(MIRROR_PREFIX):
        flow = group_id.removeprefix(MIRROR_PREFIX)
        return f"it records how far mirror {flow} is: without it, records are copied again"
    if group_id.endswith(REPLAY_SUFFIX):
        letters = group_id.removesuffix(REPLAY_SUFFIX)
        return (
            f"it records which dead letters of {letters} were sent back: without it, the next "
            "replay sends them again"
        )
    return None


def is_of_mirror(group_id: str) -> bool:
    """Whether a mirror records its progress there: then it has no lag."""
    return group_id.startswith(MIRROR_PREFIX)


def has_foreign_offsets(group_id: str) -> bool:
    """Whether the numbers that are committed are no offsets of the partitions they belong to.

    They are offsets of a mirror's source, times or counts, and mean the same in any cluster.
    """
    return is_of_mirror(group_id) and not group_id.endswith(FAILOVER_SUFFIX)
