"""Which partitions a member would get if another one left."""

import pytest

from barnabas.app.state.inheritance import GroupView, inheritable
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.group.assignors import ASSIGNORS

MEMBERS = ("a", "b", "c", "d")


def view(assignor: str, members: tuple[str, ...], counts: dict[str, int]) -> GroupView:
    named = ASSIGNORS.get(assignor, ASSIGNORS["range"])
    assigned = named(dict.fromkeys(members, sorted(counts)), counts)
    return GroupView(assigned, assignor, counts, is_stable=True)


@pytest.mark.parametrize("assignor", ["range", "roundrobin"])
@pytest.mark.parametrize("members", [MEMBERS[:2], MEMBERS[:3], MEMBERS])
def test_whoever_leaves_its_partitions_have_a_copy(assignor: str, members: tuple[str, ...]) -> None:
    counts = {"orders": 7, "other": 3}
    before = view(assignor, members, counts)
    copies = {each: inheritable(before, "orders", each) for each in members}
    for leaving in members:
        left = tuple(each for each in members if each != leaving)
        after = view(assignor, left, counts)
        for each in left:
            has = {one.partition for one in after.members[each] if one.topic == "orders"}
            had = {one.partition for one in before.members[each] if one.topic == "orders"}
            assert has - had <= copies[each]
    for each in members:
        had = {one.partition for one in before.members[each] if one.topic == "orders"}
        assert not had & copies[each]


def test_alone_there_is_nothing_to_inherit() -> None:
    assert inheritable(view("range", ("a",), {"orders": 4}), "orders", "a") == set()
    assert inheritable(view("range", MEMBERS, {"orders": 4}), "orders", "stranger") == set()


def test_an_unknown_assignor_may_give_anything() -> None:
    found = inheritable(view("uniform", ("a", "b"), {"orders": 4}), "orders", "a")
    assert found == {2, 3}


def test_a_member_without_partitions_may_get_some() -> None:
    members = {"a": [TopicPartition("orders", 0)], "b": []}
    group = GroupView(members, "range", {"orders": 1}, is_stable=True)
    assert inheritable(group, "orders", "b") == {0}
