"""Share sessions: which partitions each consumer of a share group fetches here.

A session belongs to a member of a group and to its connection; with the connection it ends, and
what the member holds here is available to others. A request carries the session's epoch: 0 asks
for a new session, -1 ends it, anything else must be the next one. Unlike fetch sessions none is
evicted: beyond the limit, new ones are refused.
"""

from collections.abc import Callable
from typing import Protocol

from barnabas.wire.errors import ErrorCode

INITIAL_EPOCH = 0
FINAL_EPOCH = -1
_MAX_EPOCH = 2**31 - 1

MAX_PARTITIONS = 200_000
"""The limit on partitions in all sessions of a node."""
MAX_PER_SESSION = 20_000
"""The limit on partitions of one session; each fetch looks at all of them."""

Place = tuple[bytes, int]
"""Topic id and partition."""


class ClientConnection(Protocol):
    on_lost: Callable[[], None] | None


class ShareSession:
    __slots__ = ("connection", "epoch", "group_id", "member_id", "partitions")

    def __init__(self, group_id: str, member_id: str, connection: ClientConnection) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.connection = connection
        self.epoch = 1
        """The epoch that the next request has to have."""
        self.partitions: dict[Place, None] = {}


class ShareSessions:
    def __init__(
        self,
        max_sessions: Callable[[], int],
        on_end: Callable[[ShareSession], None],
        on_group_left: Callable[[str], None],
    ) -> None:
        """`on_end` is called when a session has ended, `on_group_left` when it was the last one of
        its group."""
        self._max_sessions = max_sessions
        self._on_end = on_end
        self._on_group_left = on_group_left
        self._sessions: dict[tuple[str, str], ShareSession] = {}
        self._of_connection: dict[ClientConnection, set[tuple[str, str]]] = {}
        self._of_group: dict[str, int] = {}
        self._partition_count = 0

    def __len__(self) -> int:
        return len(self._sessions)

    def open(
        self, group_id: str, member_id: str, connection: ClientConnection
    ) -> ShareSession | ErrorCode:
        """A new session, in place of the member's former one; it keeps what it has acquired."""
        key = (group_id, member_id)
        former = self._sessions.get(key)
        if former is not None:
            self._remove(former)
        elif len(self._sessions) >= self._max_sessions():
            return ErrorCode.SHARE_SESSION_LIMIT_REACHED
        session = self._sessions[key] = ShareSession(group_id, member_id, connection)
        self._of_group[group_id] = self._of_group.get(group_id, 0) + 1
        keys = self._of_connection.get(connection)
        if keys is None:
            keys = self._of_connection[connection] = set()
            self._follow(connection)
        keys.add(key)
        return session

    def _follow(self, connection: ClientConnection) -> None:
        earlier = connection.on_lost

        def lost() -> None:
            if earlier is not None:
                earlier()
            self.connection_lost(connection)

        connection.on_lost = lost

    def use(self, group_id: str, member_id: str, epoch: int) -> ShareSession | ErrorCode:
        """The session, if `epoch` is the one it expects, or -1."""
        session = self._sessions.get((group_id, member_id))
        if session is None:
            return ErrorCode.SHARE_SESSION_NOT_FOUND
        if epoch == FINAL_EPOCH:
            return session
        if epoch != session.epoch:
            return ErrorCode.INVALID_SHARE_SESSION_EPOCH
        session.epoch = 1 if epoch == _MAX_EPOCH else epoch + 1
        return session

    def is_open(self, session: ShareSession) -> bool:
        """Whether it has not ended, and no other has taken its place."""
        return self._sessions.get((session.group_id, session.member_id)) is session

    def has(self, group_id: str, member_id: str) -> bool:
        """Whether the member has a session here."""
        return (group_id, member_id) in self._sessions

    def add(self, session: ShareSession, place: Place) -> bool:
        """Fetch this partition too. False if there are too many."""
        if place not in session.partitions:
            if (
                self._partition_count >= MAX_PARTITIONS
                or len(session.partitions) >= MAX_PER_SESSION
            ):
                return False
            session.partitions[place] = None
            self._partition_count += 1
        return True

    def forget(self, session: ShareSession, place: Place) -> None:
        if place in session.partitions:
            del session.partitions[place]
            self._partition_count -= 1

    def end(self, session: ShareSession) -> None:
        """The member leaves, or its connection is lost: release what it holds."""
        self._remove(session)
        self._on_end(session)
        self._tell_if_group_left(session.group_id)

    def connection_lost(self, connection: ClientConnection) -> None:
        for key in self._of_connection.pop(connection, ()):
            session = self._sessions.get(key)
            if session is not None and session.connection is connection:
                self.end(session)

    def _remove(self, session: ShareSession) -> None:
        key = (session.group_id, session.member_id)
        if not self.is_open(session):
            return
        del self._sessions[key]
        self._partition_count -= len(session.partitions)
        self._of_connection.get(session.connection, set()).discard(key)
        self._of_group[session.group_id] -= 1

    def _tell_if_group_left(self, group_id: str) -> None:
        if self._of_group.get(group_id) == 0:
            del self._of_group[group_id]
            self._on_group_left(group_id)
