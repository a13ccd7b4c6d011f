"""What the assignors promise, for any group."""

import time
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.groups.assignors import CONSUMER_ASSIGNORS, RangeAssignor, UniformAssignor
from barnabas.groups.modern.assignment import Partitions, count_of
from barnabas.groups.modern.assignor import Assignor, GroupSpec, MemberSpec

TOPICS = [bytes([number]) * 16 for number in range(1, 6)]
Targets = dict[str, Partitions]

topic_sets = st.frozensets(st.sampled_from(TOPICS), max_size=4)
counts = st.fixed_dictionaries({topic: st.integers(0, 9) for topic in TOPICS})
names = st.lists(st.sampled_from("abcdefgh"), unique=True, min_size=1)


@st.composite
def groups(draw: st.DrawFn, *, alike: bool = False) -> GroupSpec:
    """A group with any former targets, some of them impossible by now."""
    same = draw(topic_sets)
    members = {}
    for name in draw(names):
        former = draw(
            st.dictionaries(
                st.sampled_from(TOPICS), st.frozensets(st.integers(0, 12), min_size=1), max_size=3
            )
        )
        members[name] = MemberSpec(same if alike else draw(topic_sets), former)
    return GroupSpec(members, draw(counts))


def again(group: GroupSpec, targets: Targets) -> GroupSpec:
    members = {
        name: member._replace(target=targets[name]) for name, member in group.members.items()
    }
    return group._replace(members=members)


def pairs(targets: Targets) -> list[tuple[bytes, int]]:
    return [
        (topic, index)
        for target in targets.values()
        for topic, indexes in target.items()
        for index in indexes
    ]


@pytest.mark.parametrize("assignor", CONSUMER_ASSIGNORS.values(), ids=lambda each: each.name)
@given(group=groups())
def test_every_partition_has_one_subscriber(assignor: Assignor, group: GroupSpec) -> None:
    targets = assignor.assign(group)
    assert targets.keys() == group.members.keys()
    for name, target in targets.items():
        assert target.keys() <= group.members[name].subscribed
        assert all(target.values()), "a topic without partitions"
    subscribed = {topic for member in group.members.values() for topic in member.subscribed}
    expected = [(topic, i) for topic in subscribed for i in range(group.partition_counts[topic])]
    assert sorted(pairs(targets)) == sorted(expected)


@given(group=groups(alike=True))
def test_uniform_is_balanced_within_one(group: GroupSpec) -> None:
    sizes = [count_of(target) for target in UniformAssignor().assign(group).values()]
    assert max(sizes) - min(sizes) <= 1


@given(group=groups())
def test_no_single_move_would_improve_the_balance(group: GroupSpec) -> None:
    targets = UniformAssignor().assign(group)
    size = {name: count_of(target) for name, target in targets.items()}
    for giver, target in targets.items():
        for taker, member in group.members.items():
            if target.keys() & member.subscribed:
                assert size[giver] - size[taker] <= 1


@given(group=groups())
def test_uniform_stays_as_it_is(group: GroupSpec) -> None:
    targets = UniformAssignor().assign(group)
    assert UniformAssignor().assign(again(group, targets)) == targets


@given(group=groups(alike=True), name=st.sampled_from("xyz"))
def test_uniform_moves_only_what_a_new_member_gets(group: GroupSpec, name: str) -> None:
    before = UniformAssignor().assign(group)
    subscribed = next(iter(group.members.values())).subscribed
    members = {**again(group, before).members, name: MemberSpec(subscribed, {})}
    after = UniformAssignor().assign(group._replace(members=members))
    kept = sum(
        len(indexes & after[each].get(topic, frozenset()))
        for each, target in before.items()
        for topic, indexes in target.items()
    )
    assert kept == len(pairs(before)) - count_of(after[name])


@given(group=groups(alike=True))
@settings(max_examples=50)
def test_uniform_moves_only_what_a_leaving_member_had(group: GroupSpec) -> None:
    before = UniformAssignor().assign(group)
    gone = next(iter(group.members))
    members = dict(again(group, before).members)
    del members[gone]
    after = UniformAssignor().assign(group._replace(members=members))
    for name, target in after.items():
        for topic, indexes in before[name].items():
            assert indexes <= target.get(topic, frozenset())


def test_range_gives_the_same_partitions_of_equal_topics() -> None:
    one, two, *_ = TOPICS
    both = frozenset({one, two})
    members = {name: MemberSpec(both, {}) for name in "cab"}
    members["s"] = MemberSpec(both, {}, instance_id="static")
    targets = RangeAssignor().assign(GroupSpec(members, {one: 6, two: 6}))
    assert all(target[one] == target[two] for target in targets.values())
    assert [sorted(targets[name][one]) for name in "sabc"] == [[0, 1], [2, 3], [4], [5]]


@pytest.mark.parametrize("assignor", CONSUMER_ASSIGNORS.values(), ids=lambda each: each.name)
def test_a_large_group_takes_little_time(assignor: Assignor) -> None:
    """1,000 partitions and 100 members, with equal and with different subscriptions."""
    topics = [number.to_bytes(16) for number in range(100)]
    alike = [frozenset(topics)] * 100
    mixed = [frozenset(topics[number % 10 :: 1 + number % 3]) for number in range(100)]
    for subscriptions in (alike, mixed):
        members = {f"m{i}": MemberSpec(each, {}) for i, each in enumerate(subscriptions)}
        group = GroupSpec(members, dict.fromkeys(topics, 10))
        began = time.process_time()
        targets = assignor.assign(group)
        assert time.process_time() - began < 0.5  # 5 to 30 ms; much more on a busy machine
        assert Counter(pairs(targets)).most_common(1)[0][1] == 1
