"""Names and settings of Mirror Maker 2's own topics.

All three are in the target cluster, where Mirror Maker 2 expects them with
`offset-syncs.topic.location=target`; a mirror needs no right to write to its source. The separator
is that of the replication policy, unless `replication.policy.internal.topic.separator.enabled` is
false: then it is a dot.
"""

HEARTBEATS_TOPIC = "heartbeats"
INTERNAL_TOPIC_CONFIGS = {"cleanup.policy": "compact"}


def offset_syncs_topic(source: str, separator: str = ".") -> str:
    """Which offsets of the source's records have which offsets here."""
    return f"mm2-offset-syncs{separator}{source}{separator}internal"


def checkpoints_topic(source: str, separator: str = ".") -> str:
    """How far the source's groups are, as offsets of this cluster."""
    return f"{source}{separator}checkpoints{separator}internal"


def is_internal_topic(topic: str, separator: str = ".") -> bool:
    """Whether a topic belongs to a mirror or to brokers, so that it is never copied."""
    return topic.startswith("__") or (
        topic.endswith(f"{separator}internal")
        and (
            topic.startswith(f"mm2-offset-syncs{separator}")
            or topic.endswith(f"{separator}checkpoints{separator}internal")
        )
    )
