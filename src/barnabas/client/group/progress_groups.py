"""Groups that have no members and record the progress of a tool: known by their names.

They look unused, because no application consumes with them. But a tool whose progress is deleted
does its work again.
"""

from barnabas.coordination.mirror_groups import MIRROR_PREFIX, is_of_mirror

REPLAY_SUFFIX = ".replay"


def purpose_of(group_id: str) -> str | None:
    """What a group records, and what comes of its deletion; None of a group of consumers."""
    if is_of_mirror(group_id):
        flow = group_id.removeprefix(MIRROR_PREFIX)
        return f"it records how far mirror {flow} is: without it, records are copied again"
    if group_id.endswith(REPLAY_SUFFIX):
        letters = group_id.removesuffix(REPLAY_SUFFIX)
        return (
            f"it records which dead letters of {letters} were sent back: without it, the next "
            "replay sends them again"
        )
    return None
