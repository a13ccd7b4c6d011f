"""A consumer group among clients that are slow, die and lose answers, and a coordinator that moves.

Simple clients stand beside the shard: each owns what it was assigned, gives up partitions some
time after it was told to, and says what it owns. While a heartbeat that says so is not answered, a
client takes no new partitions, since the answer may take them away.

After every step no partition may have two owners, and what is decided must be what is persisted.
When the trouble is over, every partition must have an owner, and members must have equally many.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

import pytest

from barnabas.groups.config import ConsumerGroupConfig, GroupConfig, ModernGroupSettings
from barnabas.groups.consumer import heartbeat, reconciliation
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatResponse
from tests.groups.consumer.shell import ConsumerShell
from tests.groups.fake_topics import FakeTopics
from tests.support.tier import examples

SESSION_MS = 10_000
REBALANCE_MS = 20_000
REVOKED_WITHIN_MS = 8_000
CONFIG = GroupConfig(
    consumer=ConsumerGroupConfig(
        settings=ModernGroupSettings(
            session_timeout_ms=SESSION_MS, heartbeat_interval_ms=1_000, assignment_interval_ms=500
        )
    )
)
STEPS = 250
REJOIN = (
    ErrorCode.FENCED_MEMBER_EPOCH,
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.GROUP_ID_NOT_FOUND,
    ErrorCode.UNRELEASED_INSTANCE_ID,
    ErrorCode.FENCED_INSTANCE_ID,
)

TopicPartition = tuple[bytes, int]


@dataclass
class Client:
    name: str
    instance: str | None
    lives: int = 0
    is_alive: bool = False
    epoch: int = 0
    subscription: tuple[str, ...] = ("t",)
    owned: set[TopicPartition] = field(default_factory=set)
    assignment: set[TopicPartition] | None = None
    """What it was told last and has not carried out yet."""
    waiting: int | None = None
    sent_ms: int = 0
    heard_ms: int = 0
    """When it sent the last heartbeat that was answered."""
    told_ms: int = 0
    is_full: bool = True
    """Whether its next heartbeat says everything."""

    @property
    def member_id(self) -> str:
        return f"{self.name}{self.lives}"


class World:
    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.shell = ConsumerShell(CONFIG, topics=FakeTopics(t=6, u=3))
        self.shell.persists_at_once = False
        self.clients = [Client(name, "s" if name == "d" else None) for name in "abcd"]
        self.in_trouble = True

    # -- clients -----------------------------------------------------------------------------------

    def send(self, client: Client) -> None:
        names: dict[str, list[int]] = {}
        for topic_id, index in sorted(client.owned):
            topic = self.shell.topics.by_id(topic_id)
            if topic is not None:
                names.setdefault(topic.name, []).append(index)
        full = client.is_full or client.epoch == 0
        client.waiting = self.shell.beat(
            client.member_id,
            client.epoch,
            topics=client.subscription if full else None,
            owned=names,
            rebalance_ms=REBALANCE_MS if full else -1,
            instance=client.instance,
        )
        client.sent_ms = self.shell.now_ms
        client.is_full = False

    def receive(self, client: Client) -> None:
        token = client.waiting
        if token is None or token not in self.shell.answers:
            return
        client.waiting = None
        answer = self.shell.answers[token]
        assert isinstance(answer, ConsumerGroupHeartbeatResponse)
        if self.in_trouble and self.random.random() < 0.1:
            client.is_full, client.assignment = True, None  # the answer got lost
        elif answer.error_code in REJOIN:
            self.start_over(client)
        elif answer.error_code:
            client.is_full = True
        else:
            client.heard_ms = client.sent_ms
            client.epoch = answer.member_epoch
            if answer.assignment is not None:
                client.told_ms = self.shell.now_ms
                client.assignment = {
                    (topic.topic_id, index)
                    for topic in answer.assignment.topic_partitions
                    for index in topic.partitions
                }

    def carry_out(self, client: Client) -> None:
        """Give up what was revoked; take what is new."""
        if client.assignment is not None and client.waiting is None:
            client.owned, client.assignment = client.assignment, None

    def start_over(self, client: Client) -> None:
        client.epoch, client.owned, client.assignment = 0, set(), None
        client.is_full = True

    def live(self, client: Client) -> None:
        client.lives += 1
        client.is_alive, client.waiting = True, None
        self.start_over(client)

    def leave(self, client: Client) -> None:
        client.owned = set()
        epoch = -2 if client.instance and self.random.random() < 0.7 else -1
        if client.epoch > 0:
            self.shell.beat(client.member_id, epoch, instance=client.instance)
        client.is_alive = False

    # -- time --------------------------------------------------------------------------------------

    def step(self) -> None:
        client = self.random.choice(self.clients)
        match self.random.choices(range(9), [30, 30, 20, 3, 15, 2, 3, 2, 12])[0]:
            case 0 if client.is_alive and client.waiting is None:
                self.send(client)
            case 1:
                self.receive(client)
            case 2 if client.is_alive:
                self.carry_out(client)
            case 3 if not client.is_alive:
                self.live(client)
            case 4 if self.shell.in_flight:
                self.persist_next()
            case 5 if client.is_alive and self.random.random() < 0.5:
                self.leave(client)
            case 5 if client.is_alive:
                client.is_alive, client.owned = False, set()
            case 6:
                self.move()
            case 7:
                self.change_topics(client)
            case 8:
                self.shell.advance(self.random.choice([50, 200, 1_000]))
        self.notice_time()
        self.check()

    def persist_next(self) -> None:
        self.shell.persist_next()

    def notice_time(self) -> None:
        """A client that has not reached the coordinator for too long stops by itself."""
        for client in self.clients:
            late_ms = self.shell.now_ms - client.heard_ms
            if client.is_alive and client.owned and late_ms >= SESSION_MS - 1_000:
                self.start_over(client)
                client.waiting = None
            if client.assignment is not None:
                told_ms = self.shell.now_ms - client.told_ms
                if told_ms >= REVOKED_WITHIN_MS:
                    client.owned &= client.assignment

    def move(self) -> None:
        """Another node is the coordinator; what is in flight is lost or not."""
        kept = self.random.randint(0, len(self.shell.in_flight))
        for _ in range(kept):
            self.shell.persist_next()
        self.shell.resign()
        for client in self.clients:
            self.receive(client)
            if client.waiting is not None:
                client.waiting, client.assignment, client.is_full = None, None, True
        self.shell = self.shell.restart()
        self.shell.persists_at_once = False

    def change_topics(self, client: Client) -> None:
        topics = self.shell.topics
        match self.random.randint(0, 2):
            case 0:
                client.subscription = self.random.choice([("t",), ("t", "u"), ("u",)])
                client.is_full = True
            case 1 if topics.by_name("u"):
                topics.delete("u")
            case 1:
                topics.create("u", 2)
            case 2:
                count = topics.by_name("t").partition_count  # type: ignore[union-attr]
                topics.grow("t", min(count + 1, 12))

    def check(self) -> None:
        owners = Counter(each for client in self.clients for each in client.owned)
        twice = [each for each, count in owners.items() if count > 1]
        assert not twice, f"{twice} have two owners"
        assert self.shell.is_in_step(), "what is decided is not what is persisted"

    def settle(self) -> None:
        """End the trouble, and let everybody work."""
        self.in_trouble = False
        for client in self.clients:
            client.subscription, client.is_full = ("t", "u"), True
            if not client.is_alive:
                self.live(client)
        if self.shell.topics.by_name("u") is None:
            self.shell.topics.create("u", 3)
        for _ in range(60):
            while self.shell.in_flight:
                self.shell.persist_next()
            for client in self.clients:
                self.receive(client)
                self.carry_out(client)
                if client.waiting is None:
                    self.send(client)
                self.check()
            self.shell.advance(1_000)

    def check_settled(self) -> None:
        expected = {
            (topic.topic_id, index)
            for name in ("t", "u")
            if (topic := self.shell.topics.by_name(name))
            for index in range(topic.partition_count)
        }
        owned = [each for client in self.clients for each in client.owned]
        assert sorted(owned) == sorted(expected), "a partition has no owner"
        sizes = [len(client.owned) for client in self.clients]
        assert max(sizes) - min(sizes) <= 1, f"not balanced: {sizes}"
        described = self.shell.described()
        assert described.group_state == "Stable"
        assert self.shell.restart().described() == described


def run(seed: int) -> None:
    world = World(seed)
    for _ in range(STEPS):
        world.step()
    world.settle()
    world.check_settled()


@pytest.mark.parametrize("seed", range(examples(40)))
def test_a_group_in_trouble(seed: int) -> None:
    run(seed)


def _give_at_once(patch: pytest.MonkeyPatch) -> None:
    """Partitions are assigned while another member owns them."""
    real = reconciliation.reconcile

    def hasty(*args: object, **options: object) -> object:
        return real(*args, **{**options, "owner_of": lambda *_: None})  # type: ignore[arg-type]

    patch.setattr(heartbeat, "reconcile", hasty)


def _revoke_at_once(patch: pytest.MonkeyPatch) -> None:
    """Partitions are free before their owner has given them up."""
    patch.setattr(reconciliation, "_owns_any", lambda *_: False)


@pytest.mark.parametrize("break_it", [_give_at_once, _revoke_at_once])
def test_a_broken_rule_is_noticed(
    break_it: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    break_it(monkeypatch)

    def some_seeds() -> None:
        for seed in range(60):
            run(seed)

    with pytest.raises(AssertionError, match=r"two owners|no owner|not balanced|Stable"):
        some_seeds()
