"""The assignor of share groups: every partition has a member, and every member a partition.

With more members than partitions, members share partitions, about equally many each. Members keep
what they have as far as that allows.
"""

from collections.abc import Mapping

from barnabas.groups.modern.assignment import Partitions
from barnabas.groups.modern.assignor import GroupSpec


class SimpleAssignor:
    name = "simple"

    def assign(self, group: GroupSpec) -> dict[str, Partitions]:
        return self.assign_partitions(
            group,
            {
                topic_id: frozenset(range(count))
                for topic_id, count in group.partition_counts.items()
            },
        )

    def assign_partitions(
        self, group: GroupSpec, assignable: Mapping[bytes, frozenset[int]]
    ) -> dict[str, Partitions]:
        """As `assign`, with these partitions of each topic only."""
        targets: dict[str, dict[bytes, frozenset[int]]] = {member: {} for member in group.members}
        for number, (topic_id, partitions) in enumerate(sorted(assignable.items())):
            members = sorted(
                member_id
                for member_id, member in group.members.items()
                if topic_id in member.subscribed
            )
            if members and partitions:
                # Each topic begins with another member, so that few partitions of many topics are
                # spread.
                turn = number % len(members)
                members = members[turn:] + members[:turn]
                had = {
                    member_id: group.members[member_id].target.get(topic_id, frozenset())
                    for member_id in members
                }
                for member_id, indexes in _share_out(members, partitions, had).items():
                    if indexes:
                        targets[member_id][topic_id] = frozenset(indexes)
        return dict(targets)


def _share_out(
    members: list[str], partitions: frozenset[int], had: Mapping[str, frozenset[int]]
) -> dict[str, set[int]]:
    """Each partition goes to at least one member, and each member gets at least one."""
    shares = max(len(members), len(partitions))
    per_member, larger_members = divmod(shares, len(members))
    per_partition, larger_partitions = divmod(shares, len(partitions))
    chosen: dict[str, set[int]] = {member_id: set() for member_id in members}
    readers = dict.fromkeys(sorted(partitions), 0)
    for member_id in members:
        own = chosen[member_id]
        for index in sorted(had[member_id] & partitions):
            is_larger_member = len(own) >= per_member
            is_larger_partition = readers[index] >= per_partition
            if (
                len(own) <= per_member
                and readers[index] <= per_partition
                and is_larger_member <= larger_members
                and is_larger_partition <= larger_partitions
            ):
                own.add(index)
                readers[index] += 1
                larger_members -= is_larger_member
                larger_partitions -= is_larger_partition
    for index in [index for index, count in readers.items() if not count]:
        member_id = min(members, key=lambda each: len(chosen[each]))
        chosen[member_id].add(index)
        readers[index] += 1
    for member_id in members:
        if not chosen[member_id]:
            index = min(readers, key=lambda each: readers[each])
            chosen[member_id].add(index)
            readers[index] += 1
    return chosen
