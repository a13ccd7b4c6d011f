"""Incremental fetch sessions: a reader lists its partitions once, and then only changes.

A request carries a session id and an epoch. Epoch 0 asks for a new session, -1 for none (and the
end of the one named), anything else must be the next one of the session named.

A follower has one session, which ends when it opens the next. Sessions of consumers never evict it.
"""

from collections import OrderedDict
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

    def open(self, replica_id: int = NO_REPLICA_ID) -> FetchSession:
        """A new session. If no more sessions may be kept, it has id 0 and lives for one request
        only."""
        if replica_id != NO_REPLICA_ID:
            return self._open_for_replica(replica_id)
        if self.max_sessions <= 0:
            return FetchSession()
        while len(self._sessions) >= self.max_sessions:
            _, oldest = self._sessions.popitem(last=False)
            oldest.close()
        session = FetchSession(self._new_id())
        self._sessions[session.session_id] = session
        session.epoch = 1
        return session

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

    def use(self, session_id: int, epoch: int, replica_id: int) -> FetchSession | ErrorCode:
        """The session named, if it is the reader's and `epoch` is the one it expects."""
        if replica_id == NO_REPLICA_ID:
            session = self._sessions.get(session_id)
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
        """A large session has grown: evict the least recently used others, or itself if
        necessary."""
        total = sum(len(each.entries) for each in self._sessions.values())
        for other in tuple(self._sessions.values()):
            if total <= MAX_PARTITIONS:
                return
            if other is not session or len(session.entries) > MAX_PARTITIONS:
                total -= len(other.entries)
                self.close(other.session_id)

    def close(self, session_id: int, replica_id: int = NO_REPLICA_ID) -> None:
        if replica_id == NO_REPLICA_ID:
            session = self._sessions.pop(session_id, None)
        else:
            session = self._of_replicas.get(replica_id)
            if session is None or session.session_id != session_id:
                return
            del self._of_replicas[replica_id]
        if session is not None:
            session.close()
