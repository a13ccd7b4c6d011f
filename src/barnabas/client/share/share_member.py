"""Membership in a share group: one request, ShareGroupHeartbeat.

    epoch 0 joins -> the coordinator's epoch, with each heartbeat -> -1 leaves

An answer carries the assignment if it has changed. All members of a share group may have the same
partition. A member that the coordinator does not know, or has fenced, joins again under its name.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress

from barnabas.client.connect.broker_connection import BrokerConnection
from barnabas.client.connect.broker_errors import check
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.connection_pool import Channel
from barnabas.client.connect.environment import RETRY
from barnabas.client.group.member_id import new_member_id
from barnabas.errors import BarnabasError, BrokerError, ProtocolMismatch
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.share_group_heartbeat import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)

_JOIN_EPOCH = 0
_LEAVE_EPOCH = -1
_LEAVE_S = 3.0
_ANSWER_TIMEOUT_MS = 5_000
_REJOIN = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH})

Assignment = dict[bytes, list[int]]
"""Partitions by the id of their topic."""


class ShareMember:
    """One member. `on_assignment` is called with each new assignment."""

    def __init__(
        self,
        cluster: ClusterClient,
        group_id: str,
        topics: Sequence[str],
        on_assignment: Callable[[Assignment], None],
    ) -> None:
        self.group_id = group_id
        self.member_id = new_member_id(cluster.environment.random)
        self._cluster = cluster
        self._topics = list(topics)
        self._on_assignment = on_assignment
        self._epoch = _JOIN_EPOCH
        self._interval_ms = 0
        self._joined = self._has_partitions = False
        self._beats = 0
        self._channel = Channel()
        self._connection: BrokerConnection | None = None
        self._due = asyncio.Event()
        """A heartbeat is due: the coordinator would miss a member whose connection broke."""

    async def run(self) -> None:
        """Join, and stay. Raises what no further attempt will change."""
        while True:
            response = await self._cluster.retrying(self._beat, topics=self._topics)
            if response is None:
                continue  # as a new member
            self._joined = True
            self._epoch = response.member_epoch
            self._interval_ms = response.heartbeat_interval_ms
            if response.assignment is not None:
                self._has_partitions = bool(response.assignment.topic_partitions)
                self._on_assignment(
                    {
                        each.topic_id: each.partitions
                        for each in response.assignment.topic_partitions
                    }
                )
            with suppress(TimeoutError):
                async with asyncio.timeout(self._pause_s()):
                    await self._due.wait()

    def _pause_s(self) -> float:
        """Until the next heartbeat. A new member asks sooner: its assignment takes a moment."""
        interval_s = self._interval_ms / 1000
        if self._has_partitions:
            return interval_s
        self._beats += 1
        return min(interval_s, RETRY.pause(self._beats, self._cluster.environment.random))

    async def leave(self) -> None:
        """Leave; a coordinator that does not answer soon will miss this member."""
        try:
            if self._joined:
                with suppress(TimeoutError, BarnabasError):
                    async with asyncio.timeout(_LEAVE_S):
                        await self._cluster.retrying(lambda: self._send(_LEAVE_EPOCH, None))
        finally:
            await self._cluster.close_channel(self._channel)

    async def _beat(self) -> ShareGroupHeartbeatResponse | None:
        """One heartbeat; None if this member has to join again."""
        joins = self._epoch == _JOIN_EPOCH
        try:
            return await self._send(self._epoch, self._topics if joins else None)
        except BrokerError as error:
            if error.code not in _REJOIN or joins:
                raise
            self._epoch = _JOIN_EPOCH
            return None

    async def _send(self, epoch: int, topics: list[str] | None) -> ShareGroupHeartbeatResponse:
        connection = await self._cluster.coordinator(self.group_id, self._channel)
        self._follow(connection)
        if not connection.serves(ShareGroupHeartbeatRequest):
            raise ProtocolMismatch(
                f"the broker at {connection.address} has no share groups: they need Kafka 4.2 with "
                "the feature share.version=1, or Barnabas"
            )
        response = await connection.send(
            ShareGroupHeartbeatRequest(
                group_id=self.group_id,
                member_id=self.member_id,
                member_epoch=epoch,
                subscribed_topic_names=topics,
            ),
            timeout_ms=_ANSWER_TIMEOUT_MS,
        )
        what = f"group {self.group_id}"
        if response.error_code == ErrorCode.GROUP_ID_NOT_FOUND and epoch == _JOIN_EPOCH:
            raise BrokerError(  # a share group that does not exist would be created
                ErrorCode.GROUP_ID_NOT_FOUND,
                f"{what}: it is of another type ({response.error_message}); a queue needs a share "
                "group: choose another name, or delete this group if nothing needs its offsets",
            )
        check(response.error_code, what, response.error_message, needs="read")
        return response

    def _follow(self, connection: BrokerConnection) -> None:
        self._due.clear()
        if connection is not self._connection:
            self._connection = connection
            connection.on_lost(self._due.set)
