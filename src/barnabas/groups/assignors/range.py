"""The range assignor: each member gets a range of the partitions of each topic.

Members are in a fixed order, static members by their instance id first. If they are subscribed to
the same topics, and these have equally many partitions, each member has the same partitions of
all of them, so records with the same key meet at the same member.
"""

from barnabas.groups.modern.assignment import Partitions
from barnabas.groups.modern.assignor import GroupSpec


class RangeAssignor:
    name = "range"

    def assign(self, group: GroupSpec) -> dict[str, Partitions]:
        in_order = sorted(
            group.members,
            key=lambda member_id: (
                (instance_id := group.members[member_id].instance_id) is None,
                instance_id or member_id,
                member_id,
            ),
        )
        subscribers: dict[bytes, list[str]] = {}
        for member_id in in_order:
            for topic_id in group.members[member_id].subscribed:
                subscribers.setdefault(topic_id, []).append(member_id)
        targets: dict[str, dict[bytes, frozenset[int]]] = {each: {} for each in group.members}
        for topic_id, members in subscribers.items():
            each, more = divmod(group.partition_counts.get(topic_id, 0), len(members))
            start = 0
            for position, member_id in enumerate(members):
                end = start + each + (position < more)
                if end > start:
                    targets[member_id][topic_id] = frozenset(range(start, end))
                start = end
        return dict(targets)
