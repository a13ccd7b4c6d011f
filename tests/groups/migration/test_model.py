"""A group whose members change between both protocols, one by one, while everything fails.

Clients of the consumer protocol are those of its own model. Those of the classic one rebalance
cooperatively: they keep their partitions while they join, say which ones they have, and join again
after they gave some up; the leader gives nobody a partition that another one still has.

After every step no partition may have two owners, and no committed offset may be lost. When the
trouble is over, every partition must have an owner, and the group must be of the right type.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from dataclasses import replace as changed

import pytest

from barnabas.groups.config import GroupConfig
from barnabas.groups.consumer import requests
from barnabas.groups.consumer.reconciliation import reconcile
from barnabas.groups.migration import classic_requests, upgrade
from barnabas.groups.migration.embedded_protocol import read_assignment, read_subscription
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    OwnedPartition,
    TopicPartition,
)
from barnabas.wire.messages.join_group import JoinGroupResponse
from barnabas.wire.messages.sync_group import SyncGroupResponse
from tests.groups.consumer import test_model
from tests.groups.consumer.shell import ConsumerShell
from tests.groups.consumer.test_model import REBALANCE_MS, REVOKED_WITHIN_MS, SESSION_MS, Client
from tests.groups.fake_topics import FakeTopics
from tests.groups.migration.test_migration import encoded
from tests.groups.shell import Protocols
from tests.support.tier import examples

CONFIG: GroupConfig = changed(test_model.CONFIG, group_initial_rebalance_delay_ms=100)
TOPICS = {"t": 6, "u": 3}
HEARTBEAT_MS = 3_000
STEPS = 300
LOST = (
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.ILLEGAL_GENERATION,
    ErrorCode.FENCED_INSTANCE_ID,
)

Name = tuple[str, int]


@dataclass
class ClassicClient(Client):
    given_id: str = ""
    generation: int = -1
    plan: dict[str, bytes] | None = None
    """Of the leader, to be sent with the next sync."""
    phase: str = "out"
    """out, joining, joined, syncing or stable."""
    answered_ms: int = 0
    """When the coordinator answered what it waits for: its session began again."""

    @property
    def member_id(self) -> str:
        return self.given_id


@dataclass
class Commits:
    """What was answered, by partition: greater ones are later ones."""

    next_offset: int = 1
    waiting: dict[int, tuple[Name, int]] = field(default_factory=dict)
    answered: dict[Name, int] = field(default_factory=dict)


class World(test_model.World):
    clients: list[Client]

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.shell = ConsumerShell(CONFIG, topics=FakeTopics(**TOPICS))
        self.shell.persists_at_once = False
        self.clients = [ClassicClient(name, None, subscription=("t", "u")) for name in "abcd"]
        self.commits = Commits()
        self.is_stalled = False
        """Whether nothing is committed for a while, so that several changes are in flight."""

    def step(self) -> None:
        draw = self.random.random()
        if draw < (0.02 if self.is_stalled else 0.05):
            self.is_stalled = not self.is_stalled
        elif draw > 0.99:
            self.shell.fail_all()
        self.shell.refuses = self.random.random() < 0.02
        super().step()
        self.shell.refuses = False

    def persist_next(self) -> None:
        if not self.is_stalled:
            super().persist_next()

    # -- clients of both protocols -----------------------------------------------------------------

    def live(self, client: Client, is_classic: bool | None = None) -> None:
        """It starts again, and its protocol may be another one."""
        at = next(i for i, each in enumerate(self.clients) if each is client)
        if is_classic is None:
            is_classic = self.random.random() < 0.5
        kind = ClassicClient if is_classic else Client
        born = kind(client.name, None, client.lives, subscription=("t", "u"))
        self.clients[at] = born
        super().live(born)

    def start_over(self, client: Client) -> None:
        super().start_over(client)
        if isinstance(client, ClassicClient):
            client.given_id, client.generation, client.phase = "", -1, "out"

    def send(self, client: Client) -> None:
        if not isinstance(client, ClassicClient):
            super().send(client)
            return
        client.sent_ms, client.answered_ms = self.shell.now_ms, -1
        match client.phase:
            case "out":
                client.waiting = self.shell.join(
                    client.given_id, protocols=self.metadata(client), rebalance_ms=REBALANCE_MS
                )
                client.phase = "joining"
            case "joined":
                client.waiting = self.shell.sync(client.given_id, client.generation, client.plan)
                client.phase = "syncing"
            case "stable":
                self.heartbeat(client)

    def receive(self, client: Client) -> None:
        if not isinstance(client, ClassicClient):
            super().receive(client)
            return
        token = client.waiting
        if token is None or token not in self.shell.answers or not client.is_alive:
            return
        self.note_answers()
        client.waiting = None
        answer = self.shell.answers[token]
        assert isinstance(answer, JoinGroupResponse | SyncGroupResponse)
        if self.in_trouble and self.random.random() < 0.1:
            self.join_again(client)  # the answer got lost
        elif answer.error_code in LOST:
            self.start_over(client)
        elif answer.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            assert isinstance(answer, JoinGroupResponse)
            client.given_id, client.phase = answer.member_id, "out"
        elif answer.error_code:
            self.join_again(client)
        elif isinstance(answer, JoinGroupResponse):
            client.given_id, client.generation = answer.member_id, answer.generation_id
            client.phase, client.heard_ms = "joined", client.answered_ms
            is_leader = answer.leader == answer.member_id
            client.plan = self.planned(answer) if is_leader else None
        else:
            self.take(client, answer)

    def take(self, client: ClassicClient, answer: SyncGroupResponse) -> None:
        found = read_assignment(answer.assignment, None, self.shell.topics)
        assigned = {(topic_id, index) for topic_id, indexes in found.items() for index in indexes}
        has_revoked = bool(client.owned - assigned)
        client.owned = assigned
        client.phase, client.heard_ms = "stable", client.answered_ms
        if has_revoked:
            self.join_again(client)

    def join_again(self, client: ClassicClient) -> None:
        if client.phase != "out":
            client.phase, client.told_ms = "out", self.shell.now_ms

    def heartbeat(self, client: ClassicClient) -> None:
        code = self.shell.heartbeat(client.given_id, client.generation)
        if self.in_trouble and self.random.random() < 0.1:
            return
        if code in (ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS):
            client.heard_ms = self.shell.now_ms
        if client.phase != "stable":
            return  # what it waits for tells more
        if code in LOST:
            self.start_over(client)
        elif code is ErrorCode.REBALANCE_IN_PROGRESS:
            self.join_again(client)

    def carry_out(self, client: Client) -> None:
        if not isinstance(client, ClassicClient):
            super().carry_out(client)

    def leave(self, client: Client) -> None:
        if not isinstance(client, ClassicClient):
            super().leave(client)
            return
        client.owned, client.is_alive = set(), False
        if client.given_id:
            self.shell.leave(client.given_id)

    # -- the leader of a classic group -------------------------------------------------------------

    def metadata(self, client: Client) -> Protocols:
        owned: dict[str, list[int]] = {}
        for topic_id, index in sorted(client.owned):
            topic = self.shell.topics.by_id(topic_id)
            assert topic is not None
            owned.setdefault(topic.name, []).append(index)
        partitions = [OwnedPartition(*each) for each in owned.items()]
        return [
            (
                "cooperative-sticky",
                encoded(ConsumerProtocolSubscription(list(client.subscription), None, partitions)),
            )
        ]

    def planned(self, answer: JoinGroupResponse) -> dict[str, bytes]:
        """Equally many for each; nothing that another one has."""
        claims: dict[str, list[Name]] = {}
        claimed: set[Name] = set()
        for member in answer.members:
            said = read_subscription(member.metadata)
            mine = [
                (topic.topic, index)
                for topic in said.owned_partitions
                for index in topic.partitions
                if (topic.topic, index) not in claimed
            ]
            claims[member.member_id] = mine
            claimed.update(mine)
        free = [(t, index) for t, count in TOPICS.items() for index in range(count)]
        fewest, more = divmod(len(free), len(claims))
        free = [each for each in free if each not in claimed]
        plan: dict[str, list[Name]] = {}
        for at, member_id in enumerate(sorted(claims, key=lambda each: -len(claims[each]))):
            quota = fewest + (at < more)
            plan[member_id] = claims[member_id][:quota]
            while free and len(plan[member_id]) < quota:
                plan[member_id].append(free.pop())
        return {member_id: _assignment(names) for member_id, names in plan.items()}

    # -- time --------------------------------------------------------------------------------------

    def notice_time(self) -> None:
        for client in self.clients:
            if isinstance(client, ClassicClient) and client.is_alive:
                silent_ms = self.shell.now_ms - client.heard_ms
                if client.waiting is not None and client.given_id and silent_ms >= HEARTBEAT_MS:
                    self.heartbeat(client)
                late_ms = self.shell.now_ms - client.told_ms
                if client.phase == "out" and client.owned and late_ms >= REVOKED_WITHIN_MS:
                    self.start_over(client)
                if client.phase == "syncing" and silent_ms >= SESSION_MS - 1_000:
                    client.waiting = None
                    self.start_over(client)
        super().notice_time()

    def move(self) -> None:
        super().move()
        for client in self.clients:
            is_waiting = isinstance(client, ClassicClient) and client.phase in (
                "joining",
                "syncing",
            )
            if is_waiting and client.waiting is None:
                assert isinstance(client, ClassicClient)
                self.join_again(client)
        self.commits.waiting.clear()

    def change_topics(self, client: Client) -> None:
        """Topics stay: a client commits instead."""
        if not client.is_alive or not client.owned:
            return
        topic_id, index = self.random.choice(sorted(client.owned))
        topic = self.shell.topics.by_id(topic_id)
        assert topic is not None
        epoch = client.generation if isinstance(client, ClassicClient) else client.epoch
        offset, self.commits.next_offset = self.commits.next_offset, self.commits.next_offset + 1
        token = self.shell.commit(
            offset,
            member_id=client.member_id,
            generation_id=epoch,
            topic=topic.name,
            partition=index,
        )
        self.commits.waiting[token] = ((topic.name, index), offset)

    def note_answers(self) -> None:
        for client in self.clients:
            if not isinstance(client, ClassicClient) or client.waiting not in self.shell.answers:
                continue
            if client.answered_ms < client.sent_ms:
                client.answered_ms = self.shell.now_ms

    def check(self) -> None:
        super().check()
        self.note_answers()
        commits = self.commits
        for token in [token for token in commits.waiting if token in self.shell.answers]:
            name, offset = commits.waiting.pop(token)
            if self.shell.error(token) is ErrorCode.NONE:
                commits.answered[name] = max(offset, commits.answered.get(name, 0))
        for name, offset in commits.answered.items():
            assert self.shell.committed(*name) >= offset, f"the commit of {name} is lost"

    def settle(self) -> None:
        """End the trouble; members restart one by one, with the protocol that each has at last."""
        self.in_trouble = False
        last = self.random.choice([(True,) * 4, (False,) * 4, (True, False, True, False)])
        for at, is_classic in enumerate(last):
            client = self.clients[at]
            if client.is_alive and isinstance(client, ClassicClient) is not is_classic:
                self.leave(client)
            if not client.is_alive:
                self.live(client, is_classic)
            self.rounds(self.random.randint(1, 10))
        self.rounds(80)

    def rounds(self, count: int) -> None:
        for _ in range(count):
            while self.shell.in_flight:
                self.shell.persist_next()
            for client in [each for each in self.clients if each.is_alive]:
                self.receive(client)
                self.carry_out(client)
                if client.waiting is None:
                    self.send(client)
                self.check()
            self.shell.advance(500)
            self.notice_time()
            self.check()

    def check_settled(self) -> None:
        owned = sorted(
            (topic.name, index)
            for client in self.clients
            for topic_id, index in client.owned
            if (topic := self.shell.topics.by_id(topic_id))
        )
        expected = sorted((name, index) for name, count in TOPICS.items() for index in range(count))
        assert owned == expected, "a partition has no owner"
        sizes = [len(client.owned) for client in self.clients]
        assert max(sizes) - min(sizes) <= 1, f"not balanced: {sizes}"
        are_classic = all(isinstance(client, ClassicClient) for client in self.clients)
        (group,) = self.shell.shard.list_groups()
        expected_type = "Classic" if are_classic else "Consumer"
        assert group.group_type == expected_type, f"its type is {group.group_type}"
        assert group.group_state == "Stable"
        (again,) = self.shell.restart().shard.list_groups()
        assert again.group_type == group.group_type


def _assignment(names: list[Name]) -> bytes:
    topics: dict[str, list[int]] = {}
    for topic, index in sorted(names):
        topics.setdefault(topic, []).append(index)
    return encoded(ConsumerProtocolAssignment([TopicPartition(*each) for each in topics.items()]))


def run(seed: int) -> None:
    world = World(seed)
    for _ in range(STEPS):
        world.step()
    world.settle()
    world.check_settled()


@pytest.mark.parametrize("seed", range(examples(40)))
def test_a_group_in_migration(seed: int) -> None:
    run(seed)


def _forget_assignments(patch: pytest.MonkeyPatch) -> None:
    """The partitions of classic members count as free after an upgrade."""
    patch.setattr(upgrade, "_free", lambda *_: {})


def _ignore_claims(patch: pytest.MonkeyPatch) -> None:
    """What a classic member says it owns is not heard."""
    patch.setattr(classic_requests, "owned_partitions", lambda *_: {})


def _stay_upgraded(patch: pytest.MonkeyPatch) -> None:
    """A group is not downgraded with the last member of the consumer protocol."""
    patch.setattr(requests, "is_to_be_downgraded", lambda *_: False)


def _give_at_once(patch: pytest.MonkeyPatch) -> None:
    """Classic members get partitions that another member owns."""

    def hasty(*args: object, **options: object) -> object:
        return reconcile(*args, **{**options, "owner_of": lambda *_: None})  # type: ignore[arg-type]

    patch.setattr(classic_requests, "reconcile", hasty)


@pytest.mark.parametrize(
    "break_it", [_forget_assignments, _ignore_claims, _stay_upgraded, _give_at_once]
)
def test_a_broken_rule_is_noticed(
    break_it: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    break_it(monkeypatch)

    def some_seeds() -> None:
        for seed in range(60):
            run(seed)

    with pytest.raises(AssertionError, match=r"two owners|no owner|its type|not balanced"):
        some_seeds()
