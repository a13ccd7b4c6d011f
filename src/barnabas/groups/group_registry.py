"""The groups of a shard, with their deadlines and the memory they take."""

from collections.abc import Iterable, Iterator
from typing import TypeVar

from barnabas.coordination.deadline_queue import DeadlineQueue
from barnabas.coordination.decision import CoordinatorDecision, CoordinatorRecord
from barnabas.groups.classic.group import ClassicGroup
from barnabas.groups.config import GroupConfig
from barnabas.groups.consumer.group import ConsumerGroup
from barnabas.groups.group import Group
from barnabas.groups.group_type import GroupType
from barnabas.groups.image import GroupsImage
from barnabas.groups.memory import GroupMemory
from barnabas.groups.modern.group import ModernGroup
from barnabas.groups.modern.topics import Topics
from barnabas.groups.records import group_record
from barnabas.groups.share.group import ShareGroup

GroupT = TypeVar("GroupT", bound=Group)


class GroupRegistry:
    """Finds groups by id. A void group, without members and offsets, is not kept."""

    __slots__ = ("_by_id", "_deadlines", "_memory", "config", "image", "topics")

    def __init__(self, config: GroupConfig, memory: GroupMemory, topics: Topics) -> None:
        self.config = config
        self.topics = topics
        self._memory = memory
        self.image = GroupsImage()
        """What is persistent of the groups."""
        self._by_id: dict[str, Group] = {}
        self._deadlines = DeadlineQueue()

    def __iter__(self) -> Iterator[Group]:
        return iter(self._by_id.values())

    def get(self, group_id: str) -> Group | None:
        return self._by_id.get(group_id)

    def get_or_new(self, group_id: str) -> Group:
        """The group, or a new one, which `settle` registers unless it is void.

        A group whose image says nothing else is classic.
        """
        known = self._by_id.get(group_id)
        if known is not None:
            return known
        state = self.image[group_id].modern
        if state is not None and state.group_type is GroupType.CONSUMER:
            return self.new_consumer_group(group_id)
        if state is not None and state.group_type is GroupType.SHARE:
            return self.new_share_group(group_id)
        return self.new_classic_group(group_id)

    def new_classic_group(self, group_id: str) -> ClassicGroup:
        return ClassicGroup(group_id, self.config, self.image)

    def new_consumer_group(self, group_id: str) -> ConsumerGroup:
        in_flight = self._modern_in_flight(group_id)
        return ConsumerGroup(group_id, self.config, self.image, self.topics, in_flight)

    def new_share_group(self, group_id: str) -> ShareGroup:
        return ShareGroup(group_id, self.config, self.image, self.topics)

    def settle(self, group: Group) -> None:
        """A group may have changed: register it with its next deadline, or forget it."""
        group_id = group.group_id
        self.count(group)
        if group.is_void:
            self._by_id.pop(group_id, None)
            self._deadlines.forget(group_id)
            return
        self._by_id[group_id] = group
        deadline_ms = group.next_deadline_ms()
        if deadline_ms is not None:
            self._deadlines.set(group_id, deadline_ms)

    def count(self, group: Group) -> None:
        """Account for the memory that the group takes now."""
        size_bytes = 0 if group.is_void else group.size_bytes
        self._memory.used += size_bytes - group.counted_bytes
        group.counted_bytes = size_bytes

    def persisted(self, group_id: str, decision: CoordinatorDecision) -> Group:
        """Records of newer protocols are in the image; returns the group of that id."""
        group = self.get_or_new(group_id)
        for each in self._with_replaced(group):
            if isinstance(each, ModernGroup):
                each.persisted(decision)
            if each.replaced is not None and each.replaced[1] is decision:
                each.replaced = None
        if isinstance(group, ModernGroup) and not group.pending and not group.in_flight:
            # It is deleted; offsets that were committed since need no group of that kind.
            return self.take_over(group, self.new_classic_group(group_id))
        return group

    def failed(self, group_id: str, decision: CoordinatorDecision, now_ms: int) -> Group | None:
        """Records of newer protocols are lost: go back to the state before the decision.

        Returns a group that had replaced another one by this decision, and is gone now.
        """
        group = self.get(group_id)
        if group is None:
            return None
        gone = None
        if group.replaced is not None and group.replaced[1] is decision:
            gone, (former, _) = group, group.replaced
            group = self.take_over(gone, former)
        for each in self._with_replaced(group):
            if isinstance(each, ModernGroup):
                each.failed(decision, now_ms)
            if each.replaced is not None:
                replaced, by = each.replaced
                if replaced.replaced is not None and replaced.replaced[1] is decision:
                    # The group between has never been; its parked requests are answered.
                    each.replaced = (replaced.replaced[0], by)
        self.settle(group)
        return gone

    def settled(self, group: Group, record: CoordinatorRecord) -> bool:
        """A record of a classic group was persisted or has failed; returns whether `group` has
        proposed it, and not one that it replaces."""
        proposers = [
            each
            for each in self._with_replaced(group)
            if isinstance(each, ClassicGroup) and each.settled(record)
        ]
        return group in proposers

    def _with_replaced(self, group: Group) -> Iterator[Group]:
        """The group, and those that it replaces by decisions in flight, from the newest on."""
        yield group
        while group.replaced is not None:
            group = group.replaced[0]
            yield group

    def _modern_in_flight(self, group_id: str) -> Iterable[CoordinatorDecision]:
        """Decisions in flight with records of a newer protocol, about the groups of that id."""
        group = self.get(group_id)
        if group is not None:
            for each in self._with_replaced(group):
                if isinstance(each, ModernGroup):
                    return each.in_flight  # those about earlier ones are among them
        return ()

    def replace_deleted(self, group: Group) -> Group:
        """A void group in place of a deleted one; all of its offsets are deleted too."""
        return self.take_over(group, self.new_classic_group(group.group_id))

    def take_over(self, group: Group, successor: GroupT) -> GroupT:
        """Another group of the same id, maybe of another kind, goes on with the offsets."""
        successor.pending_offsets = group.pending_offsets
        successor.counted_bytes = group.counted_bytes
        successor.retention_check_ms = group.retention_check_ms
        return successor

    def next_deadline_ms(self) -> int | None:
        return self._deadlines.next_ms()

    def due(self, now_ms: int) -> Iterator[Group]:
        """The groups whose deadline has passed."""
        for group_id in self._deadlines.due(now_ms):
            yield self._by_id[group_id]

    def clear(self) -> None:
        self._memory.used -= sum(group.counted_bytes for group in self)
        self._by_id.clear()
        self.image = GroupsImage()
        self._deadlines = DeadlineQueue()


def replace_empty_group(group: Group, successor: Group, decision: CoordinatorDecision) -> None:
    """A member of another protocol joins an empty group: its records are deleted, not its offsets.

    If the decision fails, the group is what it was.
    """
    successor.replaced = (group, decision)
    if isinstance(group, ClassicGroup):
        if group.image.metadata is not None or group.records_in_flight:
            decision.records.append(group_record(group.group_id, None))
    else:
        group.delete(decision)
