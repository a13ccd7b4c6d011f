"""What the assignors promise, for any group."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.groups.assignors import CONSUMER_ASSIGNORS, RangeAssignor, UniformAssignor
from barnabas.groups.modern.assignment import Partitions, count_of
from barnabas.groups.modern.assignor import Assignor, GroupSpec, MemberSpec, no_racks
from tests.support.steps import at_most_steps
from tests.support.tier import examples

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


@st.composite
def groups_in_racks(draw: st.DrawFn) -> GroupSpec:
    group = draw(groups())
    racks = {
        (topic, index): draw(st.frozensets(st.sampled_from("xyz"), max_size=2))
        for topic, count in group.partition_counts.items()
        for index in range(count)
    }
    members = {
        name: member._replace(rack_id=draw(st.sampled_from([None, "x", "y", "z"])))
        for name, member in group.members.items()
    }
    return group._replace(members=members, racks_of=lambda *each: racks[each])


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
@settings(max_examples=examples(50))
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
def test_a_large_group_takes_little_work(assignor: Assignor) -> None:
    """1,000 partitions and 100 members, with equal and with different subscriptions."""
    topics = [number.to_bytes(16) for number in range(100)]
    alike = [frozenset(topics)] * 100
    mixed = [frozenset(topics[number % 10 :: 1 + number % 3]) for number in range(100)]
    for subscriptions in (alike, mixed):
        members = {f"m{i}": MemberSpec(each, {}) for i, each in enumerate(subscriptions)}
        group = GroupSpec(members, dict.fromkeys(topics, 10))
        with at_most_steps(1_000_000):
            targets = assignor.assign(group)
        assert Counter(pairs(targets)).most_common(1)[0][1] == 1


# -- racks -----------------------------------------------------------------------------------------


def is_near(group: GroupSpec, targets: Targets) -> int:
    """How many partitions are with a member in the rack of a replica."""
    return sum(
        group.members[name].rack_id in group.racks_of(topic, index)
        for name, target in targets.items()
        for topic, indexes in target.items()
        for index in indexes
    )


@given(group=groups_in_racks())
def test_racks_cost_neither_balance_nor_stickiness(group: GroupSpec) -> None:
    targets = UniformAssignor().assign(group)
    plain = UniformAssignor().assign(group._replace(racks_of=no_racks))
    assert sorted(pairs(targets)) == sorted(pairs(plain))
    if len({member.subscribed for member in group.members.values()}) == 1:
        sizes = {name: count_of(target) for name, target in targets.items()}
        assert sizes == {name: count_of(target) for name, target in plain.items()}
        for name, member in group.members.items():
            for topic, indexes in member.target.items():
                # What it keeps without racks, it keeps with them.
                kept = plain[name].get(topic, frozenset()) & indexes
                assert kept <= targets[name].get(topic, frozenset()) or kept & _shared(group, topic)
    assert UniformAssignor().assign(again(group, targets)) == targets


def _shared(group: GroupSpec, topic: bytes) -> frozenset[int]:
    """Partitions that more than one member had."""
    owners = Counter(
        index for member in group.members.values() for index in member.target.get(topic, ())
    )
    return frozenset(index for index, count in owners.items() if count > 1)


def test_new_partitions_go_to_members_in_their_rack() -> None:
    (topic,) = TOPICS[:1]
    subscribed = frozenset({topic})
    members = {
        f"m{at}": MemberSpec(subscribed, {}, rack_id=rack) for at, rack in enumerate("xyzxyz")
    }
    racks = ["z", "z", "y", "x", "y", "x", "z", "z", "y", "x", "y", "x"]
    group = GroupSpec(members, {topic: 12}, lambda _, index: frozenset({racks[index]}))
    targets = UniformAssignor().assign(group)
    assert {count_of(target) for target in targets.values()} == {2}
    assert is_near(group, targets) == 12
    assert is_near(group, UniformAssignor().assign(group._replace(racks_of=no_racks))) < 12
    # A member that leaves: its partitions stay in the rack, the others where they are.
    rest = again(group, targets)
    gone = rest._replace(
        members={name: each for name, each in rest.members.items() if name != "m0"}
    )
    after = UniformAssignor().assign(gone)
    for name, target in gone.members.items():
        assert target.target[topic] <= after[name][topic]


def test_no_partition_moves_for_the_sake_of_a_rack() -> None:
    (topic,) = TOPICS[:1]
    members = {
        "a": MemberSpec(frozenset({topic}), {topic: frozenset({0, 1})}, rack_id="x"),
        "b": MemberSpec(frozenset({topic}), {topic: frozenset({2, 3})}, rack_id="y"),
    }
    group = GroupSpec(members, {topic: 4}, lambda _, index: frozenset({"y" if index < 2 else "x"}))
    assert UniformAssignor().assign(group) == {name: each.target for name, each in members.items()}
