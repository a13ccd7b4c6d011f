"""Membership in a consumer group, by the classic protocol and with eager rebalancing.

    join -> (the leader assigns) -> sync -> heartbeats ... -> join again, or leave

When the group rebalances, the heartbeat finds out and sets `rejoin_needed`: the owner then commits,
stops reading and calls `join` again, within `rebalance_timeout_ms`.

Leaves out cooperative rebalancing.
"""

import asyncio
import re
from collections.abc import Sequence

from barnabas.client.connect.broker_connection import BrokerConnection
from barnabas.client.connect.broker_errors import check
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.connect.connection_pool import Channel
from barnabas.client.group.assignors import ASSIGNORS
from barnabas.client.group.consumer_protocol import (
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from barnabas.client.group.group_member import HEARTBEATS_LOST, GroupMember
from barnabas.errors import BarnabasError, BrokerError, InvalidArgument, ProtocolMismatch
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.heartbeat import HeartbeatRequest
from barnabas.wire.messages.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from barnabas.wire.messages.leave_group import LeaveGroupRequest
from barnabas.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment

_PROTOCOL_TYPE = "consumer"
_SINGLE_MEMBER_LEAVE = 2  # from version 3 on, one request may name several members
_ANSWER_SLACK_MS = 5_000
_HEARTBEAT_INTERVAL_MS = 3_000
_PATTERN_MAX_AGE_MS = 10_000
"""How soon a new topic that matches is looked for, as coordinators of the newer protocol do."""

# After these the member is still known, or will be under the same name.
_REJOIN = frozenset({ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.MEMBER_ID_REQUIRED})
# After these it has to join as a new member.
_START_OVER = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION})


