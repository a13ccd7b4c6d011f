"""Incremental fetch sessions: a reader lists its partitions once, and then only changes.

A request carries a session id and an epoch. Epoch 0 asks for a new session, -1 for none (and the
end of the one named), anything else must be the next one of the session named.

A follower has one session, which ends when it opens the next. Sessions of consumers never evict it.

A session belongs to the user that opened it; no other user can name it. If there is no room for
one more, the user that has most gives way, with its least recently used: nobody can take sessions
away from users that have fewer.
"""

from collections import Counter, OrderedDict
from random import Random

from barnabas.broker.fetch.fetch_session import NO_REPLICA_ID, FetchSession
from barnabas.wire.errors import ErrorCode

INITIAL_EPOCH = 0
FINAL_EPOCH = -1

_MAX_EPOCH = 2**31 - 1

MAX_PARTITIONS = 500_000
"""The limit on partitions in all large sessions of consumers."""


class FetchSessions:
    """All sessions; those of consumers with the least recently used first."""

    def __init__(self, max_sessions: int, random: Random) -> None:
        self.max_sessions = max_sessions
        self._random = random
        self._sessions: OrderedDict[int, FetchSession] = OrderedDict()
        self._of_replicas: dict[int, FetchSession] = {}
        self._owned: Counter[str] = Counter()
        """How many sessions each user has."""

    def open(self, replica_id: int = NO_REPLICA_ID, owner: str = "") -> FetchSession:
        """A new session. If no more sessions may be kept, it has id 0 and lives for one request
        only."""
        if replica_id != NO_REPLICA_ID:
            return self._open_for_replica(replica_id)
        if self.max_sessions <= 0:
            return FetchSession()
        while len(self._sessions) >= self.max_sessions:
            self._evict_for(owner)
        session = FetchSession(self._new_id(), owner=owner)
        self._sessions[session.session_id] = session
        self._owned[owner] += 1
        session.epoch = 1
        return session

    def _evict_for(self, owner: str) -> None:
        """Make room for a session of a user."""

        def count(user: str) -> tuple[int, bool]:
            return self._owned[user] + (user == owner), user == owner

        most = max(self._owned, key=count)
        self._end(next(each for each in self._sessions.values() if each.owner == most))

    def _end(self, session: FetchSession) -> None:
        if self._sessions.pop(session.session_id, None) is None:
            return  # it was evicted while its request was handled
        self._owned[session.owner] -= 1
        if not self._owned[session.owner]:
            del self._owned[session.owner]
        session.close()

    def _open_for_replica(self, replica_id: int) -> FetchSession:
        earlier = self._of_replicas.pop(replica_id, None)
        if earlier is not None:
            earlier.close()
        session = self._of_replicas[replica_id] = FetchSession(self._new_id(), replica_id)
        session.epoch = 1
        return session

    def _new_id(self) -> int:
        taken = {session.session_id for session in self._of_replicas.values()}
        while True:
            session_id = self._random.randrange(1, 2**31)
            if session_id not in self._sessions and session_id not in taken:
                return session_id

    def use(
        self, session_id: int, epoch: int, replica_id: int, owner: str = ""
    ) -> FetchSession | ErrorCode:
        """The session named, if it is the reader's and `epoch` is the one it expects."""
        if replica_id == NO_REPLICA_ID:
            session = self._sessions.get(session_id)
            if session is not None and session.owner != owner:
                session = None
        else:
            session = self._of_replicas.get(replica_id)
        if session is None or session.session_id != session_id:
            return ErrorCode.FETCH_SESSION_ID_NOT_FOUND
        if epoch != session.epoch:
            return ErrorCode.INVALID_FETCH_SESSION_EPOCH
        session.supersede(1 if epoch == _MAX_EPOCH else epoch + 1)
        if replica_id == NO_REPLICA_ID:
            self._sessions.move_to_end(session_id)
        return session

    def make_room(self, session: FetchSession) -> None:
        """A large session has grown: evict sessions of the user whose sessions are largest, the
        least recently used first, and `session` itself at last."""
        sizes: Counter[str] = Counter()
        for each in self._sessions.values():
            sizes[each.owner] += len(each.entries)
        total = sizes.total()
        if total <= MAX_PARTITIONS:
            return
        if len(session.entries) > MAX_PARTITIONS:
            self._end(session)
            return
        largest = max(sizes, key=lambda owner: (sizes[owner], owner == session.owner))
        for other in tuple(self._sessions.values()):
            if total <= MAX_PARTITIONS:
                return
            if other.owner == largest and other is not session:
                total -= len(other.entries)
                self._end(other)
        if total > MAX_PARTITIONS:
            self._end(session)

    def close(self, session_id: int, replica_id: int = NO_REPLICA_ID, owner: str = "") -> None:
        if replica_id == NO_REPLICA_ID:
            session = self._sessions.get(session_id)
            if session is not None and session.owner == owner:
                self._end(session)
            return
        session = self._of_replicas.get(replica_id)
        if session is not None and session.session_id == session_id:
            del self._of_replicas[replica_id]
            session.close()
