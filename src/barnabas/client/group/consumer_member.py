"""Membership in a consumer group by the consumer protocol (KIP-848): the coordinator assigns.

    heartbeat, epoch 0 -> assignment -> the owner reconciles -> heartbeat with what it owns -> ...

There is one request, the heartbeat. Its answer may hold an assignment: what this member shall own.
The owner gives up what is not in it, and calls `acknowledge`; only then does the coordinator give
these partitions to others, and this member what others gave up. Partitions that stay are read all
the time.

A member that is fenced has lost everything: it joins again with epoch 0, under the same id, as the
next incarnation. A static member leaves with an epoch that keeps its partitions for its return.

A heartbeat says only what has changed, all of it after a failure. After a change the next ones
follow at short intervals: partitions that others give up are noticed soon.

A subscription by a regular expression (RE2) is the coordinator's to match: the member learns the
names of its topics with its assignment.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from barnabas.backoff import Backoff
from barnabas.client.connect.broker_errors import broker_error, check
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.connect.environment import RETRY
from barnabas.client.group.committed_offsets import GroupMembership
from barnabas.client.group.group_member import GroupMember
from barnabas.client.group.member_id import new_member_id
from barnabas.errors import BarnabasError, BrokerError, ProtocolMismatch
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)

Assignment = dict[TopicPartition, bytes]
"""Partitions, each with the id of its topic."""

_JOINING = 0
_LEAVING = -1
_LEAVING_FOR_A_MOMENT = -2
_HEARTBEAT_INTERVAL_MS = 5_000  # until the coordinator says otherwise
_ANSWER_TIMEOUT_MS = 9_000  # a coordinator that hangs is replaced before the session ends there
_SOON_S = 0.2  # to the first of the heartbeats that follow a change
_RENEW_S = 5.0
_SINCE_PATTERNS = 1  # the version of the heartbeat

_FENCED = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH})


def _nothing() -> None:
    """What an owner does that does not listen."""


class ConsumerMember(GroupMember):
    """One member; `start` begins its heartbeats.

    `changed` is set when there is an assignment to reconcile, the member was fenced (another
    `incarnation`), or it gave up (`failure`). `on_epoch` and `on_lost` are called at once.
    """

    def __init__(
        self,
        cluster: ClusterClient,
        group_id: str,
        topics: Sequence[str],
        *,
        pattern: str | None = None,
        remote_assignor: str | None = None,
        rack: str | None = None,
        group_instance_id: str | None = None,
        rebalance_timeout_ms: int = 60_000,
    ) -> None:
        """It is subscribed to `topics`, and to all that match `pattern`."""
        super().__init__(
            cluster,
            group_id,
            group_instance_id=group_instance_id,
            rebalance_timeout_ms=rebalance_timeout_ms,
            heartbeat_interval_ms=_HEARTBEAT_INTERVAL_MS,
        )
        self.changed = asyncio.Event()
        self.incarnation = 0
        self.assignment: Assignment | None = None
        """What to own; None before the coordinator has said it."""
        self.failure: BarnabasError | None = None
        """Why the heartbeats have ended."""
        self.on_epoch: Callable[[], None] = _nothing
        self.on_lost: Callable[[], None] = _nothing
        self._topics = sorted(topics)
        self._pattern = pattern
        self._remote_assignor = remote_assignor
        self._rack = rack
        self._assigned: list[TopicPartitions] | None = None
        self._owned: Assignment = {}
        self._told_owned: Assignment | None = None  # None: the next heartbeat says everything
        self._wake = asyncio.Event()
        self._renewed = asyncio.Event()
        self._pace = Backoff(_SOON_S, _HEARTBEAT_INTERVAL_MS / 1000)
        self._beats_since_change = 0

    # -- the owner's side ----------------------------------------------------------------------

    def start(self) -> None:
        """Join, and go on until `leave`; again after a failure."""
        if self._heartbeats is None or self._heartbeats.done():
            if not self._member_id:
                self._member_id = new_member_id(self._cluster.environment.random)
                self._epoch = _JOINING
            self._heartbeats = asyncio.create_task(self._beat())

    def acknowledge(self, owned: Mapping[TopicPartition, bytes]) -> None:
        """The owner reads exactly these partitions now."""
        if owned != self._owned:
            self._owned = dict(owned)
            self._beats_since_change = 0
            self._wake.set()

    async def step_aside(self) -> None:
        """Leave for now: `start` joins again, as another member."""
        await self.leave()
        self._lose()

    def beat_soon(self) -> None:
        """Ask the coordinator now, if this member is still one."""
        self._wake.set()

    async def renew(self, membership: GroupMembership) -> bool:
        """Wait until the heartbeat brings the epoch that the coordinator has already."""
        incarnation = self.incarnation
        try:
            async with asyncio.timeout(_RENEW_S):
                while self.membership == membership:
                    self._renewed.clear()
                    self._wake.set()
                    await self._renewed.wait()
        except TimeoutError:
            return False
        return incarnation == self.incarnation

    # -- heartbeats ----------------------------------------------------------------------------

    async def _beat(self) -> None:
        clock = self._cluster.environment.monotonic
        failing_since: float | None = None
        attempts = 0
        while True:
            self._wake.clear()
            try:
                response = await self._send_heartbeat()
                await self._take_in(response)
            except BarnabasError as error:
                self._told_owned = None
                failing_since = failing_since or clock()
                failing_s = clock() - failing_since
                attempts += 1
                if isinstance(error, BrokerError) and error.code in _FENCED:
                    self._lose()
                    failing_since = None  # the outage is over: it may join for as long as at first
                elif self._is_final(error, failing_s):
                    self._lose()
                    self.failure = error
                    self.changed.set()
                    return
                else:
                    self._cluster.forget_coordinator(self.group_id)
                    self._cluster.on_retry(error, failing_s)
                await asyncio.sleep(RETRY.pause(attempts, self._cluster.environment.random))
                if not attempts % 2:
                    await self._cluster.refresh_leaders(())  # its coordinator may be gone
                continue
            failing_since, attempts = None, 0
            await self._pause()

    async def _pause(self) -> None:
        self._beats_since_change += 1
        pause_s = self._pace.pause(self._beats_since_change)
        try:
            async with asyncio.timeout(pause_s):
                await self._wake.wait()
        except TimeoutError:
            pass

    def _is_final(self, error: BarnabasError, failing_s: float) -> bool:
        """Whether trying again is of no use, or was for too long before this member has joined."""
        if isinstance(error, BrokerError) and error.code is ErrorCode.UNRELEASED_INSTANCE_ID:
            # One that has crashed: its partitions are kept until its session ends.
            return failing_s * 1000 > self._rebalance_timeout_ms
        if not error.retriable:
            return True
        return self._epoch == _JOINING and failing_s * 1000 > self._cluster.retry_timeout_ms

    async def _send_heartbeat(self) -> ConsumerGroupHeartbeatResponse:
        connection = await self._coordinator()
        if not connection.serves(ConsumerGroupHeartbeatRequest):
            raise self._unsupported()
        version = connection.version_for(ConsumerGroupHeartbeatRequest)
        if self._pattern is not None and version < _SINCE_PATTERNS:
            raise self._unsupported("subscriptions by a pattern", "topics=..., with their names")
        is_full = self._told_owned is None or self._epoch == _JOINING
        owned = {} if self._epoch == _JOINING else self._owned
        request = ConsumerGroupHeartbeatRequest(
            group_id=self.group_id,
            member_id=self._member_id,
            member_epoch=self._epoch,
            instance_id=self._group_instance_id,
            rack_id=self._rack if is_full else None,
            rebalance_timeout_ms=self._rebalance_timeout_ms if is_full else -1,
            subscribed_topic_names=self._topics if is_full else None,
            subscribed_topic_regex=self._pattern if is_full else None,
            server_assignor=self._remote_assignor if is_full else None,
            topic_partitions=_by_topic(owned) if is_full or owned != self._told_owned else None,
        )
        response = await connection.send(request, timeout_ms=_ANSWER_TIMEOUT_MS)
        self._check(response)
        self._told_owned = dict(owned)
        return response

    def _check(self, response: ConsumerGroupHeartbeatResponse) -> None:
        if response.error_code == ErrorCode.UNSUPPORTED_VERSION:
            raise self._unsupported()
        what = f"group {self.group_id}"
        if response.error_code == ErrorCode.GROUP_ID_NOT_FOUND:
            raise BrokerError(
                ErrorCode.GROUP_ID_NOT_FOUND,
                f"{what}: it is of another type ({response.error_message}); stop its members, use "
                'group_protocol="classic", or choose another group',
            )
        if response.error_code == ErrorCode.UNSUPPORTED_ASSIGNOR:
            what += f", group_remote_assignor={self._remote_assignor!r}"
        if response.error_code == ErrorCode.INVALID_REGULAR_EXPRESSION:
            what += f", pattern={self._pattern!r} (in the syntax of RE2)"
        check(response.error_code, what, response.error_message, needs="read")

    def _unsupported(
        self,
        what: str = "the consumer group protocol (KIP-848)",
        instead: str = 'group_protocol="classic"',
    ) -> ProtocolMismatch:
        return ProtocolMismatch(
            f"group {self.group_id}: the brokers do not serve {what}; use {instead}, or brokers "
            "from Kafka 4.0 on, with the feature group.version at 1"
        )

    async def _take_in(self, response: ConsumerGroupHeartbeatResponse) -> None:
        if response.member_id:
            self._member_id = response.member_id
        if response.heartbeat_interval_ms > 0:
            self._heartbeat_interval_ms = response.heartbeat_interval_ms
            self._pace = Backoff(_SOON_S, response.heartbeat_interval_ms / 1000)
        if response.member_epoch != self._epoch:
            self._epoch = response.member_epoch
            self._beats_since_change = 0
            self.on_epoch()
            self._renewed.set()
        if response.assignment is not None:
            self._assigned = response.assignment.topic_partitions
        elif self._assigned is None:
            self._assigned = []
        if response.assignment is not None or self.assignment is None:
            self._beats_since_change = 0
        await self._resolve()

    async def _resolve(self) -> None:
        """Find the names of the assigned topics; one that is not known yet is left for later."""
        assert self._assigned is not None
        names = self._names()
        if any(each.topic_id not in names for each in self._assigned):
            await self._cluster.refresh(self._topics if self._pattern is None else None)
            names = self._names()
        assignment = {
            TopicPartition(names[each.topic_id], partition): each.topic_id
            for each in self._assigned
            if each.topic_id in names
            for partition in each.partitions
        }
        if assignment != self.assignment:
            self.assignment = assignment
            self.changed.set()

    def _names(self) -> dict[bytes, str]:
        topics = self._topics if self._pattern is None else self._cluster.known_topics()
        known = [self._cluster.known_topic(name) for name in topics]
        return {each.topic_id: each.name for each in known if each is not None}

    def _lose(self) -> None:
        """The coordinator has given the partitions to others, or is about to."""
        if self._epoch != _JOINING:
            self.incarnation += 1
        self._epoch = _JOINING
        self._assigned = self.assignment = None
        self._owned = {}
        self._beats_since_change = 0
        self._renewed.set()
        self.on_lost()
        self.changed.set()

    # -- leaving -------------------------------------------------------------------------------

    async def _send_leave(self, member_id: str) -> None:
        if self._epoch == _JOINING and self.assignment is None and self.incarnation:
            return  # it was fenced, and has not joined again
        connection = await self._coordinator()
        if not connection.serves(ConsumerGroupHeartbeatRequest):
            return
        is_static = self._group_instance_id is not None
        response = await connection.send(
            ConsumerGroupHeartbeatRequest(
                group_id=self.group_id,
                member_id=member_id,
                member_epoch=_LEAVING_FOR_A_MOMENT if is_static else _LEAVING,
                instance_id=self._group_instance_id,
            )
        )
        error = broker_error(response.error_code, f"group {self.group_id}")
        if response.error_code and error.retriable:
            raise error  # otherwise it is no member any more, whatever the reason


def _by_topic(owned: Mapping[TopicPartition, bytes]) -> list[TopicPartitions]:
    partitions: defaultdict[bytes, list[int]] = defaultdict(list)
    for name, topic_id in owned.items():
        partitions[topic_id].append(name.partition)
    return [TopicPartitions(topic_id, each) for topic_id, each in partitions.items()]
