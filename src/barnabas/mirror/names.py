"""Names of topics in the target, and loops among them, as Mirror Maker's replication policies say.

Pure functions of names. With prefixes, a topic says where it comes from: `B.A.orders` is the topic
`orders` of cluster A, which came by way of B.
"""

from barnabas.mirror.flow import Flow, Names

HEARTBEATS = "heartbeats"
"""The topic of Mirror Maker's heartbeats, which flows even where names are kept."""


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
    if flow.names is Names.IDENTITY and not topic.endswith(HEARTBEATS):
        return False  # records say so themselves: see `provenance`
    return flow.target.name in clusters_of(flow, topic)
