"""Sign-ins that have begun, each bound to one browser and used once."""

from base64 import urlsafe_b64encode
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from hmac import compare_digest
from secrets import token_urlsafe
from time import monotonic

from barnabas.client.users.failed_sign_ins import network

_LIFETIME_S = 600.0
_MAX_ATTEMPTS = 1_000
_OF_ADDRESS = 50
"""At most so many: one client does not push out the attempts of others."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """`browser` goes into a cookie: a link made by someone else does not sign this browser in."""

    began: float
    place: str = ""
    """The network that it was begun from."""
    state: str = field(default_factory=lambda: token_urlsafe(32), repr=False)
    nonce: str = field(default_factory=lambda: token_urlsafe(32), repr=False)
    verifier: str = field(default_factory=lambda: token_urlsafe(48), repr=False)
    browser: str = field(default_factory=lambda: token_urlsafe(32), repr=False)

    @property
    def challenge(self) -> str:
        digest = sha256(self.verifier.encode()).digest()
        return urlsafe_b64encode(digest).rstrip(b"=").decode()


class Attempts:
    """All that may still come back."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._by_state: dict[str, Attempt] = {}

    def begin(self, address: str = "") -> Attempt:
        now, place = self._clock(), network(address)
        mine = [state for state, each in self._by_state.items() if each.place == place]
        for state in mine[: max(0, len(mine) - _OF_ADDRESS + 1)]:
            del self._by_state[state]
        for state, each in list(self._by_state.items()):
            if each.began > now - _LIFETIME_S and len(self._by_state) < _MAX_ATTEMPTS:
                break
            del self._by_state[state]
        attempt = Attempt(now, place)
        self._by_state[attempt.state] = attempt
        return attempt

    def take(self, state: str, browser: str) -> Attempt | None:
        """The attempt of this state and this browser; it is over then."""
        found = self._by_state.get(state)
        if found is None or not compare_digest(found.browser.encode(), browser.encode()):
            return None
        del self._by_state[state]
        return found if found.began > self._clock() - _LIFETIME_S else None
