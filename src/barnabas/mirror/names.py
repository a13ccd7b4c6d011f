"""Names of topics in the target, and loops among them, as Mirror Maker's replication policies say.

Pure functions of names. With prefixes, a topic says where it comes from: `B.A.orders` is the topic
`orders` of cluster A, which came by way of B.
"""

from barnabas.mirror.flow import Flow, Names
from barnabas.mirror.formats.internal_topics import checkpoints_topic, offset_syncs_topic

HEARTBEATS = "heartbeats"
"""The topic of Mirror Maker's heartbeats, which gets a prefix even where names are kept."""


def is_heartbeats(flow: Flow, topic: str) -> bool:
    """Whether a source's topic has heartbeats, its own or those of clusters before it.

    Prefixes have to be names of clusters: `devices.heartbeats` is a topic like any other.
    """
    *passed, name = topic.split(flow.separator)
    known = {flow.source.name, flow.target.name, *flow.clusters}
    return name == HEARTBEATS and known.issuperset(passed)


def remote_topic(flow: Flow, topic: str) -> str:
    """The name of a source's topic in the target."""
    if flow.names is Names.IDENTITY and topic != HEARTBEATS:
        return topic
    return f"{flow.source.name}{flow.separator}{topic}"


def upstream_topic(flow: Flow, topic: str) -> str | None:
    """The name in the source of a target's topic; None if it is none of this flow."""
    prefix = f"{flow.source.name}{flow.separator}"
    if flow.names is Names.IDENTITY and topic != f"{prefix}{HEARTBEATS}":
        return topic
    return topic.removeprefix(prefix) if topic.startswith(prefix) else None


def clusters_of(flow: Flow, topic: str) -> list[str]:
    """The clusters that a name says a topic has passed, the last one first.

    Of `B.A.orders` these are B and A. A topic whose own name has a separator seems to have passed a
    cluster as well, which does no harm unless that is the target's name.
    """
    return topic.split(flow.separator)[:-1]


def is_loop(flow: Flow, topic: str) -> bool:
    """Whether a source's topic comes from the target, and must not go back."""
    if flow.names is Names.IDENTITY and not is_heartbeats(flow, topic):
        return False  # records say so themselves: see `provenance`
    return flow.target.name in clusters_of(flow, topic)


def syncs_topic_of(flow: Flow) -> str:
    """The topic of the target that has a flow's offset syncs."""
    return offset_syncs_topic(flow.source.name, flow.internal_separator)


def checkpoints_topic_of(flow: Flow) -> str:
    """The topic of the target that has checkpoints of the source's groups."""
    return checkpoints_topic(flow.source.name, flow.internal_separator)
