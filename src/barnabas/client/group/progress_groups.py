"""Groups that record the progress of a tool or of a service: known by their names.

They look unused, because no application consumes with them. But a tool whose progress is deleted
does its work again, and so do the workers of a queue that has delayed jobs.
"""

from barnabas.coordination.mirror_groups import MIRROR_PREFIX, is_of_mirror

REPLAY_SUFFIX = ".replay"
_DELAYED_SUFFIX = ".delayed"
_RETRY_SUFFIX = ".retry"
_OF_MIRROR = {
    "driver": "its warnings, which `mirror status` shows",
    "failover": "where the cluster ended at a failover: without it, failback copies from the "
    "beginning",
    "members": "which processes share its partitions",
    "stop": "that it was stopped by a failover",
}


def purpose_of(group_id: str) -> str | None:
    """What a group records, and what comes of its deletion; None of a group of consumers."""
    if is_of_mirror(group_id):
        flow, _, what = group_id.removeprefix(MIRROR_PREFIX).partition(".")
        if what in _OF_MIRROR:
            return f"mirror {flow} records there {_OF_MIRROR[what]}"
        return f"it records how far mirror {flow} is: without it, records are copied again"
    if group_id.endswith(REPLAY_SUFFIX):
        letters = group_id.removesuffix(REPLAY_SUFFIX)
        return (
            f"it records which dead letters of {letters} were sent back: without it, the next "
            "replay sends them again"
        )
    if group_id.endswith(_DELAYED_SUFFIX):
        topic = group_id.removesuffix(_DELAYED_SUFFIX)
        return (
            f"it records which delayed records of {topic} were moved there: without it, they are "
            "delivered again as long as they are stored"
        )
    if group_id.endswith(_RETRY_SUFFIX):
        group = group_id.removesuffix(_RETRY_SUFFIX)
        return (
            f"it records which records of the retry topics of {group} were handled: without it, "
            "they are handled again as long as they are stored"
        )
    return None


def waits_for(group_id: str) -> str | None:
    """Whose workers are the members of such a group; None if a tool runs now and then."""
    if group_id.endswith(_DELAYED_SUFFIX):
        return f"start the workers of {group_id.removesuffix(_DELAYED_SUFFIX)}, which move them"
    if group_id.endswith(_RETRY_SUFFIX):
        return f"start the application that handles as {group_id.removesuffix(_RETRY_SUFFIX)}"
    return None
