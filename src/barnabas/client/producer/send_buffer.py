"""The bound on what a producer holds: room that batches get in grants, and give back.

A batch gets more than its next record needs, so that most records need not ask. What it does not
use it gives back when it is closed. Callers that find no room wait in the producer's loop, first
come, first served; batches leave at once while a caller waits.
"""

import asyncio
from collections import deque

GRANT_BYTES = 64 * 1024
_SHARES = 8  # the part of the free room that one grant may take


class SendBuffer:
    """Room for `size` bytes. `take` and `give_back` need the accumulator's lock."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._taken = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def free(self) -> int:
        return self.size - self._taken

    @property
    def waiting(self) -> int:
        """Callers that wait for room."""
        return len(self._waiting)

    @property
    def is_pressing(self) -> bool:
        """Whether a caller waits for room."""
        return bool(self._waiting)

    def take(self, needed: int, wanted: int, *, in_turn: bool) -> int:
        """The bytes granted: at least `needed`, or 0; at most `wanted`.

        A record larger than the buffer is accepted when the buffer is empty. A caller that has
        not waited is not `in_turn` while others wait.
        """
        free = self.free
        if (self._waiting and not in_turn) or (needed > free and self._taken):
            return 0
        granted = max(needed, min(wanted, GRANT_BYTES, free // _SHARES))
        self._taken += granted
        return granted

    def give_back(self, granted: int) -> None:
        """Make room; or less of it, if a batch was cut and its parts take more together."""
        self._taken -= granted

    # -- the producer's loop -------------------------------------------------------------------

    async def wait(self, *, again: bool) -> None:
        """Wait for one's turn; who finds too little room then waits `again`, before all others."""
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if again:
            self._waiting.appendleft(turn)
        else:
            self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn in self._waiting:
                self._waiting.remove(turn)
            else:
                self.call_next()
            raise

    def call_next(self) -> None:
        """There may be room for the one who has waited longest."""
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
