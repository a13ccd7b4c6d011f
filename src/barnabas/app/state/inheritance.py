"""Which partitions a member of a group would get if one of the others left."""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.group.assignors import ASSIGNORS


class GroupView(NamedTuple):
    """A group as its coordinator tells it.

    `members` with what they read; `assignor` is the name of the protocol that they have agreed on;
    `partitions` is how many there are of each topic that they read.
    """

    members: Mapping[str, Sequence[TopicPartition]]
    assignor: str
    partitions: Mapping[str, int]
    is_stable: bool


def inheritable(view: GroupView, topic: str, member_id: str) -> set[int]:
    """Those of a topic, without the ones that it has.

    All that others have, if it is not known how the group assigns partitions.
    """
    own = set(view.members.get(member_id, ()))
    everything = set(range(view.partitions.get(topic, 0)))
    mine = {each.partition for each in own if each.topic == topic}
    if member_id not in view.members or len(view.members) == 1:
        return set()
    assignor = ASSIGNORS.get(view.assignor)
    if assignor is None:
        return everything - mine
    topics = sorted(view.partitions)
    found: set[int] = set()
    for leaving in view.members.keys() - {member_id}:
        left = {
            each: _subscribed(has, topics) for each, has in view.members.items() if each != leaving
        }
        assigned = assignor(left, view.partitions)[member_id]
        found |= {each.partition for each in assigned if each.topic == topic}
    return found - mine


def _subscribed(has: Collection[TopicPartition], topics: list[str]) -> list[str]:
    """A member without partitions may have subscribed to any of them."""
    return sorted({each.topic for each in has}) or topics
