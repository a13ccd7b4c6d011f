"""Who may come in, and who has to go; no sockets needed."""

import asyncio
from typing import Any

from barnabas.broker.config import BrokerConfig
from barnabas.broker.net.door import ConnectionDoor


class Guest:
    """What the door sees of a connection."""

    def __init__(self, host: str = "a") -> None:
        self.client_host = host
        self.is_waiting = False
        self.has_ended = False
        self.last_active = 0.0
        self.aborted = False
        self.shrunk = False

    def shrink(self) -> None:
        self.shrunk = True

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


def test_the_idle_are_sent_away() -> None:
    keeper = Doorkeeper(connections_max_idle_ms="5000")
    idle, waiting, busy = Guest("a"), Guest("a"), Guest("a")
    waiting.is_waiting = True
    keeper.enter(idle, waiting, busy)
    keeper.now = 4.9
    busy.last_active = 4.5
    keeper.door.sweep()
    assert [guest.shrunk for guest in (idle, waiting, busy)] == [True, True, False]
    keeper.now = 5.1
    keeper.door.sweep()
    assert [guest.aborted for guest in (idle, waiting, busy)] == [True, False, False]


def test_who_has_closed_its_side_is_served_for_a_while() -> None:
    keeper = Doorkeeper()
    guest = Guest("a")
    guest.is_waiting = guest.has_ended = True
    keeper.enter(guest)
    keeper.now = 9.9
    keeper.door.sweep()
    assert not guest.aborted
    keeper.now = 10.1
    keeper.door.sweep()
    assert guest.aborted
