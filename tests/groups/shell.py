"""Plays the broker around a `GroupShard`: keeps the log, the clock and the answers.

Every token must be answered at most once, every answer must be encodable in every version, and the
persistent state must be what a replay of the log gives. All are asserted here, so every test of
this package checks them.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from itertools import count
from typing import NamedTuple, Self

from barnabas.coordination.decision import CoordinatorDecision, CoordinatorRecord
from barnabas.groups import GroupConfig, GroupShard
from barnabas.groups.image import GroupsImage
from barnabas.groups.offsets.transactional_offsets import TransactionEnd
from barnabas.wire.errors import ErrorCode
from barnabas.wire.message import Response
from barnabas.wire.messages.consumer_protocol import ConsumerProtocolSubscription
from barnabas.wire.messages.heartbeat import HeartbeatRequest
from barnabas.wire.messages.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from barnabas.wire.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
)
from barnabas.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from barnabas.wire.messages.offset_fetch import OffsetFetchRequestGroup, OffsetFetchRequestTopics
from barnabas.wire.messages.sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)
from barnabas.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)
from barnabas.wire.primitives import INT16, Writer
from tests.groups.fake_topics import FakeTopics

GROUP = "g"
SESSION_MS = 10_000
REBALANCE_MS = 30_000
DELAY_MS = 100

CONFIG = GroupConfig(group_initial_rebalance_delay_ms=DELAY_MS)

Protocols = Sequence[tuple[str, bytes]]


def subscription(*topics: str, owned: bytes | None = None) -> bytes:
    """A consumer's metadata, version 0."""
    writer = Writer()
    writer.buffer += INT16.pack(0)
    ConsumerProtocolSubscription(list(topics), owned).encode(writer, 0)
    return writer.getvalue()


RANGE: Protocols = [("range", subscription("t"))]


class TransactionalRecord(NamedTuple):
    """A record of the log that is part of a transaction."""

    key: bytes
    value: bytes | None
    producer_id: int


class Marker(NamedTuple):
    """The end of a transaction, in the log."""

    producer_id: int
    is_commit: bool


Entry = CoordinatorRecord | TransactionalRecord | Marker


def replay(image: GroupsImage | GroupShard, entries: Iterable[Entry]) -> None:
    """Read entries of the log, as a coordinator does that has just begun."""
    for entry in entries:
        if isinstance(entry, Marker):
            image.replay_end(entry.producer_id, is_commit=entry.is_commit)
        else:
            image.replay(*entry)


