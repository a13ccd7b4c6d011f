"""The table of fetch sessions, without a broker."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.broker.fetch import fetch_sessions
from barnabas.broker.fetch.fetch_entry import Entry
from barnabas.broker.fetch.fetch_session import FetchSession
from barnabas.broker.fetch.fetch_sessions import FetchSessions
from barnabas.wire.errors import ErrorCode


def opened(sessions: FetchSessions) -> FetchSession:
    session = sessions.open()
    assert session.session_id > 0
    return session


def test_epochs_follow_each_other() -> None:
    sessions = FetchSessions(10, Random(1))
    session = opened(sessions)
    assert sessions.use(session.session_id, 1, -1) is session
    assert sessions.use(session.session_id, 1, -1) is ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert sessions.use(session.session_id, 2, -1) is session


def test_after_the_last_epoch_comes_the_first() -> None:
    sessions = FetchSessions(10, Random(1))
    session = opened(sessions)
    session.epoch = 2**31 - 1
    assert sessions.use(session.session_id, 2**31 - 1, -1) is session
    assert sessions.use(session.session_id, 1, -1) is session


def test_without_room_a_session_lives_for_one_request() -> None:
    sessions = FetchSessions(0, Random(1))
    assert sessions.open().session_id == 0


def test_fewer_slots_take_effect_with_the_next_session() -> None:
    sessions = FetchSessions(5, Random(1))
    old = [opened(sessions) for _ in range(5)]
    sessions.max_sessions = 2
    new = opened(sessions)
    kept = [s for s in (*old, new) if isinstance(sessions.use(s.session_id, 1, -1), FetchSession)]
    assert kept == [old[-1], new]


def test_closing_what_is_not_there() -> None:
    sessions = FetchSessions(5, Random(1))
    sessions.close(7)
    assert sessions.use(7, 1, -1) is ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_a_follower_has_one_session_that_nobody_takes_away() -> None:
    sessions = FetchSessions(2, Random(1))
    first = sessions.open(replica_id=5)
    other = sessions.open(replica_id=6)
    for _ in range(5):
        opened(sessions)
    assert sessions.use(first.session_id, 1, 5) is first
    assert sessions.use(first.session_id, 2, 6) is ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert sessions.use(first.session_id, 2, -1) is ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    second = sessions.open(replica_id=5)
    assert sessions.use(first.session_id, 2, 5) is ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert sessions.use(second.session_id, 1, 5) is second
    sessions.close(first.session_id, 5)
    assert sessions.use(second.session_id, 2, 5) is second
    sessions.close(second.session_id, 5)
    assert sessions.use(second.session_id, 3, 5) is ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert sessions.use(other.session_id, 1, 6) is other


def test_large_sessions_make_room_for_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch_sessions, "MAX_PARTITIONS", 10)
    sessions = FetchSessions(10, Random(1))
    first, second, third = (opened(sessions) for _ in range(3))

    def grow(session: FetchSession, count: int) -> None:
        for index in range(count):
            missing = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            session.entries["t", index] = Entry(("t", index), missing, leader_only=False)
        sessions.make_room(session)

    def is_kept(session: FetchSession) -> bool:
        return sessions.use(session.session_id, session.epoch, -1) is session

    grow(first, 4)
    grow(second, 6)
    assert is_kept(second)
    assert is_kept(first)
    grow(third, 3)
    assert [is_kept(each) for each in (first, second, third)] == [True, False, True]
    grow(third, 11)
    assert not is_kept(third)


def test_a_user_does_not_take_sessions_away_from_others() -> None:
    sessions = FetchSessions(6, Random(1))
    quiet = [sessions.open(owner="ann"), sessions.open(owner="bob")]
    for _ in range(50):
        last = sessions.open(owner="eve")
    for session, owner in zip(quiet, ("ann", "bob"), strict=True):
        assert sessions.use(session.session_id, 1, -1, owner) is session
    assert sessions.use(last.session_id, 1, -1, "eve") is last
    # A newcomer gets its share from the one that has most.
    newcomer = sessions.open(owner="dan")
    for session, owner in zip((*quiet, newcomer), ("ann", "bob", "dan"), strict=True):
        assert isinstance(sessions.use(session.session_id, session.epoch, -1, owner), FetchSession)


def test_a_session_is_its_users_alone() -> None:
    sessions = FetchSessions(6, Random(1))
    session = sessions.open(owner="ann")
    assert sessions.use(session.session_id, 1, -1, "eve") is ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    sessions.close(session.session_id, owner="eve")
    assert sessions.use(session.session_id, 1, -1, "ann") is session


def test_a_large_session_gives_way_before_those_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch_sessions, "MAX_PARTITIONS", 10)
    sessions = FetchSessions(10, Random(1))
    ann, eve = sessions.open(owner="ann"), sessions.open(owner="eve")
    for session, count in ((ann, 4), (eve, 9)):
        for index in range(count):
            missing = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            session.entries["t", index] = Entry(("t", index), missing, leader_only=False)
        sessions.make_room(session)
    assert sessions.use(ann.session_id, 1, -1, "ann") is ann
    assert sessions.use(eve.session_id, 1, -1, "eve") is ErrorCode.FETCH_SESSION_ID_NOT_FOUND


@given(st.lists(st.sampled_from("abc"), max_size=60), st.integers(1, 6))
def test_who_gives_way_has_most(owners: list[str], places: int) -> None:
    sessions = FetchSessions(places, Random(1))
    opened_by: dict[str, list[FetchSession]] = {"a": [], "b": [], "c": []}
    for owner in owners:
        before = {user: len(theirs) for user, theirs in opened_by.items()}
        opened_by[owner].append(sessions.open(owner=owner))
        for user, theirs in opened_by.items():
            theirs[:] = [
                each
                for each in theirs
                if isinstance(sessions.use(each.session_id, each.epoch, -1, user), FetchSession)
            ]
            if user != owner and len(theirs) < before[user]:
                assert before[user] == max(before.values()) > before[owner]
        assert opened_by[owner]
        assert sum(map(len, opened_by.values())) == min(places, sum(before.values()) + 1)
