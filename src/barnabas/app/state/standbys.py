"""Standby copies: a process follows the changelog of partitions that it may inherit.

Which these are is no guess: the members of a group compute the assignment, so a process computes
what it would get if any one of the others left. It looks at the group when its own partitions
change, and every few seconds. Where brokers compute the assignment (`group_protocol="consumer"`),
it follows all partitions that it does not have.

A copy is a file like that of any partition. When the partition is assigned, the handler takes the
copy, and reads what was written since: the changelog is not read from its beginning.
"""

import asyncio
import logging
from collections.abc import Collection
from pathlib import Path

from barnabas.app.clock import Clock
from barnabas.app.handler import Handler
from barnabas.app.ports import Source
from barnabas.app.state.changelog import Extent
from barnabas.app.state.inheritance import inheritable
from barnabas.app.state.restoration import Restoration
from barnabas.app.state.state_partition import StatePartition
from barnabas.errors import BarnabasError

_log = logging.getLogger("barnabas.app")
_FOLLOW_S = 0.5
_LOOK_EVERY = 10  # times: at the group
_AT_ONCE = 4  # copies that are read


class Standbys:
    """Of one handler."""

    def __init__(
        self,
        handler: Handler,
        source: Source,
        restoration: Restoration,
        clock: Clock,
        folder: Path,
    ) -> None:
        assert handler.state is not None
        self._handler = handler
        self._expires = handler.state.expires_ms is not None
        self._source = source
        self._restoration = restoration
        self._clock = clock
        self._folder = folder
        self._copies: dict[int, StatePartition] = {}
        self._own: frozenset[int] = frozenset()
        self._until_look = 0
        self._slots = asyncio.Semaphore(_AT_ONCE)
        self._task: asyncio.Task[None] | None = None
        self._has_failed = False

    def copy(self, partition: int) -> StatePartition | None:
        return self._copies.get(partition)

    @property
    def partitions(self) -> list[int]:
        """Of which there is a copy that was read to the end once."""
        return sorted(each for each, one in self._copies.items() if one.is_restored)

    def follow(self, own: Collection[int]) -> None:
        """The handler has these partitions itself; begins at the first call."""
        if self._own != set(own):
            self._own = frozenset(own)
            self._until_look = 0
        if self._task is None:
            self._task = asyncio.ensure_future(self._run())

    async def take(self, partition: int) -> StatePartition | None:
        """The copy of a partition that is assigned now; whoever takes it reads the rest."""
        one = self._copies.pop(partition, None)
        if one is not None:
            await one.stop_restoring()
            one.is_standby = False
        return one

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        for each in list(self._copies):
            await self._drop(each)

    # -- following -----------------------------------------------------------------------------

    async def _run(self) -> None:
        while True:
            try:
                await self._step()
                self._has_failed = False
            except BarnabasError as error:
                if not self._has_failed:
                    _log.warning("%s: standby copies wait: %s", self._handler.name, error)
                self._has_failed = True
                self._until_look = 0
            await self._clock.sleep(_FOLLOW_S)

    async def _step(self) -> None:
        if self._until_look <= 0:
            self._until_look = _LOOK_EVERY
            await self._choose()
        self._until_look -= 1
        idle = [
            one for one in self._copies.values() if one.restoring is None or one.restoring.done()
        ]
        if not idle:
            return
        extents = await self._restoration.extents([each.partition for each in idle], committed=True)
        for one in idle:
            if self._copies.get(one.partition) is one:  # it may be taken meanwhile
                extent = extents[one.partition]
                one.restoring = asyncio.ensure_future(self._bring_up(one, extent))

    async def _choose(self) -> None:
        """Begin and end copies, as the group is now."""
        view = await self._restoration.changelog.group()
        if not view.is_stable:
            self._until_look = 0
            return
        member_id = self._source.membership.member_id
        wanted = inheritable(view, self._handler.topics[0], member_id) - self._own
        for each in self._copies.keys() - wanted:
            await self._drop(each)
        for each in sorted(wanted - self._copies.keys() - self._own):
            one = StatePartition(each, self._folder, expires=self._expires)
            one.is_standby = True
            self._copies[each] = one

    async def _bring_up(self, one: StatePartition, extent: Extent) -> None:
        try:
            async with self._slots:
                await self._restoration.bring_up(one, extent)
            one.is_restored = True
        except BarnabasError as error:
            _log.warning(
                "%s: standby copy of partition %d: %s", self._handler.name, one.partition, error
            )
            self._until_look = 0
            if self._copies.get(one.partition) is one:
                del self._copies[one.partition]  # begins again, when the group was looked at
            one.restoring = None
            await one.close()

    async def _drop(self, partition: int) -> None:
        one = self._copies.pop(partition, None)
        if one is not None:
            await one.close()
