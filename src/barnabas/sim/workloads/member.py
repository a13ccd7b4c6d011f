"""A member of a consumer group: joins, reads its partitions, commits, and is fenced."""

from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.group.consumer_protocol import (
    decode_assignment,
    encode_assignment,
    encode_subscription,
)
from barnabas.sim.checks.history import Place, Violation
from barnabas.sim.client import TIMEOUT_MS, Client, ResponseT, TryAgain
from barnabas.sim.workloads.consumer import Consumer
from barnabas.wire.errors import ErrorCode
from barnabas.wire.message import Request
from barnabas.wire.messages.heartbeat import HeartbeatRequest
from barnabas.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from barnabas.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from barnabas.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from barnabas.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from barnabas.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment

SESSION_MS = 1_000
_JOIN_MS = 1_000
_FETCH_ONE_GROUP = 7
_COMMIT_BY_NAME = 9
_LANE = "group"

_REJOIN = frozenset(
    {ErrorCode.ILLEGAL_GENERATION, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.REBALANCE_IN_PROGRESS}
)
MOVED = frozenset(
    {
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.KAFKA_STORAGE_ERROR,
    }
)


class Rejoin(Exception):  # noqa: N818 - what to do, not what went wrong
    """The generation is over for this member."""


class Member:
    """Reads the partitions of a topic together with the other members of its group."""

    def __init__(self, client: Client, name: str, group: str, places: list[Place]) -> None:
        self._client = client
        self._name = name
        self._group = group
        self._places = places
        self._member_id = ""
        self._generation = -1
        self._host: str | None = None
        self.commits = 0

    async def run(self) -> None:
        client = self._client
        while not client.is_stopping:
            try:
                places = await self._join()
                await self._take_part(places)
            except (TryAgain, Rejoin) as reason:
                client.simulator.remark("%s: %r", self._name, reason)
                self._give_up_connection()
                await client.pause(20, 200)

    def _give_up_connection(self) -> None:
        if self._host is not None:
            self._client.forget(self._host, f"{_LANE}-{self._name}")
        self._host = None

    async def _ask(
        self,
        request: Request[ResponseT],
        *,
        max_version: int | None = None,
        timeout_ms: int = TIMEOUT_MS,
    ) -> ResponseT:
        client = self._client
        if self._host is None:
            self._host = await client.coordinator(self._group)
        return await client.call(
            self._host,
            request,
            lane=f"{_LANE}-{self._name}",
            max_version=max_version,
            timeout_ms=timeout_ms,
        )

    def _check(self, error_code: int, what: str) -> None:
        code = ErrorCode(error_code)
        if code is ErrorCode.UNKNOWN_MEMBER_ID:
            self._member_id = ""
        if code in _REJOIN:
            raise Rejoin(f"{what}: {code.name}")
        if code in MOVED:
            raise TryAgain(f"{what}: {code.name}")
        if code is not ErrorCode.NONE:
            raise Violation(f"{self._name} got {code.name} for {what} from {self._host}")

    # -- membership --------------------------------------------------------------------------------

    async def _join(self) -> list[Place]:
        topics = sorted({place.topic for place in self._places})
        protocol = JoinGroupRequestProtocol("range", encode_subscription(topics))
        request = JoinGroupRequest(
            self._group, SESSION_MS, _JOIN_MS, self._member_id, None, "consumer", [protocol]
        )
        answer = await self._ask(request, timeout_ms=_JOIN_MS + 1_500)
        if answer.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            self._member_id = answer.member_id
            raise Rejoin("it has a member id now")
        self._check(answer.error_code, "JoinGroup")
        self._member_id, self._generation = answer.member_id, answer.generation_id
        assignments = []
        if answer.leader == answer.member_id:
            members = sorted(member.member_id for member in answer.members)
            assignments = [
                SyncGroupRequestAssignment(
                    member,
                    encode_assignment(
                        TopicPartition(*place) for place in self._places[i :: len(members)]
                    ),
                )
                for i, member in enumerate(members)
            ]
        sync = SyncGroupRequest(
            self._group,
            self._generation,
            self._member_id,
            None,
            "consumer",
            "range",
            assignments,
        )
        synced = await self._ask(sync, timeout_ms=_JOIN_MS + 1_500)
        self._check(synced.error_code, "SyncGroup")
        places = [Place(*one) for one in decode_assignment(synced.assignment)]
        self._client.history.assigned(self._group, self._generation, self._member_id, places)
        return places

    async def _take_part(self, places: list[Place]) -> None:
        client = self._client
        consumer = Consumer(client, self._name, places)
        for place in places:
            consumer.positions[place] = max(0, await self.committed(place))
        while not client.is_stopping:
            answer = await self._ask(
                HeartbeatRequest(self._group, self._generation, self._member_id)
            )
            self._check(answer.error_code, "Heartbeat")
            if client.random.random() < 0.01:
                await self._leave()
            for place in places:
                try:
                    if await consumer.fetch(place, wait_ms=50):
                        await self._commit(place, consumer.positions[place])
                except TryAgain:
                    client.lost_leader(place)
            await client.pause(100, 300)

    async def _leave(self) -> None:
        identity = MemberIdentity(self._member_id)
        answer = await self._ask(LeaveGroupRequest(self._group, members=[identity]))
        self._check(answer.error_code, "LeaveGroup")
        self._member_id = ""
        raise Rejoin("it has left")

    # -- offsets -----------------------------------------------------------------------------------

    async def _commit(self, place: Place, offset: int) -> None:
        partition = OffsetCommitRequestPartition(place.partition, offset)
        request = OffsetCommitRequest(
            self._group,
            self._generation,
            self._member_id,
            topics=[OffsetCommitRequestTopic(place.topic, partitions=[partition])],
        )
        try:
            answer = await self._ask(request, max_version=_COMMIT_BY_NAME)
        except TryAgain as error:  # the coordinator's failure, not the partition leader's
            raise Rejoin(str(error)) from error
        self._check(answer.topics[0].partitions[0].error_code, "OffsetCommit")
        self._client.history.commit(self._group, place, offset)
        self.commits += 1

    async def is_committed(self, place: Place) -> bool:
        """Whether the coordinator says what is committed; what it says is checked."""
        try:
            await self.committed(place)
        except TryAgain:
            self._give_up_connection()
            return False
        return True

    async def committed(self, place: Place) -> int:
        """What the group has committed, -1 for nothing."""
        history = self._client.history
        least = history.commits.get((self._group, place), -1)
        topics = [OffsetFetchRequestTopic(place.topic, [place.partition])]
        answer = await self._ask(
            OffsetFetchRequest(self._group, topics, require_stable=True),
            max_version=_FETCH_ONE_GROUP,
        )
        self._check(answer.error_code, "OffsetFetch")
        partition = answer.topics[0].partitions[0]
        self._check(partition.error_code, "OffsetFetch")
        history.committed(self._group, place, partition.committed_offset, least)
        return int(partition.committed_offset)


class Committer(Member):
    """Belongs to no generation: it commits one number after the other, and reads them back."""

    async def run(self) -> None:
        client = self._client
        marks = dict.fromkeys(self._places, 0)
        while not client.is_stopping:
            place = client.random.choice(self._places)
            try:
                if client.random.random() < 0.3:
                    await self.committed(place)
                else:
                    marks[place] += 1
                    await self._commit(place, marks[place])
            except (TryAgain, Rejoin) as reason:
                client.simulator.remark("%s: %r", self._name, reason)
                self._give_up_connection()
            await client.pause(20, 200)


async def check_commits(client: Client, groups: list[str], places: list[Place]) -> None:
    """Ask, without being a member, for what groups have committed."""
    for group in groups:
        reader = Member(client, f"{client.name}-{group}", group, places)
        for place in places:
            while not await reader.is_committed(place):
                await client.pause(50, 150)
