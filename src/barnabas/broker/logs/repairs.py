"""What was repaired in logs, one line for all of them.

After a node was killed it is the same for every partition within a second: its own logs were not
closed, and those of the others may end behind their new leaders'. A line for each would bury what
else the log has to say.
"""

import logging
from asyncio import AbstractEventLoop, TimerHandle
from pathlib import PurePath
from typing import NamedTuple

from barnabas.quantities import counted, some

logger = logging.getLogger(__name__)

_TOGETHER_S = 1.0


class _Scan(NamedTuple):
    scanned_bytes: int
    cut_bytes: int


class _Cut(NamedTuple):
    end: int
    before: int
    directory: str


class Repairs:
    """Collects them for a second."""

    def __init__(self, loop: AbstractEventLoop) -> None:
        self._loop = loop
        self._scans: dict[str, _Scan] = {}
        self._cuts: dict[str, _Cut] = {}
        self._timer: TimerHandle | None = None

    def unclosed(self, name: str, scanned_bytes: int, cut_bytes: int) -> None:
        """A log was not closed: its end was scanned, and what is torn was truncated."""
        self._scans[name] = _Scan(scanned_bytes, cut_bytes)
        self._say_soon()

    def truncated(self, name: str, end: int, before: int, directory: str) -> None:
        """A log ended at `before`, and ends at `end` now; the rest is in `directory`."""
        self._cuts[name] = _Cut(end, before, directory)
        self._say_soon()

    def say(self) -> None:
        """Log what there is, at the latest when the node stops."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        scans, self._scans = self._scans, {}
        cuts, self._cuts = self._cuts, {}
        if scans:
            logger.warning("%s", _of_scans(scans))
        if cuts:
            logger.warning("%s", _of_cuts(cuts))

    def _say_soon(self) -> None:
        if self._timer is None:
            self._timer = self._loop.call_later(_TOGETHER_S, self.say)


def _of_scans(scans: dict[str, _Scan]) -> str:
    scanned = sum(each.scanned_bytes for each in scans.values())
    cut = sum(each.cut_bytes for each in scans.values())
    done = f"scanned {scanned} bytes, truncated {cut}"
    if len(scans) == 1:
        (name,) = scans
        return f"{name} was not closed: {done}"
    torn = [f"{name} ({each.cut_bytes})" for name, each in scans.items() if each.cut_bytes]
    which = f"from {some(torn)}" if torn else f"such as {some(list(scans))}"
    return f"{counted(len(scans), 'log')} were not closed: {done}, {which}"


def _of_cuts(cuts: dict[str, _Cut]) -> str:
    if len(cuts) == 1:
        ((name, cut),) = cuts.items()
        return (
            f"{name} ends at {cut.end} now, not at {cut.before}; the truncated records are in "
            f"{cut.directory}"
        )
    ends = [f"{name} at {each.end} (not {each.before})" for name, each in cuts.items()]
    folder = PurePath(next(iter(cuts.values())).directory).parents[1]
    return (
        f"{counted(len(cuts), 'log')} end earlier now, as their leaders' do: {some(ends)}; the "
        f"truncated records are in {folder}"
    )
