"""TLS handshakes under way: bounded in number and time.

A client that connects and then says little or nothing must not keep memory, nor keep others out. So
there is a limit, far above what a broker works on at once; beyond it the newest handshake replaces
the oldest, which is most likely a silent one.

Handshakes over the limits, of the node or of their address, wait a while before they begin, and
there are few such places: so they can't use up the CPU. They are not refused at once, as one may be
that of a node.
"""

from asyncio import AbstractEventLoop, TimerHandle
from collections import Counter
from collections.abc import Hashable
from typing import Protocol

MAX_HANDSHAKES = 1000
HANDSHAKE_TIMEOUT_S = 10.0
MAX_HELD = 64
HELD_S = 0.5


class Handshake(Hashable, Protocol):
    """A connection whose handshake is not complete."""

    host: str
    """The address of the client."""

    def proceed(self) -> None:
        """It was held, and may begin."""

    def give_up(self, why: str) -> None:
        """Close it."""


class Handshakes:
    """The handshakes of all listeners of a node."""

    def __init__(self, loop: AbstractEventLoop) -> None:
        self._loop = loop
        self._under_way: dict[Handshake, TimerHandle] = {}
        """With the deadline of each; the oldest first."""
        self._held: dict[Handshake, TimerHandle] = {}
        """Those that have to wait, with the end of the wait; the oldest first."""
        self._hosts: Counter[str] = Counter()

    @property
    def count(self) -> int:
        """How many are under way."""
        return len(self._under_way)

    def of(self, host: str) -> int:
        """How many are under way from an address."""
        return self._hosts[host]

    def begin(self, handshake: Handshake) -> None:
        if len(self._under_way) >= MAX_HANDSHAKES:
            oldest = next(iter(self._under_way))
            self.end(oldest)
            oldest.give_up(f"{MAX_HANDSHAKES} TLS handshakes are under way")
        deadline = self._loop.call_later(HANDSHAKE_TIMEOUT_S, self._time_is_up, handshake)
        self._under_way[handshake] = deadline
        self._hosts[handshake.host] += 1

    def hold(self, handshake: Handshake) -> None:
        """Let one that has begun wait, as it is over the limits."""
        if len(self._held) >= MAX_HELD:
            oldest = next(iter(self._held))
            self.end(oldest)
            oldest.give_up("there are too many connections, or too many of its address")
        self._held[handshake] = self._loop.call_later(HELD_S, self._proceed, handshake)

    def _proceed(self, handshake: Handshake) -> None:
        del self._held[handshake]
        handshake.proceed()

    def end(self, handshake: Handshake) -> None:
        """It is complete, or has failed."""
        deadline = self._under_way.pop(handshake, None)
        if deadline is None:
            return
        deadline.cancel()
        wait = self._held.pop(handshake, None)
        if wait is not None:
            wait.cancel()
        self._hosts[handshake.host] -= 1
        if not self._hosts[handshake.host]:
            del self._hosts[handshake.host]

    def _time_is_up(self, handshake: Handshake) -> None:
        self.end(handshake)
        handshake.give_up(f"no TLS handshake in {HANDSHAKE_TIMEOUT_S:.0f} s")
