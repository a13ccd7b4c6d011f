"""Who may come in, and how much memory all together may hold; no sockets needed."""

import asyncio
from typing import Any

import pytest

from barnabas.broker.config import BrokerConfig
from barnabas.broker.net.door import ConnectionDoor

MEGABYTE = 1 << 20


class Guest:
    """What the door sees of a connection."""

    def __init__(self, host: str = "a", held_bytes: int = 0, *, pending: bool = False) -> None:
        self.client_host = host
        self.held_bytes = held_bytes
        self.is_waiting = False
        self.last_active = 0.0
        self.aborted = False
        self._pending = pending

    def shrink(self) -> None:
        if not self._pending:
            self.held_bytes = 0

    def abort(self) -> None:
        self.aborted = True


class Doorkeeper:
    """A door with settings, and its clock in hand."""

    def __init__(self, **settings: str) -> None:
        named = {name.replace("_", "."): value for name, value in settings.items()}
        loop = asyncio.new_event_loop()
        self.door: Any = ConnectionDoor(loop, BrokerConfig(named))
        self.door.now = lambda: self.now
        self.now = 0.0
        loop.close()

    def enter(self, *guests: Guest) -> list[bool]:
        return [self.door.enter(guest) is None for guest in guests]


def test_so_many_in_all() -> None:
    keeper = Doorkeeper(max_connections="2")
    guests = [Guest("a"), Guest("b"), Guest("c")]
    assert keeper.enter(*guests) == [True, True, False]
    for guest in guests[1:]:  # one turned away leaves too, when its socket is closed
        keeper.door.leave(guest)
    assert keeper.enter(Guest("d")) == [True]


def test_so_many_from_one_address() -> None:
    keeper = Doorkeeper(max_connections_per_ip="1")
    first, second, again = Guest("a"), Guest("a"), Guest("a")
    assert keeper.enter(first, second, Guest("b")) == [True, False, True]
    keeper.door.leave(second)
    assert keeper.enter(again) == [False]
    keeper.door.leave(again)
    keeper.door.leave(first)
    assert keeper.enter(Guest("a")) == [True]


@pytest.mark.parametrize(("pending", "allowed"), [(False, True), (True, False)])
def test_memory_that_is_only_kept_is_given_back_first(pending: bool, allowed: bool) -> None:
    """Nobody is sent away for buffers that others merely keep for their next request."""
    keeper = Doorkeeper(queued_max_request_bytes=str(10 * MEGABYTE))
    guests = [Guest("a", 4 * MEGABYTE, pending=pending) for _ in range(3)]
    busy = Guest("a", 2 * MEGABYTE, pending=True)
    keeper.enter(*guests, busy)
    assert keeper.door.may_hold_more() is allowed
    assert busy.held_bytes == 2 * MEGABYTE


def test_memory_within_the_limit_is_left_alone() -> None:
    keeper = Doorkeeper(queued_max_request_bytes=str(10 * MEGABYTE))
    quiet, busy = Guest("a", 4 * MEGABYTE), Guest("a", 4 * MEGABYTE)
    keeper.enter(quiet, busy)
    assert keeper.door.may_hold_more()
    assert quiet.held_bytes == 4 * MEGABYTE


def test_the_idle_are_sent_away() -> None:
    keeper = Doorkeeper(connections_max_idle_ms="5000")
    idle, waiting, busy = Guest("a", 9), Guest("a", 9), Guest("a", 9)
    waiting.is_waiting = True
    keeper.enter(idle, waiting, busy)
    keeper.now = 4.9
    busy.last_active = 4.5
    keeper.door.sweep()
    assert (idle.held_bytes, busy.held_bytes) == (0, 9)
    keeper.now = 5.1
    keeper.door.sweep()
    assert [guest.aborted for guest in (idle, waiting, busy)] == [True, False, False]
