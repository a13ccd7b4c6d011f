"""A member of a consumer group of the newer protocol (KIP-848): heartbeats, and work beside them.

It owns what it was assigned, gives up partitions some time after it was told to, and says what it
owns. It goes on with its partitions while it finds another coordinator, and stops by itself before
its session can have ended. When it dies, what it has sent may still arrive.

What it has sent and given up never arrives later while it lives: the protocol does not tell an
earlier heartbeat of an epoch from a later one, nor an earlier commit.
"""

from barnabas.sim.checks.history import Place, Violation
from barnabas.sim.checks.ownership import Ownership
from barnabas.sim.client import Client, ResponseT, TryAgain
from barnabas.sim.cluster import SESSION_MS
from barnabas.sim.workloads.consumer import Consumer
from barnabas.sim.workloads.member import MOVED
from barnabas.wire.errors import ErrorCode
from barnabas.wire.message import Request
from barnabas.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from barnabas.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from barnabas.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)

_LEASE_US = SESSION_MS * 900
"""Of its session, the part in which a member is sure that it is not fenced."""
_REBALANCE_MS = 4_000
_GIVE_UP_WITHIN_MS = 800
_ANSWER_MS = 500
_BY_NAME = 9
_LEAVE_EPOCH = -1
_ENDS = 0.04

_REJOIN = frozenset(
    {
        ErrorCode.FENCED_MEMBER_EPOCH,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.GROUP_ID_NOT_FOUND,
    }
)
_NOT_COMMITTED = _REJOIN | {ErrorCode.STALE_MEMBER_EPOCH, ErrorCode.ILLEGAL_GENERATION}


