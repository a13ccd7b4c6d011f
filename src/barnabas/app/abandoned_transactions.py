"""Rolls back what killed workers of an exactly-once handler have left open.

A worker's transactional id ends with its member id. Whenever the group has moved on, each member
looks for open transactions of ids that belong to no member, and fences them. Otherwise those who
read the same partitions next, and readers of the results, would wait for the transaction's timeout.

Several members may do so at once: the second one finds a transaction that is being ended.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from barnabas.app.handler import Handler
from barnabas.app.ports import Source
from barnabas.backoff import Backoff
from barnabas.client.group.committed_offsets import NO_MEMBER
from barnabas.errors import BarnabasError, NotAuthorized, ProtocolMismatch

_LOOK_S = 0.25
_PAUSES = Backoff(0.5, 10.0)

_log = logging.getLogger("barnabas.app")

Fence = Callable[[str, str], Awaitable[list[str]]]
"""Given a group and a prefix of transactional ids: fences those that are abandoned."""


class AbandonedTransactions:
    """Of one handler."""

    def __init__(self, handler: Handler, source: Source, fence: Fence) -> None:
        self._handler = handler
        self._source = source
        self._fence = fence

    async def run(self) -> None:
        """Until cancelled."""
        seen = NO_MEMBER
        while True:
            membership = self._source.membership
            if membership.member_id and membership != seen:
                seen = membership
                await self._look()
            await asyncio.sleep(_LOOK_S)

    async def _look(self) -> None:
        name = self._handler.name
        for pause_s in _PAUSES.pauses():
            try:
                fenced = await self._fence(self._handler.group_name, self._handler.worker_id_prefix)
            except (NotAuthorized, ProtocolMismatch) as error:
                _log.debug(
                    "%s: transactions of killed workers end by their timeout: %s", name, error
                )
                return
            except BarnabasError as error:
                _log.debug("%s: looking for open transactions again: %s", name, error)
                await asyncio.sleep(pause_s)
                continue
            for each in fenced:
                _log.warning(
                    "%s: the worker of %s is gone, and its open transaction is rolled back",
                    name,
                    each,
                    extra={"handler": name},
                )
            return
