"""Share sessions: bounded, tied to connections."""

from collections.abc import Callable

from barnabas.broker.share.share_sessions import (
    MAX_PARTITIONS,
    MAX_PER_SESSION,
    ShareSession,
    ShareSessions,
)
from barnabas.wire.errors import ErrorCode


class FakeConnection:
    def __init__(self) -> None:
        self.on_lost: Callable[[], None] | None = None

    def lose(self) -> None:
        assert self.on_lost is not None
        self.on_lost()


class Sessions(ShareSessions):
    def __init__(self, most: int = 3) -> None:
        self.ended: list[str] = []
        self.left: list[str] = []
        super().__init__(
            lambda: most, lambda session: self.ended.append(session.member_id), self.left.append
        )


def opened(
    sessions: Sessions, member: str, group: str = "g", connection: FakeConnection | None = None
) -> ShareSession:
    session = sessions.open(group, member, connection or FakeConnection())
    assert isinstance(session, ShareSession)
    return session


def test_no_session_is_evicted() -> None:
    sessions = Sessions(most=2)
    opened(sessions, "a")
    opened(sessions, "b")
    assert sessions.open("g", "c", FakeConnection()) is ErrorCode.SHARE_SESSION_LIMIT_REACHED
    opened(sessions, "a")  # in place of its former one
    assert len(sessions) == 2
    assert not sessions.ended


def test_partitions_of_all_sessions_are_limited() -> None:
    sessions = Sessions(most=100)
    for number in range(MAX_PARTITIONS // MAX_PER_SESSION):
        session = opened(sessions, f"a{number}")
        for index in range(MAX_PER_SESSION):
            assert sessions.add(session, (b"t", index))
        assert not sessions.add(session, (b"t", -1))
    assert not sessions.add(opened(sessions, "c"), (b"t", 0))
    assert not sessions.add(session, (b"t", -1))
    assert sessions.add(session, (b"t", 5))  # it is there already
    sessions.forget(session, (b"t", 5))
    assert sessions.add(session, (b"t", -1))
    sessions.end(session)
    assert sessions.add(opened(sessions, "b"), (b"t", 0))


def test_sessions_end_with_their_connection() -> None:
    sessions = Sessions()
    connection, other = FakeConnection(), FakeConnection()
    heard: list[int] = []
    connection.on_lost = lambda: heard.append(1)
    opened(sessions, "a", connection=connection)
    opened(sessions, "b", connection=connection)
    opened(sessions, "c", connection=other)
    connection.lose()
    assert (sorted(sessions.ended), heard, sessions.left) == (["a", "b"], [1], [])
    other.lose()
    assert (sessions.left, len(sessions)) == (["g"], 0)


def test_a_session_that_was_opened_again_stays_when_the_former_connection_ends() -> None:
    sessions = Sessions()
    former, current = FakeConnection(), FakeConnection()
    opened(sessions, "a", connection=former)
    opened(sessions, "a", connection=current)
    former.lose()
    assert not sessions.ended
    assert isinstance(sessions.use("g", "a", 1), ShareSession)


def test_epochs_wrap_around() -> None:
    sessions = Sessions()
    session = opened(sessions, "a")
    session.epoch = 2**31 - 1
    assert sessions.use("g", "a", 2**31 - 1) is session
    assert session.epoch == 1
    assert sessions.use("g", "a", 0) is ErrorCode.INVALID_SHARE_SESSION_EPOCH
