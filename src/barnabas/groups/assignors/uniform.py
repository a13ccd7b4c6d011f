"""The uniform assignor: balance first, then as few moves as possible.

Topics with the same subscribers form a *pool*. The partitions of a pool are shared out like water
that is poured into a vessel: each subscriber gets them up to a common level, which counts what it
has of other pools. Whoever has more than that gives up the rest. If all members have the same
subscription, there is one pool, and the numbers of partitions differ by one at most. Otherwise the
pools are levelled one after the other until nothing changes; then no move of a single partition
would improve the balance.

Racks break ties: of the partitions that have to move anyway, or are new, a member gets those first
that have a replica in its rack. No partition moves for the sake of a rack.
"""

from bisect import bisect_right
from collections import defaultdict, deque
from itertools import accumulate

from barnabas.groups.modern.assignment import Partitions
from barnabas.groups.modern.assignor import GroupSpec, no_racks

_MAX_ROUNDS = 50
"""Every round improves the balance; this only limits the time that hostile subscriptions take."""

TopicPartition = tuple[bytes, int]


class UniformAssignor:
    name = "uniform"

    def assign(self, group: GroupSpec) -> dict[str, Partitions]:
        pools = _pools(group)
        load = dict.fromkeys(group.members, 0)
        for pool in pools:
            pool.keep_former(group, load)
        for _ in range(_MAX_ROUNDS):
            changes = [pool.level(load, group) for pool in pools]
            if len(pools) == 1 or not any(changes):
                break
        targets: dict[str, dict[bytes, set[int]]] = {each: {} for each in group.members}
        for pool in pools:
            for member_id, held in pool.held.items():
                target = targets[member_id]
                for topic_id, index in held:
                    target.setdefault(topic_id, set()).add(index)
        return {
            member_id: {topic_id: frozenset(indexes) for topic_id, indexes in target.items()}
            for member_id, target in targets.items()
        }


class _Pool:
    """Topics with the same subscribers, and who of them has which partition."""

    __slots__ = ("held", "topic_ids", "unassigned")

    def __init__(self, members: list[str], topic_ids: list[bytes]) -> None:
        self.topic_ids = topic_ids
        self.held: dict[str, list[TopicPartition]] = {member_id: [] for member_id in members}
        self.unassigned: list[TopicPartition] = []

    def keep_former(self, group: GroupSpec, load: dict[str, int]) -> None:
        """Begin with the former assignment, as far as it is still possible."""
        counts = group.partition_counts
        free = {topic_id: set(range(counts.get(topic_id, 0))) for topic_id in self.topic_ids}
        for member_id, held in self.held.items():
            for topic_id, indexes in group.members[member_id].target.items():
                left = free.get(topic_id)
                if left is not None:
                    kept = indexes & left
                    left -= kept
                    held += ((topic_id, index) for index in sorted(kept))
            load[member_id] += len(held)
        for topic_id in self.topic_ids:
            self.unassigned += ((topic_id, index) for index in sorted(free[topic_id]))

    def level(self, load: dict[str, int], group: GroupSpec) -> bool:
        """Share the pool's partitions out evenly; `load` is what each member has in all pools.

        Returns whether a partition has moved.
        """
        quotas = self._quotas(load)
        released, self.unassigned = self.unassigned, []
        for member_id, held in self.held.items():
            quota = quotas[member_id]
            if len(held) > quota:
                released += held[quota:]
                load[member_id] -= len(held) - quota
                del held[quota:]
        if not released:
            return False
        if group.racks_of is not no_racks:
            released = self._share_out_by_rack(released, quotas, load, group)
        wanting = [each for each in self.held if len(self.held[each]) < quotas[each]]
        position = 0
        while wanting:
            # One each in turn, so that the partitions of a topic are spread.
            for member_id in wanting:
                self.held[member_id].append(released[position])
                load[member_id] += 1
                position += 1
            wanting = [each for each in wanting if len(self.held[each]) < quotas[each]]
        return True

    def _share_out_by_rack(
        self,
        released: list[TopicPartition],
        quotas: dict[str, int],
        load: dict[str, int],
        group: GroupSpec,
    ) -> list[TopicPartition]:
        """Give each member partitions of its rack, one each in turn; returns what is left."""
        in_rack: defaultdict[str, deque[TopicPartition]] = defaultdict(deque)
        for partition in released:
            for rack in group.racks_of(*partition):
                in_rack[rack].append(partition)
        left = dict.fromkeys(released)
        wanting = list(self.held)
        while wanting:
            still: list[str] = []
            for member_id in wanting:
                held = self.held[member_id]
                near = in_rack[group.members[member_id].rack_id or ""]
                while near and near[0] not in left:
                    near.popleft()
                if near and len(held) < quotas[member_id]:
                    partition = near.popleft()
                    del left[partition]
                    held.append(partition)
                    load[member_id] += 1
                    still.append(member_id)
            wanting = still
        return list(left)

    def _quotas(self, load: dict[str, int]) -> dict[str, int]:
        total = len(self.unassigned) + sum(map(len, self.held.values()))
        elsewhere = {each: load[each] - len(held) for each, held in self.held.items()}
        floors = sorted(elsewhere.values())
        sums = [0, *accumulate(floors)]
        # With the first `n` members the level is (total + what they have elsewhere) / n; find the
        # largest `n` whose members are all below it.
        n = bisect_right(
            range(1, len(floors) + 1),
            0,
            key=lambda n: 1 if floors[n - 1] * n > total + sums[n] else 0,
        )
        level = (total + sums[n]) // n
        quotas = {each: max(0, level - floor) for each, floor in elsewhere.items()}
        more = total - sum(quotas.values())
        if more:
            # Those who have more than the level already keep one more partition.
            below = [each for each, floor in elsewhere.items() if floor <= level]
            below.sort(key=lambda each: quotas[each] - len(self.held[each]))
            for member_id in below[:more]:
                quotas[member_id] += 1
        return quotas


def _pools(group: GroupSpec) -> list[_Pool]:
    """Those with the fewest subscribers first, since they have the least choice."""
    alike: dict[frozenset[bytes], list[str]] = {}
    for member_id in sorted(group.members):
        alike.setdefault(group.members[member_id].subscribed, []).append(member_id)
    subscriptions: defaultdict[bytes, list[int]] = defaultdict(list)
    for number, subscribed in enumerate(alike):
        for topic_id in subscribed:
            subscriptions[topic_id].append(number)
    topics: defaultdict[tuple[int, ...], list[bytes]] = defaultdict(list)
    for topic_id in sorted(subscriptions):
        topics[tuple(subscriptions[topic_id])].append(topic_id)
    members = list(alike.values())
    pools = [
        _Pool([each for number in numbers for each in members[number]], topic_ids)
        for numbers, topic_ids in topics.items()
    ]
    return sorted(pools, key=lambda pool: (len(pool.held), pool.topic_ids))
