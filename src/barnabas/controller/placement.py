"""Placement of replicas on brokers: on different racks, then hosts, and evenly.

Replicas are placed one by one on the best broker, considering all that are placed already. The
first replica is the preferred leader, so leaders are spread too, within the topic first and over
all topics second. Brokers that are not active come last, and are never preferred leaders. Before
them come brokers that are stuck (`broker_sessions`): their disk is full, most likely.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from itertools import chain

from barnabas.controller.decision import Refusal
from barnabas.metadata.image import BrokerImage, MetadataImage, PartitionImage
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.metadata_records import PartitionRecord

_READY, _STUCK, _INACTIVE = range(3)


def check_assignment(image: MetadataImage, replicas: list[int]) -> None:
    """Raise `Refusal` unless these brokers can be a partition's replicas."""
    if not replicas or len(set(replicas)) < len(replicas):
        raise Refusal(
            ErrorCode.INVALID_REPLICATION_ASSIGNMENT,
            f"invalid assignment {replicas}: give one or more brokers, each once",
        )
    unknown = [replica for replica in replicas if replica not in image.brokers]
    if unknown:
        raise Refusal(
            ErrorCode.INVALID_REPLICATION_ASSIGNMENT,
            f"brokers {unknown} of an assignment are not registered",
        )


def new_partition(
    image: MetadataImage,
    topic_id: bytes,
    index: int,
    replicas: list[int],
    stuck: Collection[int] = (),
) -> PartitionRecord:
    """A new partition: all active replicas are in sync, and the first of them leads, if possible
    none of those that are `stuck`: they would not know that they lead."""
    isr = [replica for replica in replicas if image.is_active(replica)]
    if not isr:
        raise Refusal(
            ErrorCode.INVALID_REPLICATION_ASSIGNMENT,
            f"none of brokers {replicas} is active, so none can lead the partition",
        )
    return PartitionRecord(
        partition_id=index,
        topic_id=topic_id,
        replicas=replicas,
        isr=isr,
        leader=min(isr, key=lambda replica: replica in stuck),
        leader_epoch=0,
        partition_epoch=0,
    )


def assigned_partitions(
    image: MetadataImage,
    topic_id: bytes,
    first: int,
    assignments: list[list[int]],
    replication_factor: int | None = None,
    stuck: Collection[int] = (),
) -> list[PartitionRecord]:
    """Partitions from `first` on, assigned manually, with the same number of replicas each."""
    factor = replication_factor or len(assignments[0])
    for replicas in assignments:
        check_assignment(image, replicas)
        if len(replicas) != factor:
            raise Refusal(
                ErrorCode.INVALID_REPLICATION_ASSIGNMENT,
                f"all partitions have {factor} replicas, but one is assigned {replicas}",
            )
    return [
        new_partition(image, topic_id, index, replicas, stuck)
        for index, replicas in enumerate(assignments, first)
    ]


def _rank(broker: BrokerImage, stuck: Collection[int]) -> int:
    if not broker.is_active:
        return _INACTIVE
    return _STUCK if broker.id in stuck else _READY


