"""One group's life across many coordinators, every run decided by its seed.

A coordinator that moves takes along what is committed, and of what is under way only as much as
the next leader's log happens to have. The former one may not know yet, and go on answering; only
it can't have anything committed any more. Members behave as clients do: they look for the
coordinator when they are told to or hear nothing, join again, and read on from the committed
offset.
"""

from collections import defaultdict
from collections.abc import Callable
from random import Random

import pytest

from barnabas.coordination.decision import CoordinatorDecision
from barnabas.groups.classic.group import ClassicGroup
from barnabas.wire.errors import ErrorCode
from barnabas.wire.message import Response
from barnabas.wire.messages.join_group import JoinGroupResponse
from barnabas.wire.messages.offset_commit import OffsetCommitResponse
from barnabas.wire.messages.sync_group import SyncGroupResponse
from tests.groups.shell import GROUP, SESSION_MS, Shell
from tests.support.tier import examples

PARTITIONS = 4
STEPS = 500

_JOIN_AGAIN = {
    ErrorCode.REBALANCE_IN_PROGRESS,
    ErrorCode.ILLEGAL_GENERATION,
    ErrorCode.MEMBER_ID_REQUIRED,
}
_LOOK_FOR_IT = {ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE}
_WHO_ARE_YOU = {ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID}


