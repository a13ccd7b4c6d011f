"""Incremental fetch sessions: a consumer names its partitions once and then only changes.

A request carries a session id and an epoch. Epoch 0 asks for a new session, -1 for none (and the
end of the one named), anything else must be the next one of the session named.
"""

from collections import OrderedDict
from random import randrange

from barnabas.broker.fetch_session import FetchSession
from barnabas.wire.errors import ErrorCode

INITIAL_EPOCH = 0
FINAL_EPOCH = -1

_MAX_EPOCH = 2**31 - 1


class FetchSessions:
    """All sessions, the least recently used first."""

    def __init__(self, max_sessions: int) -> None:
        self.max_sessions = max_sessions
        self._sessions: OrderedDict[int, FetchSession] = OrderedDict()

    def open(self) -> FetchSession:
        """A new session; it has id 0, and so lives for one request only, when none may be kept."""
        if self.max_sessions <= 0:
            return FetchSession()
        while len(self._sessions) >= self.max_sessions:
            _, oldest = self._sessions.popitem(last=False)
            oldest.close()
        session_id = randrange(1, 2**31)  # noqa: S311 - an id, not a secret
        while session_id in self._sessions:
            session_id = randrange(1, 2**31)  # noqa: S311
        session = FetchSession(session_id)
        session.epoch = 1
        self._sessions[session_id] = session
        return session

    def use(self, session_id: int, epoch: int) -> FetchSession | ErrorCode:
        """The session named, if `epoch` is the one it expects."""
        session = self._sessions.get(session_id)
        if session is None:
            return ErrorCode.FETCH_SESSION_ID_NOT_FOUND
        if epoch != session.epoch:
            return ErrorCode.INVALID_FETCH_SESSION_EPOCH
        session.epoch = 1 if epoch == _MAX_EPOCH else epoch + 1
        self._sessions.move_to_end(session_id)
        return session

    def close(self, session_id: int) -> None:
        session = self._sessions.pop(session_id, None)
        if session is not None:
            session.close()
