"""The groups of a shard, with their deadlines and the memory they take."""

from collections.abc import Iterator

from barnabas.coordination.deadline_queue import DeadlineQueue
from barnabas.groups.config import GroupConfig
from barnabas.groups.group import Group
from barnabas.groups.image import GroupsImage
from barnabas.groups.memory import GroupMemory


class GroupRegistry:
    """Finds groups by id. A void group, without members and offsets, is not kept."""

    __slots__ = ("_by_id", "_config", "_deadlines", "_memory", "image")

    def __init__(self, config: GroupConfig, memory: GroupMemory) -> None:
        self._config = config
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
        """The group, or a new one, which `settle` registers unless it is void."""
        return self._by_id.get(group_id) or Group(group_id, self._config, self.image)

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

    def replace_deleted(self, group: Group) -> Group:
        """A void group in place of a deleted one; all of its offsets are deleted too."""
        left = Group(group.group_id, self._config, self.image)
        left.pending_offsets = group.pending_offsets
        left.counted_bytes = group.counted_bytes
        return left

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
