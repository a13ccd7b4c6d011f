"""Slows down who tries passwords: by user and address, and by address.

A user at one address does not wait for failures of others elsewhere.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address
from math import ceil
from time import monotonic

from barnabas.errors import BarnabasError, SignInFailed

_OF_USER, _OF_ADDRESS = 3, 20
"""Failures after which the next attempt has to wait."""
_LONGEST_S = 60.0
_FORGET_S = 900.0
_MAX_KEYS = 10_000
_NETWORK_BITS = 64

_Key = tuple[str, str | None]


class TooManyFailuresError(BarnabasError):
    """It is too early for another attempt."""

    def __init__(self, wait_s: float) -> None:
        self.wait_s = ceil(wait_s)
        super().__init__(f"too many failed attempts to sign in; try again in {self.wait_s} s")


@dataclass(slots=True)
class _Failures:
    count: int = 0
    last: float = 0.0

    def wait_s(self, allowed: int, now: float) -> float:
        """How long the next attempt has to wait: 1 s, 2 s, 4 s and so on, up to a minute."""
        if self.count < allowed:
            return 0.0
        pause = min(_LONGEST_S, 2.0 ** min(self.count - allowed, 10))
        return max(0.0, self.last + pause - now)


class FailedSignIns:
    """Attempts count as failures until they succeed: many at once are no way around."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._by_key: dict[_Key, _Failures] = {}
        """In order of their last attempts."""

    @contextmanager
    def attempt(self, user: str | None, address: str) -> Iterator[None]:
        """Raises `TooManyFailuresError`; None is a user not known yet."""
        place = network(address)
        limits: dict[_Key, int] = {(place, None): _OF_ADDRESS}
        if user is not None:
            limits[place, user] = _OF_USER
        now = self._clock()
        self._forget(now)
        known = {key: self._by_key.get(key, _Failures()) for key in limits}
        wait_s = max(known[key].wait_s(allowed, now) for key, allowed in limits.items())
        if wait_s > 0:
            raise TooManyFailuresError(wait_s)
        for key, failures in known.items():
            failures.count += 1
            failures.last = now
            self._by_key.pop(key, None)
            self._by_key[key] = failures
        try:
            yield
        except SignInFailed:
            raise
        except BaseException:  # it says nothing about the password
            for failures in known.values():
                failures.count -= 1
            raise
        known[place, None].count -= 1
        if user is not None:
            self._by_key.pop((place, user), None)

    def _forget(self, now: float) -> None:
        for key, failures in list(self._by_key.items()):
            if failures.last > now - _FORGET_S and len(self._by_key) < _MAX_KEYS:
                break
            del self._by_key[key]

    def __len__(self) -> int:
        return len(self._by_key)


def network(address: str) -> str:
    """One machine has many IPv6 addresses: those of a network count together."""
    try:
        found = ip_address(address)
    except ValueError:
        return address
    if isinstance(found, IPv6Address):
        return str(int(found) >> (128 - _NETWORK_BITS)) if found.ipv4_mapped is None else address
    return address
