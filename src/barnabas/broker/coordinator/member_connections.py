"""The connections on which members of groups send heartbeats to their coordinator.

When a member is killed, its connections end, and the group's coordinator gives its partitions to
others. Kafka waits for the session timeout.

A member may also lose its connection and live: it has a grace period to come back. A connection
that this node has closed itself says nothing about the member.

A member of a share group has the grace period for as long as it has a share session on this node.
If it is late, it joins again under its name; its locks are with its share sessions. For a member of
a consumer group, being removed costs more: it reads again what it has not committed. Many clients
notice a broken connection with their next heartbeat, so there the grace period is at least one and
a half times as long as the longest of the last pauses between two heartbeats, and as the interval
that the member was told. The last pause alone says little: a member that joins, or has given up
partitions, sends a heartbeat out of turn.

Members that have expired are forgotten when many are known on one connection, so there are at most
about twice as many as groups have.
"""

from asyncio import AbstractEventLoop
from collections import deque
from collections.abc import Callable
from typing import Protocol

MemberKey = tuple[str, str]
"""Group and member id."""

_LOOK_MS = 100
"""How often a member that still reads is looked at, at most."""
_FEW = 64
"""Members on one connection that are never looked through for those that have expired."""
_PAUSES = 8
"""How many pauses between heartbeats of a member count."""


class HeartbeatConnection(Protocol):
    on_lost: Callable[[], None] | None
    ended_by_client: bool

    @property
    def is_lost(self) -> bool: ...


class _Rhythm:
    """When a member sends heartbeats, in seconds."""

    __slots__ = ("heard_at", "interval_s", "pauses_s")

    def __init__(self, now: float) -> None:
        self.heard_at = now
        self.interval_s = 0.0
        self.pauses_s = deque([0.0], _PAUSES)

    def heard(self, now: float, interval_s: float) -> None:
        self.pauses_s.append(now - self.heard_at)
        self.heard_at, self.interval_s = now, interval_s

    @property
    def longest_s(self) -> float:
        return max(self.interval_s, *self.pauses_s)


class _Heard:
    """The members that were heard last on one connection."""

    __slots__ = ("keys", "many")

    def __init__(self) -> None:
        self.keys: set[MemberKey] = set()
        self.many = _FEW
        """How many are looked through for members that have expired."""


class MemberConnections:
    def __init__(
        self,
        loop: AbstractEventLoop,
        grace_ms: Callable[[], int],
        is_reading: Callable[[str, str], bool],
        is_member: Callable[[str, str], bool],
        remove: Callable[[str, str], None],
        *,
        heartbeats: float = 0.0,
    ) -> None:
        """`is_reading` says whether a member of a group has a share session here, `is_member`
        whether it has not expired; `remove` is called with a member that did not come back, after
        so many of its `heartbeats` at least."""
        self._loop = loop
        self._grace_ms = grace_ms
        self._is_reading = is_reading
        self._is_member = is_member
        self._remove = remove
        self._last: dict[MemberKey, HeartbeatConnection] = {}
        """On which connection a member was heard last."""
        self._members: dict[HeartbeatConnection, _Heard] = {}
        self._heartbeats = heartbeats
        self._rhythm: dict[MemberKey, _Rhythm] = {}

    def __len__(self) -> int:
        return len(self._last)

    def heard(
        self,
        group_id: str,
        member_id: str,
        connection: HeartbeatConnection,
        interval_ms: int = 0,
    ) -> None:
        """The member sent a heartbeat, and was told after how long to send the next one."""
        key = (group_id, member_id)
        if self._heartbeats:
            now = self._loop.time()
            rhythm = self._rhythm.get(key)
            if rhythm is None:
                rhythm = self._rhythm[key] = _Rhythm(now)
            rhythm.heard(now, interval_ms / 1000)
        former = self._last.get(key)
        if former is connection:
            return
        if former is not None:
            self._forget_on(former, key)
        members = self._members.get(connection)
        if members is None:
            members = self._members[connection] = _Heard()
            self._follow(connection)
        elif len(members.keys) >= members.many:
            self._forget_expired(members)
        self._last[key] = connection
        members.keys.add(key)
        if connection.is_lost:  # before the heartbeat was answered
            self._lost(connection)

    def left(self, group_id: str, member_id: str) -> None:
        """The member has left its group."""
        self._rhythm.pop((group_id, member_id), None)
        connection = self._last.pop((group_id, member_id), None)
        if connection is not None:
            self._forget_on(connection, (group_id, member_id))

    def _forget_on(self, connection: HeartbeatConnection, key: MemberKey) -> None:
        members = self._members.get(connection)
        if members is not None:
            members.keys.discard(key)

    def _forget_expired(self, members: _Heard) -> None:
        for key in [key for key in members.keys if not self._is_member(*key)]:
            members.keys.discard(key)
            self._last.pop(key, None)
            self._rhythm.pop(key, None)
        members.many = max(_FEW, 2 * len(members.keys))

    def _follow(self, connection: HeartbeatConnection) -> None:
        earlier = connection.on_lost

        def lost() -> None:
            if earlier is not None:
                earlier()
            self._lost(connection)

        connection.on_lost = lost

    def _lost(self, connection: HeartbeatConnection) -> None:
        heard = self._members.pop(connection, None)
        members = set() if heard is None else heard.keys
        grace_ms = self._grace_ms()
        if connection.ended_by_client and grace_ms >= 0:
            for key in members:
                rhythm = self._rhythm.get(key)
                pause_s = 0.0 if rhythm is None else rhythm.longest_s
                of_member_ms = round(1000 * self._heartbeats * pause_s)
                self._wait_for(key, connection, max(grace_ms, of_member_ms))
        else:
            for key in members:
                del self._last[key]
                self._rhythm.pop(key, None)

    def _wait_for(self, key: MemberKey, lost: HeartbeatConnection, grace_ms: int) -> None:
        self._loop.call_later(grace_ms / 1000, self._give_up, key, lost, grace_ms)

    def _give_up(self, key: MemberKey, lost: HeartbeatConnection, grace_ms: int) -> None:
        if self._last.get(key) is not lost:
            return
        if self._is_reading(*key):
            self._wait_for(key, lost, max(grace_ms, _LOOK_MS))
            return
        del self._last[key]
        self._rhythm.pop(key, None)
        self._remove(*key)