class Cluster:
    """Who coordinates, who still believes to, and what must be true of all of them."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.current = Shell()
        self.current.persists_at_once = False
        self.zombies: list[Shell] = []
        self.given: defaultdict[int, dict[str, bytes]] = defaultdict(dict)
        """What was assigned to whom, by generation."""
        self.acknowledged = dict.fromkeys(range(PARTITIONS), -1)
        """The newest offset of each partition that a client knows to be committed."""
        self.moves = self.assignments = self.commits = 0
        self.is_calm = False
        """Nothing goes wrong any more, and no member leaves."""

    def coordinators(self) -> list[Shell]:
        return [self.current, *self.zombies]

    def replicate(self) -> None:
        for _ in range(self.random.randint(1, 3)):
            if self.current.in_flight:
                self.current.persist_next()

    def wait(self, ms: int) -> None:
        for each in self.coordinators():
            each.advance(ms)

    def move(self) -> None:
        former = self.current
        survive = self.random.randint(0, len(former.in_flight))
        log = former.log + [
            record for decision in list(former.in_flight)[:survive] for record in decision.records
        ]
        self.current = former.successor(log)
        self.current.persists_at_once = False
        self.zombies.append(former)
        self.moves += 1
        if self.random.random() < 0.5:
            self.dethrone()
        for partition, offset in self.acknowledged.items():
            assert self.current.committed(partition=partition) >= offset, "a commit is lost"

    def dethrone(self) -> None:
        if self.zombies:
            zombie = self.zombies.pop(0)
            zombie.resign()
            assert zombie.asked == zombie.answers.keys(), "a request was left waiting"

    def assigned(self, generation_id: int, name: str, assignment: bytes) -> None:
        given = self.given[generation_id]
        assert given.setdefault(name, assignment) == assignment, "two assignments"
        everything = b"".join(given.values())
        assert len(set(everything)) == len(everything), "a partition was given to two members"
        self.assignments += 1

    def confirmed(self, partition: int, offset: int) -> None:
        assert offset > self.acknowledged[partition], "an offset went back"
        self.acknowledged[partition] = offset
        self.commits += 1


class Client:
    def __init__(self, cluster: Cluster, instance: str | None) -> None:
        self.cluster = cluster
        self.instance = instance
        self.coordinator = cluster.current
        self.member_id = ""
        self.generation_id = -1
        self.token: int | None = None
        self.positions: dict[int, int] = {}
        self.committing = (-1, -1)
        self.is_member = False

    def step(self) -> None:
        random = self.cluster.random
        if self.token is not None:
            answer = self.coordinator.answers.get(self.token)
            if answer is not None:
                self.token = None
                self.hear(answer)
            elif not self.cluster.is_calm and random.random() < 0.02:
                self.look_for_coordinator()  # it has waited long enough
        elif self.coordinator not in self.cluster.coordinators():
            self.refused(ErrorCode.NOT_COORDINATOR)
        elif not self.is_member:
            self.token = self.coordinator.join(self.member_id, instance=self.instance)
        elif random.random() < 0.5:
            error = self.coordinator.heartbeat(self.member_id, self.generation_id, self.instance)
            self.refused(error)
        elif self.positions and random.random() < 0.8:
            partition = random.choice(sorted(self.positions))
            self.committing = (partition, self.positions[partition] + 1)
            self.token = self.coordinator.commit(
                self.committing[1],
                member_id=self.member_id,
                generation_id=self.generation_id,
                partition=partition,
                instance=self.instance,
            )
        elif not self.cluster.is_calm and random.random() < 0.1:
            self.coordinator.leave(self.member_id)
            self.member_id = ""
            self.is_member = False

    def look_for_coordinator(self) -> None:
        self.token = None
        self.coordinator = self.cluster.current
        self.is_member = False

    def hear(self, answer: object) -> None:
        match answer:
            case JoinGroupResponse():
                self.joined(answer)
            case SyncGroupResponse():
                self.synced(answer)
            case OffsetCommitResponse():
                error = ErrorCode(answer.topics[0].partitions[0].error_code)
                if error is ErrorCode.NONE:
                    partition, offset = self.committing
                    self.cluster.confirmed(partition, offset)
                    self.positions[partition] = offset
                else:
                    self.refused(error)

    def joined(self, answer: JoinGroupResponse) -> None:
        self.member_id = answer.member_id
        if self.refused(ErrorCode(answer.error_code)):
            return
        self.generation_id = answer.generation_id
        plan = {}
        if answer.leader == self.member_id and not answer.skip_assignment:
            names = [member.member_id for member in answer.members]
            self.cluster.random.shuffle(names)
            plan = {
                name: bytes(range(number, PARTITIONS, len(names)))
                for number, name in enumerate(names)
            }
        self.token = self.coordinator.sync(
            self.member_id, self.generation_id, plan, instance=self.instance
        )

    def synced(self, answer: SyncGroupResponse) -> None:
        if self.refused(ErrorCode(answer.error_code)):
            return
        self.is_member = True
        # A static member that comes back with a new id has what it had before.
        name = self.instance or self.member_id
        self.cluster.assigned(self.generation_id, name, answer.assignment)
        self.positions = {
            partition: self.coordinator.committed(partition=partition)
            for partition in answer.assignment
        }
        if self.coordinator is self.cluster.current:
            for partition, offset in self.positions.items():
                assert offset >= self.cluster.acknowledged[partition], "an old offset was shown"

    def refused(self, error: ErrorCode) -> bool:
        if error in _LOOK_FOR_IT:
            self.look_for_coordinator()
        elif error in _WHO_ARE_YOU:
            self.member_id = ""
            self.is_member = False
        elif error in _JOIN_AGAIN:
            self.is_member = False
        else:
            assert error is ErrorCode.NONE, error
        return error is not ErrorCode.NONE


@pytest.mark.parametrize("seed", range(examples(40)))
def test_a_group_that_moves_about(seed: int) -> None:
    cluster = Cluster(seed)
    random = cluster.random
    clients = [Client(cluster, None) for _ in range(3)]
    clients += [Client(cluster, f"static-{number}") for number in range(seed % 3)]
    for _ in range(STEPS):
        for client in clients:
            client.step()
        if random.random() < 0.7:
            cluster.replicate()
        if random.random() < 0.03:
            cluster.move()
        if random.random() < 0.05:
            cluster.dethrone()
        cluster.wait(random.choice([0, 10, 100, SESSION_MS // 20]))
    while cluster.zombies:
        cluster.dethrone()
    assert cluster.moves > 3
    assert cluster.assignments > 5
    assert cluster.commits > 5
    # When nothing more goes wrong, every member has a share, and together they have all.
    cluster.is_calm = True
    for _ in range(400):
        for client in clients:
            client.step()
        cluster.replicate()
        cluster.wait(100)
    members = cluster.current.shard.describe_group(GROUP, api_version=5).members
    shares = b"".join(member.member_assignment for member in members)
    assert sorted(shares) == list(range(PARTITIONS)), cluster.current.state()


# -- what such a run must notice -------------------------------------------------------------------


def _acknowledge_at_once(patch: pytest.MonkeyPatch) -> None:
    def hold(
        self: CoordinatorDecision, token: object, *, committed: Response, failed: object
    ) -> None:
        self.reply(token, committed)

    patch.setattr(CoordinatorDecision, "hold", hold)


def _lose_the_last_record(patch: pytest.MonkeyPatch) -> None:
    successor = Shell.successor
    patch.setattr(Shell, "successor", lambda self, log: successor(self, list(log)[:-1]))


def _count_generations_anew(patch: pytest.MonkeyPatch) -> None:
    restore = ClassicGroup.restore

    def forgetful(self: ClassicGroup, now_ms: int) -> None:
        restore(self, now_ms)
        self.generation_id = 0

    patch.setattr(ClassicGroup, "restore", forgetful)


@pytest.mark.parametrize(
    "break_it", [_acknowledge_at_once, _lose_the_last_record, _count_generations_anew]
)
def test_a_broken_rule_is_noticed(
    break_it: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    def some_seeds() -> None:
        for seed in range(10):
            test_a_group_that_moves_about(seed)

    break_it(monkeypatch)
    with pytest.raises(AssertionError, match=r"lost|old offset|two assignments|two members|back"):
        some_seeds()
