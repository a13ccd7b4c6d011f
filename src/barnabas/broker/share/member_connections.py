"""The connections on which members of share groups send heartbeats to their coordinator.

When a member is killed, its connections end. The leaders of its partitions release its locks at
once; here the group's coordinator gives its partitions to others. Kafka waits for the session
timeout.

A member may also lose its connection and live: it has a grace period to come back, which lasts for
as long as it has a share session on this node. One that lives and is late joins again under its
name. Its locks are not touched by that: they are with its share sessions. A connection that this
node has closed itself says nothing about the member.

Only members that were answered without an error are known here, so there are no more than groups
may have.
"""

from asyncio import AbstractEventLoop
from collections.abc import Callable
from typing import Protocol

MemberKey = tuple[str, str]
"""Group and member id."""

_LOOK_MS = 100
"""How often a member that still reads is looked at, at most."""


class HeartbeatConnection(Protocol):
    on_lost: Callable[[], None] | None
    ended_by_client: bool

    @property
    def is_lost(self) -> bool: ...


class MemberConnections:
    def __init__(
        self,
        loop: AbstractEventLoop,
        grace_ms: Callable[[], int],
        is_reading: Callable[[str, str], bool],
        remove: Callable[[str, str], None],
    ) -> None:
        """`is_reading` says whether a member of a group has a share session here; `remove` is
        called with a member that did not come back."""
        self._loop = loop
        self._grace_ms = grace_ms
        self._is_reading = is_reading
        self._remove = remove
        self._last: dict[MemberKey, HeartbeatConnection] = {}
        """On which connection a member was heard last."""
        self._members: dict[HeartbeatConnection, set[MemberKey]] = {}

    def __len__(self) -> int:
        return len(self._last)

    def heard(self, group_id: str, member_id: str, connection: HeartbeatConnection) -> None:
        """The member sent a heartbeat."""
        key = (group_id, member_id)
        former = self._last.get(key)
        if former is connection:
            return
        if former is not None:
            self._members.get(former, set()).discard(key)
        self._last[key] = connection
        members = self._members.get(connection)
        if members is None:
            members = self._members[connection] = set()
            self._follow(connection)
        members.add(key)
        if connection.is_lost:  # before the heartbeat was answered
            self._lost(connection)

    def left(self, group_id: str, member_id: str) -> None:
        """The member has left its group."""
        connection = self._last.pop((group_id, member_id), None)
        if connection is not None:
            self._members.get(connection, set()).discard((group_id, member_id))

    def _follow(self, connection: HeartbeatConnection) -> None:
        earlier = connection.on_lost

        def lost() -> None:
            if earlier is not None:
                earlier()
            self._lost(connection)

        connection.on_lost = lost

    def _lost(self, connection: HeartbeatConnection) -> None:
        members = self._members.pop(connection, set())
        grace_ms = self._grace_ms()
        if connection.ended_by_client and grace_ms >= 0:
            for key in members:
                self._wait_for(key, connection, grace_ms)
        else:
            for key in members:
                del self._last[key]

    def _wait_for(self, key: MemberKey, lost: HeartbeatConnection, grace_ms: int) -> None:
        self._loop.call_later(grace_ms / 1000, self._give_up, key, lost, grace_ms)

    def _give_up(self, key: MemberKey, lost: HeartbeatConnection, grace_ms: int) -> None:
        if self._last.get(key) is not lost:
            return
        if self._is_reading(*key):
            self._wait_for(key, lost, max(grace_ms, _LOOK_MS))
            return
        del self._last[key]
        self._remove(*key)
