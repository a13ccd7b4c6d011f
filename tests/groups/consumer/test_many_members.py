"""A group of a hundred members with a thousand partitions: who joins, leaves and dies in it."""

from collections import Counter

from tests.groups.consumer.shell import ConsumerShell
from tests.groups.fake_topics import FakeTopics

MEMBERS = 100
PARTITIONS = 1_000
_MAX_ROUNDS = 10


class Member:
    """Does what its heartbeats say, at once."""

    def __init__(self, shell: ConsumerShell, name: str) -> None:
        self.name = name
        self.owned: dict[str, list[int]] = {}
        self._shell = shell
        answer = shell.join_group(name)
        self.epoch = answer.member_epoch
        self.owned = shell.assigned(answer)

    def beat(self) -> bool:
        """Returns whether something has changed."""
        before = (self.epoch, self.owned)
        answer = self._shell.beaten(self._shell.beat(self.name, self.epoch, owned=self.owned))
        self.epoch = answer.member_epoch
        if answer.assignment is not None:
            self.owned = self._shell.assigned(answer)
        return (self.epoch, self.owned) != before

    def leave(self) -> None:
        self._shell.beat(self.name, -1)


def settle(shell: ConsumerShell, members: list[Member]) -> None:
    for _ in range(_MAX_ROUNDS):
        shell.advance(1_000)
        changes = [each.beat() for each in members]
        if not any(changes) and {each.epoch for each in members} == {shell.described().group_epoch}:
            return
    raise AssertionError(f"not stable after {_MAX_ROUNDS} rounds of heartbeats")


def assert_shared_out_evenly(members: list[Member]) -> None:
    counts = Counter(index for each in members for index in each.owned.get("t", ()))
    assert counts == Counter(range(PARTITIONS)), "each partition has one member"
    sizes = [len(each.owned.get("t", ())) for each in members]
    assert max(sizes) - min(sizes) <= 1


def test_a_hundred_members_share_a_thousand_partitions_whoever_goes() -> None:
    shell = ConsumerShell(topics=FakeTopics(t=PARTITIONS))
    members = [Member(shell, f"m{number:03}") for number in range(MEMBERS)]
    settle(shell, members)
    assert_shared_out_evenly(members)
    before = {each.name: set(each.owned["t"]) for each in members}

    members.pop(50).leave()
    settle(shell, members)
    assert_shared_out_evenly(members)
    assert all(set(each.owned["t"]) >= before[each.name] for each in members), "the rest stays"

    dead = members.pop(10)
    for _ in range(6):
        shell.advance(10_000)
        for each in members:
            each.beat()
    settle(shell, members)
    assert dead.name not in {each.member_id for each in shell.described().members}
    assert_shared_out_evenly(members)