class ConsumerGroupMember:
    """One after the other: a new one, with another id, follows one that has died or left."""

    def __init__(
        self,
        client: Client,
        name: str,
        group: str,
        places: list[Place],
        ownership: Ownership,
        *,
        is_mortal: bool = True,
        ends: float = _ENDS,
    ) -> None:
        """If it `is_mortal`, `ends` is how likely it leaves or dies after a heartbeat."""
        self._client = client
        self._name = name
        self._group = group
        self._topics = sorted({place.topic for place in places})
        self._ownership = ownership
        self._is_mortal = is_mortal
        self._ends = ends
        self._lives = 0
        self._epoch = 0
        self._is_full = True
        """Whether the next heartbeat says everything."""
        self._owned: list[Place] = []
        self._wanted: list[Place] | None = None
        """An assignment that is not carried out yet."""
        self._reconcile_us = 0
        self._until_us = 0
        self._hosts: dict[str, str] = {}
        """The coordinator, for each lane."""
        self._consumer = Consumer(client, name, [])
        self._stored: dict[Place, int] = {}
        """What it knows to be committed."""
        self.commits = 0

    @property
    def member_id(self) -> str:
        return f"{self._name}.{self._lives}"

    # -- heartbeats --------------------------------------------------------------------------------

    async def beat(self) -> None:
        """Until the client stops."""
        client = self._client
        while not client.is_stopping:
            try:
                await self._beat_once()
                await client.pause(100, 300)
            except TryAgain as reason:
                client.simulator.remark("%s: %s", self.member_id, reason)
                self._is_full, self._wanted = True, None
                self._forget("heartbeats")
                await client.pause(20, 150)
            if self._is_mortal:
                await self._maybe_end()

    async def _beat_once(self) -> None:
        client = self._client
        self._carry_out()
        sent_us = client.simulator.now_us
        if self._owned and sent_us >= self._until_us:
            self._start_over()
        is_full = self._is_full or self._epoch == 0
        request = ConsumerGroupHeartbeatRequest(
            self._group,
            self.member_id,
            self._epoch,
            rebalance_timeout_ms=_REBALANCE_MS if is_full else -1,
            subscribed_topic_names=self._topics if is_full else None,
            topic_partitions=self._owned_topics(),
        )
        owned = list(self._owned)
        answer = await self._ask("heartbeats", request)
        code = ErrorCode(answer.error_code)
        if code in _REJOIN:
            client.simulator.remark("%s: %s", self.member_id, code.name)
            self._start_over()
            return
        _check(code, f"a heartbeat of {self.member_id}")
        self._is_full = False
        self._take_in(answer, owned, sent_us)

    def _take_in(
        self, answer: ConsumerGroupHeartbeatResponse, owned: list[Place], sent_us: int
    ) -> None:
        self._epoch = answer.member_epoch
        self._until_us = sent_us + _LEASE_US
        for place in owned:
            self._ownership.take(place, self.member_id, self._until_us)
        if answer.assignment is None:
            return
        names = {topic_id: name for name, topic_id in self._client.topic_ids.items()}
        self._wanted = [
            Place(names[topic.topic_id], index)
            for topic in answer.assignment.topic_partitions
            for index in topic.partitions
        ]
        self._client.history.assigned(self._group, self._epoch, self.member_id, self._wanted)
        delay_ms = self._client.random.choice((0, 0, 200, _GIVE_UP_WITHIN_MS))
        self._reconcile_us = self._client.simulator.now_us + delay_ms * 1000

    def _carry_out(self) -> None:
        """Give up what was revoked; take what is new."""
        if self._wanted is None or self._client.simulator.now_us < self._reconcile_us:
            return
        for place in self._owned:
            if place not in self._wanted:
                self._ownership.give_up(place, self.member_id)
                self._consumer.positions.pop(place, None)
        for place in self._wanted:
            if self._client.simulator.now_us < self._until_us:
                self._ownership.take(place, self.member_id, self._until_us)
        self._owned, self._wanted = self._wanted, None

    def _owned_topics(self) -> list[TopicPartitions]:
        return [
            TopicPartitions(
                self._client.topic_ids[topic],
                [place.partition for place in self._owned if place.topic == topic],
            )
            for topic in sorted({place.topic for place in self._owned})
        ]

    def _start_over(self) -> None:
        for place in self._owned:
            self._ownership.give_up(place, self.member_id)
        self._owned, self._wanted = [], None
        self._consumer.positions.clear()
        self._epoch = 0

    async def _maybe_end(self) -> None:
        draw = self._client.random.random()
        if draw > self._ends:
            return
        if draw < self._ends / 2:
            self._commit_late()
        self._start_over()
        if draw > self._ends * 3 / 4:
            request = ConsumerGroupHeartbeatRequest(self._group, self.member_id, _LEAVE_EPOCH)
            try:
                await self._ask("heartbeats", request)
            except TryAgain as reason:
                self._client.simulator.remark("%s: %s", self.member_id, reason)
        self._hosts.clear()  # what it has sent may still arrive
        self._lives += 1
        self._is_full = True
        await self._client.pause(0, 500)

    # -- work --------------------------------------------------------------------------------------

    async def work(self) -> None:
        """Read the owned partitions and commit, until the client stops."""
        client = self._client
        while not client.is_stopping:
            owned = [each for each in self._owned if self._ownership.is_owner(each, self.member_id)]
            if owned:
                await self._read_on(client.random.choice(owned))
            await client.pause(20, 150)

    async def _read_on(self, place: Place) -> None:
        client, positions, member_id = self._client, self._consumer.positions, self.member_id
        try:
            if place not in positions:
                offset = await self._committed(place)
                if not self._is_mine(place, member_id):
                    return
                positions[place] = self._stored[place] = max(0, offset)
        except TryAgain as reason:
            client.simulator.remark("%s: %s", member_id, reason)
            self._forget("offsets")
            return
        try:
            await self._consumer.fetch(place, wait_ms=50)
        except KeyError:  # it was given up meanwhile
            return
        except TryAgain:
            client.lost_leader(place)
        position = positions.get(place, 0)  # none if it was given up meanwhile, and is back
        if self._is_mine(place, member_id) and position > self._stored.get(place, 0):
            await self._commit(place, position)

    def _is_mine(self, place: Place, member_id: str) -> bool:
        return member_id == self.member_id and self._ownership.is_owner(place, member_id)

    def _commit_request(self, place: Place, offset: int) -> OffsetCommitRequest:
        partition = OffsetCommitRequestPartition(place.partition, offset)
        return OffsetCommitRequest(
            self._group,
            self._epoch,
            self.member_id,
            topics=[OffsetCommitRequestTopic(place.topic, partitions=[partition])],
        )

    async def _commit(self, place: Place, offset: int) -> None:
        client = self._client
        request = self._commit_request(place, offset)
        try:
            answer = await self._ask("offsets", request, max_version=_BY_NAME)
            code = ErrorCode(answer.topics[0].partitions[0].error_code)
            if code in _NOT_COMMITTED:
                client.simulator.remark("%s: commit: %s", self.member_id, code.name)
                return
            _check(code, f"a commit of {place} by {self.member_id}")
        except TryAgain as reason:
            client.simulator.remark("%s: commit: %s", self.member_id, reason)
            self._forget("offsets")
            return
        self._stored[place] = offset
        client.history.commit(self._group, place, offset)
        self.commits += 1

    def _commit_late(self) -> None:
        """Die in the middle of a commit, which arrives when another member may have gone on."""
        mine = [each for each in self._owned if self._consumer.positions.get(each)]
        host = self._hosts.get("offsets")
        if mine and host is not None:
            place = self._client.random.choice(mine)
            request = self._commit_request(place, self._consumer.positions[place])
            delay_us = self._client.random.randint(100_000, 3_000_000)
            self._client.send_late(
                host, request, f"offsets of {self.member_id}", _BY_NAME, delay_us
            )

    async def _committed(self, place: Place) -> int:
        history = self._client.history
        least = history.commits.get((self._group, place), -1)
        topics = [OffsetFetchRequestTopics(place.topic, partition_indexes=[place.partition])]
        group = OffsetFetchRequestGroup(self._group, self.member_id, self._epoch, topics)
        request = OffsetFetchRequest(groups=[group], require_stable=True)
        answer = (await self._ask("offsets", request, max_version=_BY_NAME)).groups[0]
        code = ErrorCode(answer.error_code)
        if code in _NOT_COMMITTED:
            raise TryAgain(f"committed offset: {code.name}")
        _check(code, f"the committed offset of {place} for {self.member_id}")
        offset = answer.topics[0].partitions[0].committed_offset
        history.committed(self._group, place, offset, least)
        history.commit(self._group, place, offset)  # what was read stays, too
        return int(offset)

    # -- requests ----------------------------------------------------------------------------------

    async def _ask(
        self, purpose: str, request: Request[ResponseT], *, max_version: int | None = None
    ) -> ResponseT:
        client = self._client
        if not client.topic_ids.keys() >= set(self._topics):
            await client.refresh(self._topics)
            raise TryAgain("the ids of the topics were not known")
        if purpose not in self._hosts:
            self._hosts[purpose] = await client.coordinator(self._group)
        return await client.call(
            self._hosts[purpose],
            request,
            lane=f"{purpose} of {self.member_id}",
            max_version=max_version,
            timeout_ms=_ANSWER_MS,
        )

    def _forget(self, purpose: str) -> None:
        """What was sent for this purpose has no effect any more, if it had none yet."""
        host = self._hosts.pop(purpose, None)
        if host is not None:
            self._client.forget(host, f"{purpose} of {self.member_id}")


def _check(code: ErrorCode, what: str) -> None:
    if code in MOVED:
        raise TryAgain(f"{what}: {code.name}")
    if code is not ErrorCode.NONE:
        raise Violation(f"{code.name} for {what}")
