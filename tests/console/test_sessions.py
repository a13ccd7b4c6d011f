"""Sessions end when they are idle, and failures to sign in slow down those who caused them."""

import asyncio
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.requests import Request

from barnabas.client.users import failed_sign_ins
from barnabas.client.users.failed_sign_ins import FailedSignIns, TooManyFailuresError
from barnabas.console.access import sessions
from barnabas.console.access.sessions import COOKIE, IDLE_S, LIFETIME_S, Session, Sessions
from barnabas.console.calls import Calls
from barnabas.console.endpoint import Call, Endpoint
from barnabas.console.options import ConsoleOptions
from barnabas.console.user_cluster import UserCluster
from barnabas.errors import BrokerUnreachable, SignInFailed

OPTIONS = ConsoleOptions("127.0.0.1:1", sign_in=True)
REQUEST = Request({"type": "http", "headers": [(b"cookie", f"{COOKIE}=ada".encode())]})


def test_an_idle_session_is_over_and_a_timer_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        every = Sessions(OPTIONS)
        session = every._by_key["ada"] = Session("ada", UserCluster(OPTIONS.bootstrap, {}))
        session.used_at -= IDLE_S - 60
        assert every.find(REQUEST) is session  # and used again
        session.used_at -= IDLE_S + 1
        assert every.find(REQUEST) is None
        assert every._by_key  # its connections are still there
        monkeypatch.setattr(sessions, "_UPKEEP_S", 0)
        every.open()
        try:
            async with asyncio.timeout(60):
                while every._by_key:
                    await asyncio.sleep(0)
        finally:
            await every.close()

    asyncio.run(run())


def test_a_page_that_stays_open_does_not_keep_its_session_for_ever() -> None:
    async def run() -> None:
        every = Sessions(OPTIONS)
        session = every._by_key["ada"] = Session("ada", UserCluster(OPTIONS.bootstrap, {}))
        session.began_at -= LIFETIME_S - 60
        assert every.find(REQUEST) is session
        session.began_at -= 61
        assert every.find(REQUEST) is None, "though it was used a moment ago"
        await session.cluster.close()

    asyncio.run(run())


class FakeCluster:
    """Whose credentials may be revoked."""

    def __init__(self) -> None:
        self.is_valid = True
        self.checks = 0
        self.is_closed = False
        self.watch = SimpleNamespace(start=lambda: None)

    async def is_signed_in(self) -> bool:
        self.checks += 1
        return self.is_valid

    async def ready(self) -> None:
        pass

    async def close(self) -> None:
        self.is_closed = True


def test_a_session_ends_when_its_password_is_changed() -> None:
    async def run() -> None:
        every = Sessions(OPTIONS)
        clusters = [FakeCluster() for _ in range(3)]
        for number, each in enumerate(clusters):
            await every._add(f"user-{number}", each)  # type: ignore[arg-type]
        clusters[1].is_valid = False
        await every._end_revoked()
        assert [each.checks for each in clusters] == [0, 0, 0], "not with every request"
        for session in every._by_key.values():
            session.checked_at -= 11
            session.used_at -= 5
        await every._end_revoked()
        assert [each.is_closed for each in clusters] == [False, True, False]
        assert {each.user for each in every._by_key.values()} == {"user-0", "user-2"}
        await every._end_revoked()
        assert [each.checks for each in clusters] == [1, 1, 1]

    asyncio.run(run())


def test_a_session_that_nobody_uses_is_checked_now_and_then() -> None:
    async def run() -> None:
        every = Sessions(OPTIONS)
        cluster = FakeCluster()
        await every._add("ada", cluster)  # type: ignore[arg-type]
        (session,) = every._by_key.values()
        for seconds, checks in ((20, 0), (200, 0), (301, 1)):
            session.checked_at = session.used_at = session.began_at - seconds
            session.used_at -= 1
            await every._end_revoked()
            assert cluster.checks == checks

    asyncio.run(run())


