"""What members of both protocols have in common: an identity, a coordinator, heartbeats, leaving.

A member only keeps the membership; what is read and committed is its owner's business.
"""

import asyncio
from abc import ABC, abstractmethod
from contextlib import suppress

from barnabas.client.connect.broker_connection import BrokerConnection
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.connection_pool import Channel
from barnabas.client.group.committed_offsets import GroupMembership

HEARTBEATS_LOST = 3
"""A coordinator that hangs for so many heartbeats is replaced before the session ends there."""

_LEAVE_S = 3.0


class GroupMember(ABC):
    """One member. `_epoch` is the generation of a classic group, or the member's own epoch."""

    def __init__(
        self,
        cluster: ClusterClient,
        group_id: str,
        *,
        group_instance_id: str | None,
        rebalance_timeout_ms: int,
        heartbeat_interval_ms: int,
    ) -> None:
        self.group_id = group_id
        self._cluster = cluster
        self._group_instance_id = group_instance_id
        self._rebalance_timeout_ms = rebalance_timeout_ms
        self._heartbeat_interval_ms = heartbeat_interval_ms
        self._member_id = ""
        self._epoch = -1
        self._heartbeats: asyncio.Task[None] | None = None
        self._channel = Channel()

    @property
    def membership(self) -> GroupMembership:
        """In whose name to commit."""
        return GroupMembership(self._member_id, self._epoch, self._group_instance_id)

    def patience_s(self, share: float) -> float:
        """How long the owner may delay a rebalance without being removed from the group.

        The member notices a rebalance with a heartbeat, so up to an interval late.
        """
        return max(0, share * self._rebalance_timeout_ms - self._heartbeat_interval_ms) / 1000

    async def leave(self) -> None:
        """Leave, so that the others get the partitions at once.

        A member whose coordinator does not answer soon just goes: its session will end.
        """
        await self._stop_heartbeats()
        member_id, self._member_id = self._member_id, ""
        try:
            if member_id:
                with suppress(TimeoutError):
                    async with asyncio.timeout(_LEAVE_S):
                        await self._cluster.retrying(lambda: self._send_leave(member_id))
        finally:
            await self._cluster.close_channel(self._channel)

    @abstractmethod
    async def _send_leave(self, member_id: str) -> None:
        """Tell the coordinator, once."""

    async def _coordinator(self) -> BrokerConnection:
        return await self._cluster.coordinator(self.group_id, self._channel)

    async def _stop_heartbeats(self) -> None:
        if self._heartbeats is not None:
            self._heartbeats.cancel()
            await asyncio.gather(self._heartbeats, return_exceptions=True)
            self._heartbeats = None