class Shell:
    def __init__(
        self,
        config: GroupConfig = CONFIG,
        log: Iterable[Entry] = (),
        now_ms: int = 1_000,
        topics: "FakeTopics | None" = None,
    ) -> None:
        self.now_ms = now_ms
        self.topics = topics or FakeTopics()
        self.log = list(log)
        self.answers: dict[int, Response] = {}
        self.asked: set[int] = set()
        self.in_flight: deque[CoordinatorDecision] = deque()
        self.persists_at_once = True
        self.refuses = False
        """Whether the disk refuses what is to be appended."""
        self.is_over = False
        self._config = config
        self._tokens = count(1)
        self._member_numbers = count(1)
        self.shard = GroupShard(config, lambda: str(next(self._member_numbers)), topics=self.topics)
        replay(self.shard, self.log)
        self.shard.loaded(now_ms)
        self._replayed = GroupsImage()
        """Replayed from the log, entry by entry as it grows, and by nothing else."""
        replay(self._replayed, self.log)

    def restart(self) -> Self:
        """A new broker that knows nothing but the log."""
        return self.successor(self.log)

    def successor(self, log: Iterable[Entry]) -> Self:
        """Another broker that goes on from a log of its own."""
        reborn = type(self)(self._config, log, self.now_ms, self.topics)
        reborn._member_numbers = self._member_numbers
        return reborn

    # -- carrying out decisions -----------------------------------------------------------------

    def carry_out(self, decision: CoordinatorDecision) -> None:
        if not self.is_over:
            assert self.shard.image == self._replayed, "a decision has changed what is persistent"
        for token, response in decision.replies:
            assert isinstance(token, int)
            assert token in self.asked, "an unexpected answer"
            assert token not in self.answers, "answered twice"
            for version in range(response.MIN_VERSION, response.MAX_VERSION + 1):
                response.encode(Writer(), version)
            self.answers[token] = response
        if not decision.records and not isinstance(decision, TransactionEnd):
            assert not decision.held, "held back for nothing"
        elif self.refuses and decision.records:
            self.refuses = False
            self.carry_out(self.shard.failed(decision, now_ms=self.now_ms))
        elif self.persists_at_once:
            self._persist(decision)
        else:
            self.in_flight.append(decision)

    def _persist(self, decision: CoordinatorDecision) -> None:
        end = len(self.log)
        if isinstance(decision, TransactionEnd):
            self.log.append(Marker(decision.producer_id, decision.is_commit))
        elif (producer := decision.producer) is not None:
            self.log += (
                TransactionalRecord(*record, producer.producer_id) for record in decision.records
            )
        else:
            self.log += decision.records
        replay(self._replayed, self.log[end:])
        self.carry_out(self.shard.committed(decision, now_ms=self.now_ms))

    def persist_next(self) -> None:
        self._persist(self.in_flight.popleft())

    def fail_next(self) -> None:
        self.carry_out(self.shard.failed(self.in_flight.popleft(), now_ms=self.now_ms))

    def fail_all(self) -> None:
        """What is in flight is lost, and the coordinator stays."""
        for _ in range(len(self.in_flight)):
            self.fail_next()

    def resign(self) -> None:
        """Another node is the coordinator now."""
        self.is_over = True
        self.carry_out(CoordinatorDecision(replies=self.shard.unload()))
        while self.in_flight:
            decision = self.in_flight.popleft()
            self.carry_out(
                self.shard.failed(decision, ErrorCode.NOT_COORDINATOR, now_ms=self.now_ms)
            )

    def advance(self, ms: int) -> None:
        """Let time pass, deadline by deadline."""
        end_ms = self.now_ms + ms
        while (deadline_ms := self.shard.next_deadline_ms()) is not None and deadline_ms <= end_ms:
            self.now_ms = max(self.now_ms, deadline_ms)
            self.carry_out(self.shard.tick(self.now_ms))
        self.now_ms = end_ms

    def token(self) -> int:
        token = next(self._tokens)
        self.asked.add(token)
        return token

    # -- requests -------------------------------------------------------------------------------

    def join(
        self,
        member_id: str = "",
        *,
        group: str = GROUP,
        instance: str | None = None,
        protocols: Protocols = RANGE,
        protocol_type: str = "consumer",
        version: int = 9,
        session_ms: int = SESSION_MS,
        rebalance_ms: int = REBALANCE_MS,
    ) -> int:
        """The token under which the answer is or will be found."""
        token = self.token()
        request = JoinGroupRequest(
            group_id=group,
            session_timeout_ms=session_ms,
            rebalance_timeout_ms=rebalance_ms,
            member_id=member_id,
            group_instance_id=instance,
            protocol_type=protocol_type,
            protocols=[JoinGroupRequestProtocol(*each) for each in protocols],
        )
        self.carry_out(
            self.shard.classic.join_group(
                request,
                token=token,
                client_id="c",
                client_host="/127.0.0.1",
                api_version=version,
                now_ms=self.now_ms,
            )
        )
        return token

    def new_id(self, **options: object) -> str:
        """The first step of a join from version 4 on."""
        answer = self.joined(self.join(**options))  # type: ignore[arg-type]
        assert answer.error_code == ErrorCode.MEMBER_ID_REQUIRED
        return answer.member_id

    def sync(
        self,
        member_id: str,
        generation_id: int,
        assignments: dict[str, bytes] | None = None,
        *,
        instance: str | None = None,
        protocol_type: str | None = None,
        protocol_name: str | None = None,
    ) -> int:
        token = self.token()
        request = SyncGroupRequest(
            group_id=GROUP,
            generation_id=generation_id,
            member_id=member_id,
            group_instance_id=instance,
            protocol_type=protocol_type,
            protocol_name=protocol_name,
            assignments=[SyncGroupRequestAssignment(*each) for each in (assignments or {}).items()],
        )
        self.carry_out(self.shard.classic.sync_group(request, token=token, now_ms=self.now_ms))
        return token

    def heartbeat(
        self, member_id: str, generation_id: int, instance: str | None = None
    ) -> ErrorCode:
        request = HeartbeatRequest(GROUP, generation_id, member_id, instance)
        return ErrorCode(self.shard.classic.heartbeat(request, now_ms=self.now_ms).error_code)

    def leave(self, *members: str | MemberIdentity, version: int = 5) -> int:
        token = self.token()
        identities = [MemberIdentity(one) if isinstance(one, str) else one for one in members]
        request = LeaveGroupRequest(GROUP, members=identities)
        if version < 3:
            request = LeaveGroupRequest(GROUP, member_id=identities[0].member_id)
        self.carry_out(
            self.shard.classic.leave_group(
                request, token=token, api_version=version, now_ms=self.now_ms
            )
        )
        return token

    def commit(
        self,
        offset: int,
        *,
        member_id: str = "",
        generation_id: int = -1,
        group: str = GROUP,
        topic: str = "t",
        partition: int = 0,
        metadata: str | None = "",
        retention_ms: int = -1,
        instance: str | None = None,
    ) -> int:
        token = self.token()
        asked = OffsetCommitRequestPartition(partition, offset, 7, metadata)
        request = OffsetCommitRequest(
            group,
            generation_id,
            member_id,
            instance,
            retention_ms,
            [OffsetCommitRequestTopic(topic, partitions=[asked])],
        )
        self.carry_out(self.shard.offset_commit(request, token=token, now_ms=self.now_ms))
        return token

    def txn_commit(
        self,
        offset: int,
        *,
        producer_id: int = 1,
        member_id: str = "",
        generation_id: int = -1,
        group: str = GROUP,
        topic: str = "t",
        partition: int = 0,
        metadata: str | None = "",
        instance: str | None = None,
    ) -> int:
        token = self.token()
        asked = TxnOffsetCommitRequestPartition(partition, offset, 7, metadata)
        request = TxnOffsetCommitRequest(
            "transaction",
            group,
            producer_id,
            0,
            generation_id,
            member_id,
            instance,
            [TxnOffsetCommitRequestTopic(topic, [asked])],
        )
        self.carry_out(self.shard.txn_offset_commit(request, token=token, now_ms=self.now_ms))
        return token

    def end_transaction(self, producer_id: int = 1, *, is_commit: bool = True) -> None:
        """Its marker is appended."""
        self.carry_out(self.shard.transaction_ended(producer_id, is_commit=is_commit))

    def is_stable(self, topic: str = "t", partition: int = 0, group: str = GROUP) -> bool:
        asked = [OffsetFetchRequestTopics(topic, partition_indexes=[partition])]
        request = OffsetFetchRequestGroup(group, topics=asked)
        (topic_answer,) = self.shard.offset_fetch(request, require_stable=True).topics
        (answer,) = topic_answer.partitions
        if answer.error_code == ErrorCode.UNSTABLE_OFFSET_COMMIT:
            assert answer.committed_offset == -1
            return False
        assert answer.error_code == ErrorCode.NONE
        assert answer.committed_offset == self.committed(topic, partition, group)
        return True

    def committed(self, topic: str = "t", partition: int = 0, group: str = GROUP) -> int:
        asked = [OffsetFetchRequestTopics(topic, partition_indexes=[partition])]
        answer = self.shard.offset_fetch(OffsetFetchRequestGroup(group, topics=asked))
        assert answer.error_code == ErrorCode.NONE
        return answer.topics[0].partitions[0].committed_offset

    # -- answers --------------------------------------------------------------------------------

    def joined(self, token: int) -> JoinGroupResponse:
        answer = self.answers[token]
        assert isinstance(answer, JoinGroupResponse)
        return answer

    def synced(self, token: int) -> SyncGroupResponse:
        answer = self.answers[token]
        assert isinstance(answer, SyncGroupResponse)
        return answer

    def left(self, token: int) -> LeaveGroupResponse:
        answer = self.answers[token]
        assert isinstance(answer, LeaveGroupResponse)
        return answer

    def error(self, token: int) -> ErrorCode:
        """The one error code of the answer."""
        answer = self.answers[token]
        if isinstance(answer, OffsetCommitResponse | TxnOffsetCommitResponse):
            return ErrorCode(answer.topics[0].partitions[0].error_code)
        return ErrorCode(answer.error_code)  # type: ignore[attr-defined]

    def state(self, group: str = GROUP) -> str:
        return self.shard.describe_group(group, api_version=5).group_state

    # -- scenarios ------------------------------------------------------------------------------

    def form(
        self,
        members: int = 2,
        *,
        instances: Sequence[str] = (),
        protocols: Protocols = RANGE,
        session_ms: int = SESSION_MS,
    ) -> list[str]:
        """A stable first generation; the first member is the leader; assignments are "for <id>"."""

        def join(member_id: str = "", instance: str | None = None) -> int:
            return self.join(
                member_id, instance=instance, protocols=protocols, session_ms=session_ms
            )

        if instances:
            tokens = [join(instance=name) for name in instances]
        else:
            ids = [self.joined(join()).member_id for _ in range(members)]
            tokens = [join(member_id) for member_id in ids]
        self.advance(DELAY_MS * 2)
        answers = [self.joined(token) for token in tokens]
        names = [answer.member_id for answer in answers]
        self.assign(names, answers[0].generation_id)
        return names

    def assign(self, names: Sequence[str], generation_id: int) -> None:
        """All members sync, the leader (first) last."""
        plan = {name: f"for {name}".encode() for name in names}
        tokens = [self.sync(name, generation_id) for name in names[1:]]
        tokens.append(self.sync(names[0], generation_id, plan))
        for token, name in zip(tokens, [*names[1:], names[0]], strict=True):
            assert self.synced(token).assignment == plan[name]