class ClassicMember(GroupMember):
    """One member. `rejoin_needed` is set until `join` has succeeded."""

    def __init__(
        self,
        cluster: ClusterClient,
        group_id: str,
        topics: Sequence[str],
        *,
        pattern: str | None = None,
        assignors: Sequence[str] = ("range", "roundrobin"),
        group_instance_id: str | None = None,
        session_timeout_ms: int = 45_000,
        rebalance_timeout_ms: int = 60_000,
        heartbeat_interval_ms: int | None = None,
        metadata_max_age_ms: int = 60_000,
    ) -> None:
        """It is subscribed to `topics`, and to all whose whole names match `pattern`."""
        unknown = set(assignors) - ASSIGNORS.keys()
        if unknown or not assignors:
            raise InvalidArgument(
                f"unknown assignors {sorted(unknown)}: there are {', '.join(ASSIGNORS)}"
            )
        if heartbeat_interval_ms is None:
            # Frequent enough to notice a rebalance long before it is over.
            heartbeat_interval_ms = min(
                _HEARTBEAT_INTERVAL_MS, session_timeout_ms // 3, rebalance_timeout_ms // 10
            )
        super().__init__(
            cluster,
            group_id,
            group_instance_id=group_instance_id,
            rebalance_timeout_ms=rebalance_timeout_ms,
            heartbeat_interval_ms=heartbeat_interval_ms,
        )
        self.rejoin_needed = asyncio.Event()
        self.rejoin_needed.set()
        self._named = list(topics)
        self._pattern = None if pattern is None else _compiled(pattern)
        self._topics = self._named
        """What it has joined for: those that are named, and those that matched then."""
        self._assignors = assignors
        self._session_timeout_ms = session_timeout_ms
        self._answer_timeout_ms = min(HEARTBEATS_LOST * heartbeat_interval_ms, session_timeout_ms)
        if pattern is not None:
            metadata_max_age_ms = min(metadata_max_age_ms, _PATTERN_MAX_AGE_MS)
        self._metadata_max_age_ms = metadata_max_age_ms
        self._partition_counts: dict[str, int] = {}
        self._leader = ""
        self._is_join_abandoned = False
        """Whether a join was abandoned that the coordinator may not have answered yet."""

    @property
    def is_leader(self) -> bool:
        """Whether it has shared the partitions out when it joined last."""
        return bool(self._member_id) and self._leader == self._member_id

    def subscribe(self, topics: Sequence[str]) -> None:
        """Read these topics from the next `join` on."""
        self._named = list(topics)

    async def join(self) -> list[TopicPartition]:
        """Join, or join again, and return the partitions this member got."""
        await self._stop_heartbeats()
        assignment = None
        while assignment is None:
            assignment = await self._cluster.retrying(self._try_to_join)
        self.rejoin_needed.clear()
        self._heartbeats = asyncio.create_task(self._beat())
        return assignment

    async def _send_leave(self, member_id: str) -> None:
        if self._group_instance_id is not None:
            return  # a static member just goes
        connection = await self._coordinator()
        response = await connection.send(
            LeaveGroupRequest(group_id=self.group_id, member_id=member_id),
            max_version=_SINGLE_MEMBER_LEAVE,
        )
        if response.error_code not in (ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID):
            check(response.error_code, f"group {self.group_id}", needs="read")

    # -- joining -------------------------------------------------------------------------------

    async def _try_to_join(self) -> list[TopicPartition] | None:
        """Join once; None asks for another attempt at once, under another name maybe."""
        try:
            return await self._join_once()
        except asyncio.CancelledError:
            self._is_join_abandoned = True
            raise
        except BrokerError as error:
            if error.code in _START_OVER:
                self._member_id = ""
            elif error.code not in _REJOIN:
                raise
            return None

    async def _join_once(self) -> list[TopicPartition]:
        connection = await self._coordinator()
        self._topics = await self._subscribed()
        subscription = encode_subscription(self._topics)
        joined = await connection.send(
            JoinGroupRequest(
                group_id=self.group_id,
                session_timeout_ms=self._session_timeout_ms,
                rebalance_timeout_ms=self._rebalance_timeout_ms,
                member_id=self._member_id,
                group_instance_id=self._group_instance_id,
                protocol_type=_PROTOCOL_TYPE,
                protocols=[
                    JoinGroupRequestProtocol(name, subscription) for name in self._assignors
                ],
            ),
            timeout_ms=self._rebalance_timeout_ms + _ANSWER_SLACK_MS,
        )
        if joined.member_id:
            self._member_id = joined.member_id
        check(joined.error_code, f"group {self.group_id}", needs="read")
        self._epoch = joined.generation_id
        self._leader = joined.leader
        synced = await connection.send(
            SyncGroupRequest(
                group_id=self.group_id,
                generation_id=joined.generation_id,
                member_id=self._member_id,
                group_instance_id=self._group_instance_id,
                protocol_type=_PROTOCOL_TYPE,
                protocol_name=joined.protocol_name,
                assignments=await self._assign(joined),
            ),
            timeout_ms=self._rebalance_timeout_ms + _ANSWER_SLACK_MS,
        )
        check(synced.error_code, f"group {self.group_id}", needs="read")
        return decode_assignment(synced.assignment)

    async def _assign(self, joined: JoinGroupResponse) -> list[SyncGroupRequestAssignment]:
        """The assignments of all members, if this member leads the group."""
        self._partition_counts = {}
        if joined.leader != self._member_id or joined.skip_assignment:
            return []
        assignor = ASSIGNORS.get(joined.protocol_name or "")
        if assignor is None:
            raise ProtocolMismatch(f"group {self.group_id} chose {joined.protocol_name!r}")
        subscriptions = {
            member.member_id: decode_subscription(member.metadata) for member in joined.members
        }
        topics = sorted({topic for wanted in subscriptions.values() for topic in wanted})
        self._partition_counts = await self._count_partitions(topics)
        return [
            SyncGroupRequestAssignment(member, encode_assignment(partitions))
            for member, partitions in assignor(subscriptions, self._partition_counts).items()
        ]

    async def _subscribed(self) -> list[str]:
        """The topics that are named, and those that match the pattern now."""
        pattern = self._pattern
        if pattern is None:
            return self._named
        found = await self._cluster.refresh(None)
        matching = {
            name
            for name, topic in found.items()
            if pattern.fullmatch(name) and not topic.is_internal
        }
        return sorted(matching.union(self._named))

    async def _count_partitions(self, topics: Sequence[str]) -> dict[str, int]:
        known = await self._cluster.refresh(topics)
        return {name: len(known[name].partitions) for name in topics if name in known}

    async def _coordinator(self) -> BrokerConnection:
        if self._is_join_abandoned:
            # What is asked behind a join waits until all other members have joined.
            self._is_join_abandoned = False
            closing, self._channel = self._channel, Channel()
            await self._cluster.close_channel(closing)
        return await super()._coordinator()

    # -- staying -------------------------------------------------------------------------------

    async def _beat(self) -> None:
        """Tell the coordinator that this member is alive, also while it is awaited to rejoin."""
        request = HeartbeatRequest(
            group_id=self.group_id,
            generation_id=self._epoch,
            member_id=self._member_id,
            group_instance_id=self._group_instance_id,
        )
        counted_at = self._cluster.environment.monotonic()
        while self._member_id:
            await asyncio.sleep(self._heartbeat_interval_ms / 1000)
            try:
                if (
                    self._cluster.environment.monotonic() - counted_at
                ) * 1000 >= self._metadata_max_age_ms:
                    counted_at = self._cluster.environment.monotonic()
                    await self._look_for_changes()
                connection = await self._coordinator()
                response = await connection.send(request, timeout_ms=self._answer_timeout_ms)
                check(response.error_code, f"group {self.group_id}", needs="read")
            except BrokerError as error:
                if error.code in _REJOIN:
                    self.rejoin_needed.set()
                elif error.code in _START_OVER or not error.retriable:
                    if error.code in _START_OVER:
                        self._member_id = ""
                    self.rejoin_needed.set()
                    return
                else:
                    self._cluster.forget_coordinator(self.group_id)
            except BarnabasError:
                self._cluster.forget_coordinator(self.group_id)

    async def _look_for_changes(self) -> None:
        """Notice new partitions, if this member leads, and topics that match its own pattern."""
        counts = self._partition_counts
        if (counts and await self._count_partitions(list(counts)) != counts) or (
            self._pattern is not None and await self._subscribed() != self._topics
        ):
            self.rejoin_needed.set()


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        raise InvalidArgument(f"pattern {pattern!r}: {error}") from error
