"""Beginning and deleting the states that share coordinators keep for a group.

The coordinator of the group has three steps to begin some: it notes that they are being begun, asks
the share coordinators, and notes that they have begun; only then partitions are assigned. All steps
can be repeated, so a successor goes on where this one ended.
"""

from collections.abc import Collection, Iterable, Mapping

from barnabas.coordination.decision import CoordinatorDecision
from barnabas.groups.modern.target import update_epoch
from barnabas.groups.modern.topics import existing
from barnabas.groups.share.group import ShareGroup
from barnabas.groups.share.state import NamedPartitions, StatePartitions, TopicStates

MAX_AT_ONCE = 1_000
"""States that are begun with one record."""

NO_TOPICS: TopicStates = {}


def missing(group: ShareGroup) -> TopicStates:
    """Partitions of subscribed topics that have no state yet."""
    found: dict[bytes, NamedPartitions] = {}
    count = 0
    states = group.pending.states
    for topic in existing(group.pending.subscribed_topics(), group.topics):
        known = states.indexes(topic.topic_id)
        if len(known) >= topic.partition_count:
            continue  # in most heartbeats
        indexes = frozenset(range(topic.partition_count)) - known
        if indexes:
            found[topic.topic_id] = NamedPartitions(topic.name, indexes)
            count += len(indexes)
            if count >= MAX_AT_ONCE:
                break
    return found


def begin(group: ShareGroup, topics: TopicStates, decision: CoordinatorDecision) -> None:
    """Note that these are being begun."""
    states = group.pending.states
    initializing = _joined(states.initializing, topics)
    if initializing != states.initializing:  # otherwise it is another attempt
        group.propose(
            decision,
            group.states_record(StatePartitions(initializing, states.initialized, states.deleting)),
        )


def began(group: ShareGroup, topics: TopicStates, decision: CoordinatorDecision) -> None:
    """These have a state now, and can be assigned."""
    states = group.pending.states
    group.propose(
        decision,
        group.states_record(
            StatePartitions(
                _without(states.initializing, topics),
                _joined(states.initialized, topics),
                states.deleting,
            )
        ),
    )
    if group.pending.members:
        update_epoch(group, decision, bump=True)


def deleted(group: ShareGroup, topic_ids: Collection[bytes], decision: CoordinatorDecision) -> None:
    """The states of these topics are deleted."""
    states = group.pending.states
    kept = StatePartitions(
        _but(states.initializing, topic_ids),
        _but(states.initialized, topic_ids),
        {each: name for each, name in states.deleting.items() if each not in topic_ids},
    )
    if kept != states:
        group.propose(decision, group.states_record(kept))


def forget_topics(
    group: ShareGroup,
    names: Collection[str],
    topic_ids: Collection[bytes] | None,
    decision: CoordinatorDecision,
) -> None:
    """Topics were deleted, and their states with them.

    The group may have states of a new topic of the same name already. Those of topics other than
    `topic_ids` stay; None means all.
    """
    gone = [
        topic_id
        for topic_id, (name, _) in known(group).items()
        if name in names and (topic_ids is None or topic_id in topic_ids)
    ]
    if gone:
        deleted(group, gone, decision)


def known(group: ShareGroup) -> TopicStates:
    """All partitions that have, or may have, a state."""
    states = group.pending.states
    return _joined(states.initializing, states.initialized)


def _joined(one: TopicStates, other: TopicStates) -> TopicStates:
    joined: dict[bytes, NamedPartitions] = dict(one)
    for topic_id, (name, indexes) in other.items():
        before = joined.get(topic_id)
        joined[topic_id] = NamedPartitions(
            name, indexes if before is None else before.indexes | indexes
        )
    return joined


def _without(one: TopicStates, other: TopicStates) -> TopicStates:
    rest: dict[bytes, NamedPartitions] = {}
    for topic_id, (name, indexes) in one.items():
        gone = other.get(topic_id)
        left = indexes if gone is None else indexes - gone.indexes
        if left:
            rest[topic_id] = NamedPartitions(name, left)
    return rest


def _but(
    topics: Mapping[bytes, NamedPartitions], topic_ids: Iterable[bytes]
) -> Mapping[bytes, NamedPartitions]:
    gone = frozenset(topic_ids)
    return {topic_id: each for topic_id, each in topics.items() if topic_id not in gone}
