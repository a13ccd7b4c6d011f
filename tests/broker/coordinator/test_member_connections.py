"""Members of groups whose connections break."""

from collections.abc import Callable
from typing import Any

import pytest

from barnabas.broker.coordinator.member_connections import MemberConnections


class FakeConnection:
    def __init__(self) -> None:
        self.on_lost: Callable[[], None] | None = None
        self.ended_by_client = False
        self.is_lost = False

    def end(self, *, by_client: bool = True) -> None:
        self.ended_by_client, self.is_lost = by_client, True
        if self.on_lost is not None:
            self.on_lost()


class FakeLoop:
    def __init__(self) -> None:
        self.timers: list[tuple[float, Callable[[], None]]] = []
        self.now_s = 100.0

    def time(self) -> float:
        return self.now_s

    def call_later(self, delay_s: float, call: Callable[..., None], *args: Any) -> None:
        self.timers.append((delay_s, lambda: call(*args)))

    def fire(self) -> None:
        due, self.timers = self.timers, []
        for _, call in due:
            call()


class Members(MemberConnections):
    def __init__(self, grace_ms: int = 1_000, heartbeats: float = 0.0) -> None:
        self.loop: Any = FakeLoop()
        self.removed: list[tuple[str, str]] = []
        self.reading: set[tuple[str, str]] = set()
        self.expired: set[tuple[str, str]] = set()
        super().__init__(
            self.loop,
            lambda: grace_ms,
            lambda group, member: (group, member) in self.reading,
            lambda group, member: (group, member) not in self.expired,
            lambda group, member: self.removed.append((group, member)),
            heartbeats=heartbeats,
        )


def test_a_member_that_does_not_come_back_is_removed_after_a_grace_period() -> None:
    members, connection = Members(), FakeConnection()
    members.heard("g", "a", connection)
    members.heard("g", "a", connection)
    connection.end()
    assert [delay_s for delay_s, _ in members.loop.timers] == [1.0]
    assert not members.removed
    members.loop.fire()
    assert members.removed == [("g", "a")]
    assert not len(members)


def test_a_member_that_comes_back_stays() -> None:
    members, first, second = Members(), FakeConnection(), FakeConnection()
    members.heard("g", "a", first)
    first.end()
    members.heard("g", "a", second)
    members.loop.fire()
    assert not members.removed
    second.end()
    members.loop.fire()
    assert members.removed == [("g", "a")], "its next connection counts"


@pytest.mark.parametrize("grace_ms", [0, 1_000])
def test_a_member_that_reads_on_stays(grace_ms: int) -> None:
    """Its share session is on another connection, and ends with it."""
    members, connection = Members(grace_ms), FakeConnection()
    members.reading.add(("g", "a"))
    members.heard("g", "a", connection)
    connection.end()
    for _ in range(3):
        members.loop.fire()
    assert [delay_s > 0 for delay_s, _ in members.loop.timers] == [True]
    assert not members.removed
    members.reading.clear()
    members.loop.fire()
    assert members.removed == [("g", "a")]


def test_a_member_that_has_moved_to_another_connection_stays() -> None:
    members, first, second = Members(), FakeConnection(), FakeConnection()
    members.heard("g", "a", first)
    members.heard("g", "a", second)
    first.end()
    members.loop.fire()
    assert not members.removed
    assert len(members) == 1


def test_a_member_that_has_left_is_forgotten() -> None:
    members, connection = Members(), FakeConnection()
    members.heard("g", "a", connection)
    members.left("g", "a")
    members.left("g", "b")
    assert not len(members)
    connection.end()
    members.loop.fire()
    assert not members.removed


@pytest.mark.parametrize(("grace_ms", "by_client"), [(-1, True), (1_000, False)])
def test_others_wait_for_the_end_of_the_session(grace_ms: int, by_client: bool) -> None:
    """If the setting is -1, and if this node closed the connection: the member may live."""
    members, connection = Members(grace_ms), FakeConnection()
    members.heard("g", "a", connection)
    connection.end(by_client=by_client)
    members.loop.fire()
    assert not members.removed
    assert not len(members)


def test_a_connection_that_breaks_before_the_first_answer_counts() -> None:
    members, connection = Members(), FakeConnection()
    connection.end()
    members.heard("g", "a", connection)
    members.loop.fire()
    assert members.removed == [("g", "a")]


def test_all_members_of_a_connection_are_removed_and_others_stay() -> None:
    members, one, other = Members(), FakeConnection(), FakeConnection()
    before: list[bool] = []
    one.on_lost = lambda: before.append(True)
    members.heard("g", "a", one)
    members.heard("h", "b", one)
    members.heard("g", "c", other)
    one.end()
    members.loop.fire()
    assert sorted(members.removed) == [("g", "a"), ("h", "b")]
    assert before == [True], "who else follows the connection is told too"


@pytest.mark.parametrize(
    ("pause_s", "grace_s"),
    [pytest.param(0.1, 1.0, id="often"), pytest.param(10.0, 15.0, id="rarely")],
)
def test_a_member_has_time_for_its_next_heartbeat(pause_s: float, grace_s: float) -> None:
    """Many clients notice only then that their connection is broken."""
    members, connection = Members(heartbeats=1.5), FakeConnection()
    for _ in range(3):
        members.loop.now_s += pause_s
        members.heard("g", "a", connection)
    connection.end()
    assert [delay_s for delay_s, _ in members.loop.timers] == [pytest.approx(grace_s)]
    members.loop.fire()
    assert members.removed == [("g", "a")]
    assert not members._rhythm


def test_a_heartbeat_out_of_turn_does_not_shorten_that_time() -> None:
    """As one that acknowledges an assignment: the next one comes when it always does."""
    members, connection = Members(heartbeats=1.5), FakeConnection()
    for pause_s in (10.0, 10.0, 0.1, 0.1):
        members.loop.now_s += pause_s
        members.heard("g", "a", connection)
    connection.end()
    assert [delay_s for delay_s, _ in members.loop.timers] == [pytest.approx(15.0)]


def test_one_long_silence_is_forgotten() -> None:
    members, connection = Members(heartbeats=1.5), FakeConnection()
    for pause_s in (3.0, 300.0, *[3.0] * 8):
        members.loop.now_s += pause_s
        members.heard("g", "a", connection)
    connection.end()
    assert [delay_s for delay_s, _ in members.loop.timers] == [pytest.approx(4.5)]


def test_a_member_that_has_just_joined_has_the_time_that_it_was_told() -> None:
    members, connection = Members(heartbeats=1.5), FakeConnection()
    members.heard("g", "a", connection, 5_000)
    connection.end()
    assert [delay_s for delay_s, _ in members.loop.timers] == [pytest.approx(7.5)]


def test_no_rhythm_is_kept_of_members_that_left() -> None:
    members, connection = Members(heartbeats=1.5), FakeConnection()
    for member in ("a", "b"):
        members.heard("g", member, connection)
    members.left("g", "a")
    connection.end(by_client=False)
    assert not members._rhythm


@pytest.mark.parametrize("heartbeats", [0.0, 1.5])
def test_members_that_have_expired_are_forgotten(heartbeats: float) -> None:
    """Of those that joined and were never heard again, on a connection that stays open."""
    members, connection = Members(heartbeats=heartbeats), FakeConnection()
    members.heard("g", "stays", connection)
    for number in range(10_000):
        member = f"m-{number}"
        members.heard("g", member, connection)
        members.expired.add(("g", member))
        assert len(members) < 200
    connection.end()
    members.loop.fire()
    assert ("g", "stays") in members.removed
