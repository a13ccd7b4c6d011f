"""The assignor of share groups: every partition has two members, and every member a partition.

With two members, a partition is read on when one of them is killed, while the coordinator still
waits for its session to end. (Kafka's assignor of this name gives a partition to one member as long
as there are no more members than partitions.) A single member has everything. With more than two
members for each partition, partitions have more members, about equally many each. Members keep what
they have as far as that allows.
"""

from collections.abc import Mapping
from heapq import heapify, heappop, heappush

from barnabas.groups.modern.assignment import Partitions
from barnabas.groups.modern.assignor import GroupSpec

_READERS = 2
"""Members of a partition, where there are as many."""


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
    """Each partition goes to at least two members, and each member gets at least one."""
    at_least = min(_READERS, len(members))
    shares = max(len(members), at_least * len(partitions))
    chosen, readers = _kept(members, partitions, had, shares)
    _give_to_readers(chosen, readers, at_least)
    _even_out(chosen)
    for own in chosen.values():
        if not own:
            index = min(readers, key=lambda each: readers[each])
            own.add(index)
            readers[index] += 1
    return chosen


def _kept(
    members: list[str],
    partitions: frozenset[int],
    had: Mapping[str, frozenset[int]],
    shares: int,
) -> tuple[dict[str, set[int]], dict[int, int]]:
    """What members keep, and how many keep each partition, so that no one has too many."""
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
    return chosen, readers


def _give_to_readers(chosen: dict[str, set[int]], readers: dict[int, int], at_least: int) -> None:
    """Give partitions with too few members to those that have the fewest partitions."""
    by_load = [(len(own), turn, member_id) for turn, (member_id, own) in enumerate(chosen.items())]
    heapify(by_load)
    for index, count in readers.items():
        have_it: list[tuple[int, int, str]] = []
        needed = at_least - count
        while needed > 0:
            load, turn, member_id = heappop(by_load)
            if index not in chosen[member_id]:
                chosen[member_id].add(index)
                needed -= 1
                load += 1
            have_it.append((load, turn, member_id))
        readers[index] = max(count, at_least)
        for each in have_it:
            heappush(by_load, each)


def _even_out(chosen: dict[str, set[int]]) -> None:
    """Move partitions from members with many: those with few may have had them already."""
    while True:
        most = max(chosen.values(), key=len)
        fewest = min(chosen.values(), key=len)
        if len(most) - len(fewest) <= 1:
            return
        index = min(most - fewest)
        most.remove(index)
        fewest.add(index)
