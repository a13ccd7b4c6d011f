"""Ports of servers that a test starts in its own process."""

from collections import deque
from contextlib import closing

from barnabas.embedded.ports import Ports

_KEPT = 100
_held: deque[Ports] = deque()


def free_ports(count: int) -> list[int]:
    """Ports at which only this process listens, until it has asked for many more.

    A port that was free a moment ago may be taken by another test, whose node then answers in the
    place of the one that has not been started yet.
    """
    _held.append(Ports(count))
    if len(_held) > _KEPT:
        _held.popleft().close()
    return _held[-1].numbers


def unheld_port() -> int:
    """A port that was free a moment ago: for a client that binds to it, which no holder allows."""
    with closing(Ports(1)) as ports:
        return ports.numbers[0]
