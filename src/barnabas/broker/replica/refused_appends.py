"""Partitions that this node could not append to: the disk is full, or fails.

The controller is told, so that other nodes lead them; health checks tell operators. An entry is
dropped a while after the last refusal, since only an append can show that the disk works again.
"""

from asyncio import AbstractEventLoop
from collections.abc import Callable

_REMEMBERED_S = 60.0


class RefusedAppends:
    def __init__(
        self, loop: AbstractEventLoop, on_unwritable: Callable[[str, bytes, int], None]
    ) -> None:
        self._loop = loop
        self._on_unwritable = on_unwritable
        self._last: dict[str, float] = {}

    def note(self, topic: str, topic_id: bytes, index: int) -> None:
        """A replica could not append."""
        self._last[f"{topic}-{index}"] = self._loop.time()
        self._on_unwritable(topic, topic_id, index)

    def recent(self) -> list[str]:
        """The partitions of the last minute."""
        since = self._loop.time() - _REMEMBERED_S
        self._last = {name: at for name, at in self._last.items() if at >= since}
        return sorted(self._last)
