"""Plans of balance, for random clusters."""

from random import Random

import pytest

from barnabas.client.admin.balance import (
    Balance,
    BalanceGoals,
    PartitionLoad,
    plan_balance,
)
from barnabas.client.admin.placement import NodeLocation
from barnabas.client.connect.cluster_metadata import TopicPartition
from tests.support.tier import examples

Assignment = dict[TopicPartition, list[int]]
Loads = dict[TopicPartition, PartitionLoad]


def places(racks: list[str | None]) -> list[NodeLocation]:
    return [NodeLocation(n, f"host{n}", rack) for n, rack in enumerate(racks, 1)]


def after(assignment: Assignment, plan: Balance) -> Assignment:
    return {**assignment, **plan.moves}


def carried(assignment: Assignment, loads: Loads, nodes: list[int]) -> dict[int, int]:
    found = dict.fromkeys(nodes, 0)
    for name, replicas in assignment.items():
        for each in replicas:
            found[each] += loads[name].bytes
    return found


def racks_used(replicas: list[int], where: list[NodeLocation]) -> int:
    rack = {each.node_id: each.rack for each in where}
    return len({rack[each] for each in replicas if each in rack})


@pytest.mark.parametrize("seed", range(examples(150)))
def test_random_clusters(seed: int) -> None:
    random = Random(seed)
    count = random.randint(1, 7)
    rack_count = random.randint(1, 4)
    with_racks = random.random() < 0.7
    where = [
        NodeLocation(
            n,
            f"host{random.randrange(5)}",
            f"r{random.randrange(rack_count)}" if with_racks else None,
        )
        for n in range(1, count + 1)
    ]
    nodes = [each.node_id for each in where]
    down = [100] if random.random() < 0.2 else []
    assignment: Assignment = {}
    loads: Loads = {}
    for n in range(random.randint(0, 60)):
        name = TopicPartition(f"t{n % 5}", n // 5)
        crowd = nodes[: random.randint(1, count)] if random.random() < 0.5 else nodes
        chosen = random.sample([*crowd, *down], random.randint(1, min(3, len(crowd))))
        assignment[name] = chosen
        loads[name] = PartitionLoad(random.choice((0, 10, 1000, 10**6)), random.random() * 100)
    leaving = random.sample(nodes, 1) if count > 1 and random.random() < 0.3 else []
    goals = BalanceGoals(rate=random.random() < 0.5, leaders=random.random() < 0.8)
    plan = plan_balance(assignment, where, loads, goals, leaving)
    done = after(assignment, plan)
    for name, replicas in done.items():
        assert len(replicas) == len(assignment[name])
        assert len(set(replicas)) == len(replicas)
        kept_down = [each for each in assignment[name] if each in down]
        assert [each for each in replicas if each in down] == kept_down
        if name not in plan.stuck:
            assert not set(replicas) & set(leaving)
        if not leaving:
            assert racks_used(replicas, where) >= racks_used(assignment[name], where)
    assert all(done[name] != assignment[name] for name in plan.moves)
    again = plan_balance(done, where, loads, goals, leaving)
    assert again.moves == {}
    assert again.stuck == plan.stuck
    if not leaving and goals.bytes:
        before, now = (
            carried(assignment, loads, [*nodes, *down]),
            carried(done, loads, [*nodes, *down]),
        )
        assert sum(now.values()) == sum(before.values())


def test_a_new_node_gets_its_share_of_bytes() -> None:
    where = places([None] * 3)
    loads = {TopicPartition("t", n): PartitionLoad(10 ** (n % 3)) for n in range(30)}
    assignment = {name: [1 + name.partition % 2] for name in loads}
    plan = plan_balance(assignment, where, loads)
    now = carried(after(assignment, plan), loads, [1, 2, 3])
    assert max(now.values()) - min(now.values()) <= 150
    moved = sum(loads[name].bytes for name, to in plan.moves.items() if 3 in to)
    assert moved <= 1.1 * sum(each.bytes for each in loads.values()) / 3
    assert len(plan.moves) < 15


def test_one_large_partition_is_not_moved_around() -> None:
    loads = {TopicPartition("t", 0): PartitionLoad(10**9), TopicPartition("t", 1): PartitionLoad(1)}
    assignment = {TopicPartition("t", 0): [1], TopicPartition("t", 1): [2]}
    assert plan_balance(assignment, places([None, None]), loads).moves == {}


def test_replicas_on_one_rack_are_separated() -> None:
    where = places(["a", "a", "b"])
    name = TopicPartition("t", 0)
    plan = plan_balance({name: [1, 2]}, where, {})
    assert set(plan.moves[name]) in ({1, 3}, {2, 3})


def test_an_emptied_node_goes_by_racks_and_names_what_can_not_leave() -> None:
    where = places(["a", "b", "b"])
    names = [TopicPartition("t", n) for n in range(4)]
    assignment = {name: [1, 2] for name in names[:3]} | {names[3]: [1, 2, 3]}
    plan = plan_balance(assignment, where, {}, leaving=[2])
    assert plan.stuck == [names[3]]
    assert all(set(plan.moves[name]) == {1, 3} for name in names[:3])


def test_leaders_are_evened_out_by_rate() -> None:
    where = places([None, None])
    names = [TopicPartition("t", n) for n in range(4)]
    loads = {name: PartitionLoad(1, 90.0 if name.partition == 0 else 1.0) for name in names}
    assignment = {name: [1, 2] for name in names}
    plan = plan_balance(assignment, where, loads, BalanceGoals(rate=True))
    led = {name for name, to in after(assignment, plan).items() if to[0] == 1}
    assert led in ({names[0]}, set(names[1:]))


def test_thousands_of_partitions_come_within_the_tolerance() -> None:
    where = places([f"r{n % 3}" for n in range(12)])
    random = Random(1)
    assignment = {TopicPartition("t", n): random.sample(range(1, 10), 3) for n in range(4_000)}
    loads = {name: PartitionLoad(random.randrange(10**9)) for name in assignment}
    plan = plan_balance(assignment, where, loads)
    now = carried(after(assignment, plan), loads, list(range(1, 13)))
    mean = sum(now.values()) / len(now)
    assert max(now.values()) - min(now.values()) < 0.1 * mean
