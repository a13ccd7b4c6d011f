"""Bringing the files of a handler's partitions to where its changelog is.

A file knows of which topic it is, and up to which offset it was read. What follows is read from
the changelog. A file that does not fit is emptied, and all of the changelog is read; that is only
possible if the changelog has its beginning.

What deletes a key is in the changelog for a day only. So a file is as old as the time when it had
all that there was, and one that is too old has missed deletions. What was read in part is not
complete, however late that was: the deletions of its keys may follow, and be about to go.
"""

import logging
import sqlite3
from collections.abc import Sequence

from barnabas.app.clock import Clock
from barnabas.app.handler import Handler
from barnabas.app.state.changelog import Changelog, ChangelogRows, Extent
from barnabas.app.state.local_store import StorePlace
from barnabas.app.state.state_partition import LocalStateDamaged, StatePartition
from barnabas.errors import CorruptRecords, DataLost, StateLost
from barnabas.quantities import counted

_log = logging.getLogger("barnabas.app")
_TELL_S = 5.0
_MAX_AGE_MS = 12 * 3600 * 1000
"""Half of the time that a changelog keeps what deletes a key: an older file may have missed it."""
_MAX_BREAK_MS = 3600 * 1000
"""A file that was never complete is read on if its reading has begun that long ago, or later."""
_CONFIRM_MS = 3600 * 1000


class Restoration:
    """Of one handler."""

    def __init__(self, handler: Handler, changelog: Changelog, clock: Clock) -> None:
        self._handler = handler
        self._names = handler.changelog_names
        self.changelog = changelog
        self._clock = clock
        self._is_ensured = False
        self._topic_id: bytes | None = None

    async def ensure(self) -> None:
        """There is a changelog; raises if it is lost."""
        if not self._is_ensured:
            await self.changelog.ensure()
            self._is_ensured = True

    async def extent(self, partition: int) -> Extent:
        """What the changelog has of a partition."""
        return (await self.extents([partition]))[partition]

    async def extents(
        self, partitions: Sequence[int], *, committed: bool = False
    ) -> dict[int, Extent]:
        """What the changelog has; it is one topic as long as the handler runs."""
        await self.ensure()
        asked_ms = self._clock.time_ms()
        found = await self.changelog.extents(partitions, committed=committed)
        for each in found.values():
            if self._topic_id not in (None, each.topic_id):
                raise StateLost(
                    f"handler {self._handler.name}: the changelog {self._names.topic} was deleted "
                    f"and created again while it was in use. {self._names.remedy}"
                )
            self._topic_id = each.topic_id
        return {name: each._replace(asked_ms=asked_ms) for name, each in found.items()}

    async def bring_up(self, one: StatePartition, extent: Extent | None = None) -> None:
        """Read what the changelog has, up to the end of this extent, and the file has not."""
        if extent is None:
            extent = await self.extent(one.partition)
        if not one.is_open:
            await one.open()
        start = self._start(one, extent)
        if start >= extent.end:
            if extent.asked_ms - one.store.place.complete_ms > _CONFIRM_MS:
                await one.apply(ChangelogRows((), start), extent.asked_ms)  # it does not get old
            return
        one.done, one.total = 0, extent.end - start
        began_ms = told_ms = self._clock.time_ms()
        try:
            async for rows in self.changelog.read(one.partition, start, extent.end):
                is_all = rows.next_offset >= extent.end
                await one.apply(rows, extent.asked_ms if is_all else None)
                one.done = rows.next_offset - start
                if self._clock.time_ms() - told_ms >= 1000 * _TELL_S:
                    told_ms = self._clock.time_ms()
                    self._tell(one, percent(one))
        except CorruptRecords as error:
            raise StateLost(
                f"{self._name(one)} can't be read: {error}. {self._names.remedy}"
            ) from error
        except DataLost as error:
            _log.warning("%s: %s; it is read again", self._handler.name, error)
            raise LocalStateDamaged(str(error)) from error
        if one.is_standby and one.is_restored:
            return  # it follows: nobody waits for it
        took_s = (self._clock.time_ms() - began_ms) / 1000
        self._tell(one, f"restored {counted(one.total, 'offset')} in {took_s:.1f} s")

    def _start(self, one: StatePartition, extent: Extent) -> int:
        """From where to read on; a file that does not fit the changelog is emptied."""
        place, now_ms = one.store.place, self._clock.time_ms()
        reason = None
        if place.topic_id != extent.topic_id:
            reason = "it is of another topic" if place.topic_id else ""
        elif place.next_offset > extent.end and not one.is_standby:
            reason = f"the changelog ends at offset {extent.end}, before its {place.next_offset}"
        elif place.next_offset < extent.first:
            reason = f"the changelog begins at offset {extent.first}"
        elif place.next_offset:
            reason = _too_old(place, now_ms)
        if reason is None:
            return place.next_offset
        if reason:
            self._tell(one, f"a local file is made again: {reason}")
        if extent.first > 0:
            raise StateLost(
                f"{self._name(one)} begins at offset {extent.first}: what was before it was "
                "deleted, by retention or an administrator, so the state can't be restored. "
                f"{self._names.remedy}"
            )
        try:
            one.store.clear(extent.topic_id, now_ms)
        except sqlite3.DatabaseError as error:
            raise one.damaged(error) from error
        return 0

    def _name(self, one: StatePartition) -> str:
        return f"handler {self._handler.name}: the changelog {self._names.topic}-{one.partition}"

    def _tell(self, one: StatePartition, what: str) -> None:
        _log.info(
            "%s: %s of partition %d: %s",
            self._handler.name,
            "standby copy" if one.is_standby else "state",
            one.partition,
            what,
            extra={"handler": self._handler.name, "partition": one.partition},
        )


def _too_old(place: StorePlace, now_ms: int) -> str | None:
    """Why the file may have missed deletions; None if it has not."""
    if place.complete_ms:
        return "it is too old" if now_ms - place.complete_ms > _MAX_AGE_MS else None
    return "it was cut short" if now_ms - place.begun_ms > _MAX_BREAK_MS else None


def percent(one: StatePartition) -> str:
    """How far it is."""
    if not one.total:
        return "not begun"
    return f"{100 * one.done // one.total} % of {counted(one.total, 'offset')}"
