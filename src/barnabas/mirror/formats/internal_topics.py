"""Names and settings of Mirror Maker 2's own topics.

All three are in the target cluster, where Mirror Maker 2 expects them with
`offset-syncs.topic.location=target`; a mirror needs no right to write to its source.
"""

HEARTBEATS_TOPIC = "heartbeats"
INTERNAL_TOPIC_CONFIGS = {"cleanup.policy": "compact"}


def offset_syncs_topic(source: str) -> str:
    """Which offsets of the source's records have which offsets here."""
    return f"mm2-offset-syncs.{source}.internal"


def checkpoints_topic(source: str, separator: str = ".") -> str:
    """How far the source's groups are, as offsets of this cluster."""
    return f"{source}{separator}checkpoints.internal"
