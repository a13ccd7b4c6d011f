"""Who may come in, and who has to go; no sockets needed."""

from collections.abc import Callable
from typing import Any

from barnabas.broker.net.connection_limits import ConnectionLimits
from barnabas.broker.settings.config import BrokerConfig


class Guest:
    """What the connections sees of a connection."""

    def __init__(self, host: str = "a") -> None:
        self.client_host = self.host = host
        self.is_waiting = False
        self.has_ended = False
        self.last_active = 0.0
        self.opened = 0.0
        self.has_signed_in = True
        self.aborted = False
        self.shrunk = False
        self.probation: str | None = None
        self.is_throttled = False

    def refuse(self, why: str) -> None:
        self.refused = why

    def shrink(self) -> None:
        self.shrunk = True

    def abort(self) -> None:
        self.aborted = True


class Timer:
    def __init__(self, ring: Callable[[], None]) -> None:
        self.ring = ring
        self.is_cancelled = False

    def cancel(self) -> None:
        self.is_cancelled = True


class Timers:
    """As much of an event loop as the connections uses."""

    def __init__(self) -> None:
        self.set: list[Timer] = []

    def time(self) -> float:
        return 0.0

    def call_later(self, _: float, callback: Callable[..., None], *args: Any) -> Timer:
        timer = Timer(lambda: callback(*args))
        self.set.append(timer)
        return timer

    def ring(self) -> None:
        """Time passes."""
        for timer in self.set:
            if not timer.is_cancelled:
                timer.ring()
        self.set.clear()


class Doorkeeper:
    """A connections with settings, and its clock in hand."""

    def __init__(self, **settings: str) -> None:
        named = {name.replace("_", "."): value for name, value in settings.items()}
        self.connections: Any = ConnectionLimits(Timers(), BrokerConfig(named))  # type: ignore[arg-type]
        self.connections.now = lambda: self.now
        self.now = 0.0

    def enter(self, *guests: Guest) -> list[bool]:
        """Who is let in for good."""
        for guest in guests:
            self.connections.enter(guest)
        return [guest.probation is None for guest in guests]


def test_so_many_in_all() -> None:
    keeper = Doorkeeper(max_connections="2")
    guests = [Guest("a"), Guest("b"), Guest("c")]
    assert keeper.enter(*guests) == [True, True, False]
    for guest in guests[1:]:  # one turned away leaves too, when its socket is closed
        keeper.connections.leave(guest)
    assert keeper.enter(Guest("d")) == [True]


def test_who_is_beyond_the_limit_is_known_before_a_tls_handshake() -> None:
    keeper = Doorkeeper(max_connections="2")
    assert not keeper.connections.is_over("x")
    guest = Guest("a")
    keeper.enter(guest)
    assert not keeper.connections.is_over("x")
    keeper.enter(Guest("b"))
    assert keeper.connections.is_over("x")
    keeper.connections.proved(guest)  # a node does not count
    assert not keeper.connections.is_over("x")
    keeper.connections.handshakes.begin(Guest("c"))  # one under way does
    assert keeper.connections.is_over("x")


def test_so_many_from_one_address() -> None:
    keeper = Doorkeeper(max_connections_per_ip="1")
    first, second, again = Guest("a"), Guest("a"), Guest("a")
    assert keeper.enter(first, second, Guest("b")) == [True, False, True]
    keeper.connections.leave(second)
    assert keeper.enter(again) == [False]
    keeper.connections.leave(again)
    keeper.connections.leave(first)
    assert keeper.enter(Guest("a")) == [True]


def test_who_is_beyond_the_limit_goes_soon() -> None:
    keeper = Doorkeeper(max_connections="1")
    inside, beyond = Guest("a"), Guest("b")
    keeper.enter(inside, beyond)
    assert not beyond.aborted
    keeper.connections._loop.ring()
    assert beyond.aborted
    assert beyond.refused == "max.connections is 1"
    assert not inside.aborted


def test_a_node_gets_in_through_a_crowd_and_counts_for_nothing() -> None:
    keeper = Doorkeeper(max_connections="2", max_connections_per_ip="1")
    clients = [Guest("a"), Guest("b")]
    node, beyond = Guest("a"), Guest("c")
    assert keeper.enter(*clients, node) == [True, True, False]
    keeper.connections.proved(node)
    assert node.probation is None
    keeper.connections._loop.ring()
    assert not node.aborted
    assert keeper.enter(beyond) == [False]
    keeper.connections.leave(clients[0])
    assert keeper.enter(Guest("d"), Guest("e")) == [True, False]
    keeper.connections.leave(node)
    assert keeper.enter(Guest("f")) == [False]


def test_a_node_that_proves_itself_in_quiet_times_makes_room_for_a_client() -> None:
    keeper = Doorkeeper(max_connections="1", max_connections_per_ip="1")
    node = Guest("a")
    assert keeper.enter(node) == [True]
    keeper.connections.proved(node)
    assert keeper.enter(Guest("a"), Guest("a")) == [True, False]


def test_the_newest_comer_gets_the_place_of_the_oldest() -> None:
    keeper = Doorkeeper(max_connections="1")
    crowd = [Guest(str(number)) for number in range(201)]
    keeper.enter(*crowd)
    assert [guest.aborted for guest in crowd[1:]] == [True] * 136 + [False] * 64
    for guest in crowd:
        keeper.connections.leave(guest)
    assert not keeper.connections._on_probation
    assert not keeper.connections._uncounted


def test_the_idle_are_sent_away() -> None:
    keeper = Doorkeeper(connections_max_idle_ms="5000")
    idle, waiting, busy = Guest("a"), Guest("a"), Guest("a")
    waiting.is_waiting = True
    keeper.enter(idle, waiting, busy)
    keeper.now = 4.9
    busy.last_active = 4.5
    keeper.connections.sweep()
    assert [guest.shrunk for guest in (idle, waiting, busy)] == [True, True, False]
    keeper.now = 5.1
    keeper.connections.sweep()
    assert [guest.aborted for guest in (idle, waiting, busy)] == [True, False, False]


def test_who_has_closed_its_side_is_served_for_a_while() -> None:
    keeper = Doorkeeper()
    guest = Guest("a")
    guest.is_waiting = guest.has_ended = True
    keeper.enter(guest)
    keeper.now = 9.9
    keeper.connections.sweep()
    assert not guest.aborted
    keeper.now = 10.1
    keeper.connections.sweep()
    assert guest.aborted
