"""Keeps the locks of a member: renews them in time, and forgets those that have expired."""

import asyncio
from collections.abc import Callable, Mapping

from barnabas.client.share.acknowledge_type import AcknowledgeType
from barnabas.client.share.acknowledgements import PendingAcknowledgements
from barnabas.client.share.held_records import HeldRecords
from barnabas.client.share.leader_session import LeaderSession
from barnabas.client.share.queue_message import QueueMessage
from barnabas.client.share.settlement import Settlement

_EVERY_S = 0.25
_RENEW_AT = 0.5  # of the lock's time is left


class LockUpkeep:
    def __init__(
        self,
        held: HeldRecords,
        pending: PendingAcknowledgements,
        sessions: Mapping[int, LeaderSession],
        settlement: Settlement,
        monotonic: Callable[[], float],
    ) -> None:
        self._held = held
        self._pending = pending
        self._sessions = sessions
        self._settlement = settlement
        self._monotonic = monotonic

    async def run(self) -> None:
        while True:
            await asyncio.sleep(_EVERY_S)
            now = self._monotonic()
            for message in self._held:
                self._look_after(message, now)
            for partition, each in self._pending.expired(now):
                self._settlement.lost(
                    each, f"no leader of {partition} has answered before its lock expired"
                )

    def _look_after(self, message: QueueMessage, now: float) -> None:
        session = self._sessions[message.node_id]
        if message.deadline <= now:
            message.is_renewing = False
            if message.is_delivered:
                self._held.discard(message)  # its handler hears of it when it is settled
            else:
                self._held.drop(message)
        elif (
            message.deadline - now < session.lock_ms / 1000 * _RENEW_AT
            and now < message.renew_until
            and session.can_renew
            and not message.is_renewing
        ):
            message.is_renewing = True
            self._settlement.acknowledge(message, AcknowledgeType.RENEW, None)
