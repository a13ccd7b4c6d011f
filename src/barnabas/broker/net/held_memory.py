"""Memory that clients make the broker hold: the total, and which connections to close over the
limit.

There are two kinds: requests that are still arriving, and answers that are not read. Ordinary ones
are small and pass at once, so they are not counted; a connection is in here only while it holds
more than that. Over the limit, the broker closes the connections that have held the most for the
longest, not the one that happens to come next; those of clients that have not signed in go first.
"""

import logging
from collections.abc import Callable
from typing import Protocol

logger = logging.getLogger(__name__)

_CUT_TO = 0.75
"""The share of the limit to shrink to once it is exceeded; otherwise every further byte would sort
all connections again."""
_TOLERATED = 1.25


class Holder(Protocol):
    """A connection."""

    client_host: str

    @property
    def is_admitted(self) -> bool:
        """Whether the client has signed in, where that is asked for."""

    def abort(self) -> None: ...


class HeldMemory:
    """One of the two kinds. A closed connection counts until it is gone and its memory is freed."""

    def __init__(self, what: str, setting: str, now: Callable[[], float]) -> None:
        self._what = what
        self._setting = setting
        self._now = now
        self.max_bytes = 0
        self.total = 0
        self.reserved = 0
        """Bytes of answers that are not written yet; once written, they are in `total`."""
        self._held: dict[Holder, tuple[int, float]] = {}
        """How much each holds, and since when."""
        self._closed: set[Holder] = set()
        self._closed_bytes = 0

    def add(self, holder: Holder, more: int) -> None:
        """Add `more` bytes to what the connection holds; may be negative."""
        held, since = self._held.get(holder, (0, 0.0))
        self._held[holder] = (held + more, since or self._now())
        self.total += more
        if holder in self._closed:
            self._closed_bytes += more
        elif self.total - self._closed_bytes > self.max_bytes:
            self._cut_off()

    def forget(self, holder: Holder) -> None:
        """The connection holds nothing any longer, or is gone."""
        if holder not in self._held:
            return
        held, _ = self._held.pop(holder)
        self.total -= held
        if holder in self._closed:
            self._closed.remove(holder)
            self._closed_bytes -= held

    def held_by(self, holder: Holder) -> int:
        held, _ = self._held.get(holder, (0, 0.0))
        return held

    def room(self) -> int:
        return max(0, self.max_bytes - self.total - self.reserved)

    @property
    def is_exceeded(self) -> bool:
        """Whether the total is far over the limit: connections that were closed are not gone
        yet, or many answers are being made."""
        return self.total + self.reserved > self.max_bytes * _TOLERATED

    def _cut_off(self) -> None:
        now = self._now()

        def burden(holder: Holder) -> tuple[bool, float]:
            held, since = self._held[holder]
            return not holder.is_admitted, held * (1 + now - since)

        cut: list[Holder] = []
        cut_bytes = 0
        open_holders = [holder for holder in self._held if holder not in self._closed]
        for holder in sorted(open_holders, key=burden, reverse=True):
            # Who has signed in does not pay for the room that strangers took.
            is_spared = bool(cut) and holder.is_admitted and not cut[0].is_admitted
            if self.total - self._closed_bytes <= self.max_bytes * (1 if is_spared else _CUT_TO):
                break
            held = self.held_by(holder)
            self._closed.add(holder)
            self._closed_bytes += held
            cut_bytes += held
            cut.append(holder)
        # One line for all of them: a flood of connections must not flood the log.
        logger.warning(
            "closed %d connections that held %d bytes of %s, the first from %s: %s is used up (%d)",
            len(cut),
            cut_bytes,
            self._what,
            cut[0].client_host,
            self._setting,
            self.max_bytes,
        )
        for holder in cut:
            holder.abort()