class Placement:
    """Places partitions one after the other, considering all existing partitions."""

    def __init__(
        self,
        image: MetadataImage,
        max_broker_partitions: int | None = None,
        stuck: Collection[int] = (),
    ) -> None:
        """No broker gets more replicas than `max_broker_partitions`; those that are `stuck` come
        after other active ones."""
        self.stuck = stuck
        self._max_per_broker = max_broker_partitions
        brokers = image.brokers.values()
        self._ranks = {broker.id: _rank(broker, stuck) for broker in brokers}
        self._racks = {broker.id: broker.rack for broker in brokers}
        self._hosts = {
            broker.id: broker.endpoints[0].host if broker.endpoints else str(broker.id)
            for broker in brokers
        }
        placed = [p.replicas for topic in image.topics.values() for p in topic.partitions]
        self._leaders = self._counts(replicas[0] for replicas in placed)
        self._replicas = self._counts(chain.from_iterable(placed))
        self._successors = {one: self._counts(()) for one in self._ranks}
        """How often each broker follows another one in a list of replicas."""
        self.begin_topic()

    @property
    def broker_count(self) -> int:
        return len(self._ranks)

    @property
    def active_count(self) -> int:
        return sum(rank != _INACTIVE for rank in self._ranks.values())

    def _counts(self, broker_ids: Iterable[int]) -> dict[int, int]:
        """How often each broker occurs; with zeros, because lookups in a Counter are slow."""
        return {**dict.fromkeys(self._ranks, 0), **Counter(broker_ids)}

    def begin_topic(self, partitions: Iterable[PartitionImage] = ()) -> None:
        """The next partitions belong to one topic, which has these partitions already."""
        placed = [partition.replicas for partition in partitions]
        self._topic_leaders = self._counts(replicas[0] for replicas in placed)
        self._topic_replicas = self._counts(chain.from_iterable(placed))

    def check(self, replication_factor: int, count: int) -> None:
        """Raise `Refusal` unless `count` partitions with so many replicas can be placed."""
        if not 1 <= replication_factor <= self.broker_count:
            raise Refusal(
                ErrorCode.INVALID_REPLICATION_FACTOR,
                f"replication factor {replication_factor} is not possible: "
                f"{self.broker_count} brokers are registered",
            )
        if not self.active_count:
            raise Refusal(
                ErrorCode.INVALID_REPLICATION_FACTOR, "no broker is there to lead the partitions"
            )
        if self._max_per_broker is not None:
            have = sum(self._replicas.values())
            if have + count * replication_factor > self.broker_count * self._max_per_broker:
                raise self._no_room(have, count * replication_factor)

    def check_room_for(self, assignments: list[list[int]]) -> None:
        """Raise `Refusal` unless the brokers have room for these replicas; then count them."""
        more = Counter(chain.from_iterable(assignments))
        for broker_id, count in more.items():
            have = self._replicas.get(broker_id, 0)
            if self._max_per_broker is not None and have + count > self._max_per_broker:
                raise self._no_room(have, count)
        for broker_id, count in more.items():
            self._replicas[broker_id] = self._replicas.get(broker_id, 0) + count

    def _no_room(self, have: int, more: int) -> Refusal:
        return Refusal(
            ErrorCode.POLICY_VIOLATION,
            f"the brokers have {have} replicas, {more} more are too many: max.broker.partitions "
            f"is {self._max_per_broker} for each broker; delete topics, add brokers or raise it",
        )

    def place(self, replication_factor: int) -> list[int]:
        """The replicas of one more partition, the preferred leader first."""
        left = set(self._ranks)
        leader = min(left, key=self._cost_as_leader)
        left.remove(leader)
        replicas = [leader]
        while len(replicas) < replication_factor:
            chosen = min(left, key=self._cost_with(replicas))
            left.remove(chosen)
            self._successors[replicas[-1]][chosen] += 1
            replicas.append(chosen)
        self._leaders[leader] += 1
        self._topic_leaders[leader] += 1
        for replica in replicas:
            self._replicas[replica] += 1
            self._topic_replicas[replica] += 1
        return replicas

    def _cost_as_leader(self, broker_id: int) -> tuple[int, ...]:
        """Sort key; the smallest is the best."""
        return (
            self._ranks[broker_id],
            self._topic_leaders[broker_id],
            self._leaders[broker_id],
            self._topic_replicas[broker_id],
            self._replicas[broker_id],
            broker_id,
        )

    def _cost_with(self, replicas: list[int]) -> Callable[[int], tuple[int, ...]]:
        """The same for one more replica in addition to these."""
        racks = [self._racks[replica] for replica in replicas]
        hosts = [self._hosts[replica] for replica in replicas]
        successors = self._successors[replicas[-1]]

        def cost(broker_id: int) -> tuple[int, ...]:
            return (
                self._ranks[broker_id],
                racks.count(self._racks[broker_id]),
                hosts.count(self._hosts[broker_id]),
                self._topic_replicas[broker_id],
                self._replicas[broker_id],
                successors[broker_id],
                broker_id,
            )

        return cost