def test_a_session_ends_with_the_first_sign_in_that_the_cluster_refuses() -> None:
    """The cluster closes connections when a password changes, so a call has to sign in again."""

    async def refuse(_: Call) -> Any:
        raise SignInFailed("invalid user or password")

    async def run() -> None:
        every = Sessions(OPTIONS)
        calls = Calls(OPTIONS, every)
        cluster = FakeCluster()
        key = await every._add("ada", cluster)  # type: ignore[arg-type]
        scope = {
            "type": "http",
            "method": "GET",
            "query_string": b"",
            "path_params": {},
            "headers": [(b"cookie", f"{COOKIE}={key}".encode())],
        }
        answer = await calls.answer(Endpoint("GET", "/x", "refused", refuse))(Request(scope))
        assert answer.status_code == 401
        assert cluster.is_closed
        assert every._by_key == {}
        await calls.close()

    asyncio.run(run())


def test_a_user_takes_no_session_from_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "_MAX_SESSIONS", 12)
    monkeypatch.setattr(sessions, "_MAX_OF_USER", 5)

    async def run() -> None:
        every = Sessions(OPTIONS)

        async def add(user: str) -> None:
            await every._add(user, FakeCluster())  # type: ignore[arg-type]

        def count(user: str) -> int:
            return sum(each.user == user for each in every._by_key.values())

        await add("bob")
        for _ in range(50):
            await add("mallory")
        assert (count("bob"), count("mallory")) == (1, 5)
        for number in range(6):
            await add(f"user-{number}")
        assert len(every._by_key) == 12
        await add("ada")
        assert (count("bob"), count("mallory"), count("ada")) == (1, 4, 1)
        assert len(every._by_key) == 12

    asyncio.run(run())


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


def fail(failed: FailedSignIns, user: str, address: str = "10.0.0.1") -> bool:
    """Whether the attempt was made."""
    try:
        with failed.attempt(user, address):
            raise SignInFailed("wrong")
    except SignInFailed:
        return True
    except TooManyFailuresError:
        return False


def test_failures_hold_up_the_user_at_that_address_alone() -> None:
    clock = Clock()
    failed = FailedSignIns(clock)
    assert [fail(failed, "ada") for _ in range(4)] == [True, True, True, False]
    assert fail(failed, "bob")
    assert fail(failed, "ada", "10.0.0.2")
    for pause in (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0):
        clock.now += pause - 0.1
        assert not fail(failed, "ada")
        clock.now += 0.1
        assert fail(failed, "ada")
    clock.now += 60
    with failed.attempt("ada", "10.0.0.1"):
        pass
    assert [fail(failed, "ada") for _ in range(3)] == [True, True, True]


def test_one_address_can_not_try_many_users() -> None:
    failed = FailedSignIns(Clock())
    assert sum(fail(failed, f"user-{n}") for n in range(100)) == 20
    assert sum(fail(failed, f"user-{n}", f"2001:db8::{n:x}") for n in range(100)) == 20
    assert fail(failed, "ada", "2001:db8:1::1")


def test_attempts_at_once_count_and_a_broker_that_is_away_does_not() -> None:
    failed = FailedSignIns(Clock())
    with (
        failed.attempt("ada", "a"),
        failed.attempt("ada", "a"),
        failed.attempt("ada", "a"),
        pytest.raises(TooManyFailuresError),
        failed.attempt("ada", "a"),
    ):
        pass
    for _ in range(50):
        with suppress(BrokerUnreachable), failed.attempt("ada", "a"):
            raise BrokerUnreachable("away")
    assert fail(failed, "ada", "a")


def test_the_table_of_failures_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failed_sign_ins, "_MAX_KEYS", 50)
    clock = Clock()
    failed = FailedSignIns(clock)
    for n in range(200):
        fail(failed, "ada", f"10.0.{n}.1")
    assert len(failed) <= 52
    clock.now += 1_000
    fail(failed, "ada", "10.1.0.1")
    assert len(failed) == 2


def test_other_addresses_than_localhost_need_https_or_a_proxy() -> None:
    assert ConsoleOptions("b:1", host="10.0.0.1", sign_in=True, insecure_http=True).scheme == "http"
