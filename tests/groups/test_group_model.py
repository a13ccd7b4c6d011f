"""A group among well- and ill-behaved clients, a slow and failing disk, and restarts.

Random requests, right or wrong, meet random delays of the disk and of the clock. After every step
the group must be in order; what it says must agree with what it has said before; what it keeps
must be what a new broker reads from the log.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from barnabas.groups.classic.group import ClassicGroup
from barnabas.groups.classic.state import GroupState
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.join_group import JoinGroupResponse
from barnabas.wire.messages.leave_group import MemberIdentity
from barnabas.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from barnabas.wire.messages.sync_group import SyncGroupResponse
from tests.groups.shell import GROUP, REBALANCE_MS, SESSION_MS, Protocols, Shell, subscription
from tests.support.tier import examples

A, B = subscription("t"), subscription("t", "u")
PROTOCOLS: list[Protocols] = [
    [("range", A)],
    [("range", B), ("sticky", B)],
    [("sticky", A), ("range", A)],
    [("sticky", A)],
]
INSTANCES = [None, None, None, "three", "four"]

Offsets = dict[tuple[str, int], int]
Effect = Callable[[Offsets], None]

clients = st.integers(0, len(INSTANCES) - 1)
topics = st.sampled_from(["t", "u"])
partitions = st.integers(0, 1)


@dataclass
class Client:
    instance: str | None
    member_id: str = ""
    generation_id: int = -1
    is_leader: bool = False
    roster: tuple[str, ...] = ()
    join_token: int = 0
    protocols: Protocols = ()


@dataclass
class Sync:
    """A sync that was asked and not yet seen answered."""

    token: int
    generation_id: int
    instance: str | None
    member_id: str


class GroupMachine(RuleBasedStateMachine):
    @initialize()
    def start(self) -> None:
        self.shell = Shell()
        self.shell.persists_at_once = False
        self.clients = [Client(instance) for instance in INSTANCES]
        self.syncs: list[Sync] = []
        self.effects: deque[Effect] = deque()
        self.offsets: Offsets = {}
        self.protocol_of: dict[int, str] = {}
        self.plan_of: dict[int, bytes] = {}
        """Which plan was handed out in a generation, by its mark."""
        self.plan_by: dict[bytes, tuple[int, str | None, str]] = {}
        """Who sent a plan."""
        self.leader_of: dict[int, set[str]] = {}
        self.instance_of: dict[str, str | None] = {}
        self.generation_id = 0
        self.marks = 0

    # -- requests ------------------------------------------------------------------------------

    @rule(
        who=clients,
        protocols=st.sampled_from(PROTOCOLS),
        version=st.sampled_from([3, 9]),
        forgets_id=st.booleans(),
        rebalance_ms=st.sampled_from([0, 5_000, REBALANCE_MS]),
    )
    def join(
        self, who: int, protocols: Protocols, version: int, forgets_id: bool, rebalance_ms: int
    ) -> None:
        client = self.clients[who]
        if forgets_id:
            client.member_id = ""
        client.protocols = protocols
        client.join_token = self.shell.join(
            client.member_id,
            instance=client.instance,
            protocols=protocols,
            version=version,
            rebalance_ms=rebalance_ms,
        )
        self.attach(None)

    @rule(
        present=st.sets(clients, min_size=1),
        protocols=st.sampled_from(PROTOCOLS),
        version=st.sampled_from([3, 9]),
        restarted=st.booleans(),
        disk_works=st.booleans(),
    )
    def behave(
        self,
        present: set[int],
        protocols: Protocols,
        version: int,
        restarted: bool,
        disk_works: bool,
    ) -> None:
        """Some clients do for a while what they are supposed to do."""
        for who in sorted(present):
            self.join(who, protocols, version, restarted, REBALANCE_MS)
            if self.clients[who].join_token == 0:  # it was given an id, or has lost its own
                self.join(who, protocols, version, False, REBALANCE_MS)
        self.advance(200)
        for who in sorted(present):
            self.sync(who, True, 0)
        while disk_works and self.shell.in_flight:
            self.persist()

    @rule(who=st.sampled_from([3, 4]), version=st.sampled_from([5, 9]), disk_works=st.booleans())
    def take_over(self, who: int, version: int, disk_works: bool) -> None:
        """A static member restarts and wants the same as before."""
        protocols = self.clients[who].protocols or PROTOCOLS[0]
        self.join(who, protocols, version, True, REBALANCE_MS)
        while disk_works and self.shell.in_flight:
            self.persist()
        self.sync(who, False, 0)

    @rule(who=clients, plans=st.booleans(), lag=st.sampled_from([0, 0, 0, 1]))
    def sync(self, who: int, plans: bool, lag: int) -> None:
        client = self.clients[who]
        self.marks += 1
        mark = b"plan %d" % self.marks
        generation_id = client.generation_id - lag
        roster = client.roster if plans else ()
        plan = {name: mark + b" for " + name.encode() for name in roster}
        self.plan_by[mark] = (generation_id, client.instance, client.member_id)
        token = self.shell.sync(client.member_id, generation_id, plan, instance=client.instance)
        self.syncs.append(Sync(token, generation_id, client.instance, client.member_id))
        self.attach(None)

    @rule(who=clients)
    def heartbeat(self, who: int) -> None:
        client = self.clients[who]
        code = self.shell.heartbeat(client.member_id, client.generation_id, client.instance)
        if code is ErrorCode.NONE:
            assert client.generation_id == self.generation_id
            assert self.shell.state() in ("Stable", "CompletingRebalance")

    @rule(who=clients, version=st.sampled_from([2, 5]))
    def leave(self, who: int, version: int) -> None:
        client = self.clients[who]
        self.shell.leave(MemberIdentity(client.member_id, client.instance), version=version)
        self.attach(None)

    @rule(who=clients, topic=topics, partition=partitions, offset=st.integers(0, 99))
    def commit(self, who: int, topic: str, partition: int, offset: int) -> None:
        client = self.clients[who]
        self.shell.commit(
            offset,
            member_id=client.member_id,
            generation_id=client.generation_id,
            topic=topic,
            partition=partition,
            instance=client.instance,
        )
        self.attach(lambda offsets: offsets.update({(topic, partition): offset}))

    @rule(topic=topics, partition=partitions, offset=st.integers(0, 99))
    def commit_without_membership(self, topic: str, partition: int, offset: int) -> None:
        self.shell.commit(offset, topic=topic, partition=partition)
        self.attach(lambda offsets: offsets.update({(topic, partition): offset}))

    @rule(topic=topics, partition=partitions)
    def delete_offset(self, topic: str, partition: int) -> None:
        asked = OffsetDeleteRequestTopic(topic, [OffsetDeleteRequestPartition(partition)])
        request = OffsetDeleteRequest(GROUP, [asked])
        self.shell.carry_out(
            self.shell.shard.offset_delete(
                request, token=self.shell.token(), now_ms=self.shell.now_ms
            )
        )
        self.attach(lambda offsets: offsets.pop((topic, partition), None))

    @rule(topic=topics)
    def delete_topic(self, topic: str) -> None:
        self.shell.carry_out(self.shell.shard.topics_deleted([topic]))

        def forget(offsets: Offsets) -> None:
            for key in [key for key in offsets if key[0] == topic]:
                del offsets[key]

        self.attach(forget)

    @rule()
    def delete_group(self) -> None:
        self.shell.carry_out(self.shell.shard.delete_groups([GROUP], token=self.shell.token()))
        self.attach(lambda offsets: offsets.clear())

    def attach(self, effect: Effect | None) -> None:
        """What the model does when the decision that was just made, if any, is persisted."""
        while len(self.effects) < len(self.shell.in_flight):
            self.effects.append(effect or (lambda _: None))
        self.hear()

    # -- time and disk ---------------------------------------------------------------------------

    @rule(ms=st.sampled_from([1, 100, 1_000, 4_000, SESSION_MS, REBALANCE_MS]))
    def advance(self, ms: int) -> None:
        self.shell.advance(ms)
        self.attach(None)

    @precondition(lambda self: self.shell.in_flight)
    @rule()
    def persist(self) -> None:
        self.effects.popleft()(self.offsets)
        self.shell.persist_next()
        self.attach(None)

    @precondition(lambda self: self.shell.in_flight)
    @rule()
    def fail(self) -> None:
        self.effects.popleft()
        self.shell.fail_next()
        self.attach(None)

    @rule()
    def restart(self) -> None:
        """What was not persisted is gone, and so are all connections."""
        self.shell = self.shell.restart()
        self.shell.persists_at_once = False
        self.effects.clear()
        self.syncs.clear()
        group = self.group()
        self.generation_id = 0 if group is None else group.generation_id
        self.forget_generations_after(self.generation_id)
        for client in self.clients:
            client.join_token = 0

    def forget_generations_after(self, generation_id: int) -> None:
        """They were never persisted, so their numbers are given out once more."""
        for memory in (self.protocol_of, self.plan_of, self.leader_of):
            for later in [each for each in memory if each > generation_id]:
                del memory[later]  # type: ignore[attr-defined]

    def teardown(self) -> None:
        """In the end every request is answered."""
        if not hasattr(self, "shell"):
            return
        for _ in range(8):
            while self.shell.in_flight:
                self.persist()
            self.advance(10 * REBALANCE_MS)
        while self.shell.in_flight:
            self.persist()
        assert self.shell.asked == self.shell.answers.keys()
        group = self.group()
        assert group is None or not group.members

    # -- what is said ------------------------------------------------------------------------------

    def hear(self) -> None:
        group = self.group()
        for client in self.clients:
            answer = self.shell.answers.get(client.join_token)
            if answer is not None:
                client.join_token = 0
                assert isinstance(answer, JoinGroupResponse)
                self.hear_join(client, answer)
        for sync in list(self.syncs):
            answer = self.shell.answers.get(sync.token)
            if answer is not None:
                self.syncs.remove(sync)
                assert isinstance(answer, SyncGroupResponse)
                if answer.error_code == ErrorCode.NONE:
                    assert group is not None
                    self.hear_assignment(group, sync, answer)

    def hear_join(self, client: Client, answer: JoinGroupResponse) -> None:
        if answer.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            client.member_id = answer.member_id
        elif answer.error_code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID):
            client.member_id = ""
        if answer.error_code != ErrorCode.NONE:
            return
        client.member_id = answer.member_id
        client.generation_id = answer.generation_id
        client.is_leader = answer.leader == answer.member_id
        client.roster = tuple(member.member_id for member in answer.members)
        self.instance_of[client.member_id] = client.instance
        assert answer.protocol_name is not None
        known = self.protocol_of.setdefault(answer.generation_id, answer.protocol_name)
        assert answer.protocol_name == known
        self.leader_of.setdefault(answer.generation_id, set()).add(answer.leader)
        if client.is_leader:
            assert client.member_id in client.roster

    def hear_assignment(self, group: ClassicGroup, sync: Sync, answer: SyncGroupResponse) -> None:
        assert group.state is GroupState.STABLE
        assert sync.generation_id == group.generation_id
        assert answer.protocol_name == self.protocol_of[sync.generation_id]
        if not answer.assignment:
            return
        mark, _, given_to = answer.assignment.partition(b" for ")
        generation_id, _, planner = self.plan_by[mark]
        assert generation_id == sync.generation_id
        assert planner in self.leader_of[generation_id]
        assert self.plan_of.setdefault(generation_id, mark) == mark
        if given_to.decode() != sync.member_id:
            # It has taken the place of the one it was given to.
            assert sync.instance is not None
            assert self.instance_of.get(given_to.decode(), sync.instance) == sync.instance

    # -- what is there -----------------------------------------------------------------------------

    def group(self) -> ClassicGroup | None:
        return self.shell.shard._groups.get(GROUP)

    @invariant()
    def generations_only_grow(self) -> None:
        group = self.group()
        if group is None:
            # Deleted, or never persisted: the next one starts over.
            self.generation_id = 0
            self.forget_generations_after(0)
        else:
            assert group.generation_id >= self.generation_id or group.image.metadata is None
            if group.generation_id < self.generation_id:
                self.forget_generations_after(group.generation_id)
            self.generation_id = group.generation_id

    @invariant()
    def the_group_is_in_order(self) -> None:
        group = self.group()
        if group is None:
            return
        assert not group.is_void
        assert not group.joining or group.state is GroupState.PREPARING_REBALANCE
        assert not group.syncing or group.state is GroupState.COMPLETING_REBALANCE
        assert group.joining.keys() <= group.members.keys()
        assert group.syncing.keys() <= group.members.keys()
        assert group.awaited_syncs <= group.members.keys() - group.syncing.keys()
        assert not group.pending_members.keys() & group.members.keys()
        assert (group.leader_id in group.members) if group.members else group.leader_id is None
        if group.state in (GroupState.EMPTY, GroupState.DEAD):
            assert not group.members
        elif group.state is not GroupState.PREPARING_REBALANCE:
            assert group.members
        persisted = group.image.metadata
        if not group.records_in_flight and group.state is GroupState.EMPTY:
            assert persisted is None or persisted.generation == group.generation_id
            assert persisted is None or not persisted.members
        if not group.records_in_flight and group.state is GroupState.STABLE:
            assert persisted is not None
            assert persisted.generation == group.generation_id
            assert {m.member_id for m in persisted.members} == group.members.keys()
        statics = {m.group_instance_id: m.member_id for m in group.members.values() if m.is_static}
        assert statics == group.static_members
        names = [name for member in group.members.values() for name in member.protocols]
        assert group.supporters == {name: names.count(name) for name in names}
        for member in group.members.values():
            is_parked = member.member_id in group.joining or member.member_id in group.syncing
            assert (member.deadline_ms is None) == (is_parked and not member.is_new)
        deadline_ms = group.next_deadline_ms()
        if deadline_ms is not None:
            alarm_ms = self.shell.shard.next_deadline_ms()
            assert alarm_ms is not None
            assert alarm_ms <= deadline_ms

    @invariant()
    def offsets_are_those_of_the_model(self) -> None:
        for topic in ("t", "u"):
            for partition in (0, 1):
                expected = self.offsets.get((topic, partition), -1)
                assert self.shell.committed(topic, partition) == expected

    @invariant()
    def a_replay_of_the_log_gives_the_same(self) -> None:
        successor = self.shell.successor(self.shell.log).shard
        assert successor.image == self.shell.shard.image
        group = successor._groups.get(GROUP)
        persisted = None if group is None else group.image.metadata
        if group is not None and persisted is not None:
            assignments = {m.member_id: m.assignment for m in group.members.values()}
            assert group.snapshot(assignments, persisted.current_state_timestamp) == persisted


GroupMachine.TestCase.settings = settings(max_examples=examples(40), stateful_step_count=50)
TestGroup = GroupMachine.TestCase
