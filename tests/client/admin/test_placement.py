"""Plans for replicas that move: complete, on other nodes, spread, and no larger than needed."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from barnabas.client.admin.placement import (
    Assignment,
    NodeLocation,
    drop_from,
    lead_elsewhere,
    move_off,
    spread,
)
from barnabas.client.connect.cluster_metadata import TopicPartition


@st.composite
def clusters(draw: st.DrawFn, min_nodes: int = 1) -> tuple[dict[TopicPartition, list[int]], list]:
    count = draw(st.integers(min_nodes, 7))
    racks = draw(st.sampled_from([[None], ["a", "b"], ["a", "b", "c"]]))
    hosts = draw(st.integers(1, count))
    places = [NodeLocation(n, f"h{n % hosts}", racks[n % len(racks)]) for n in range(1, count + 1)]
    factor = draw(st.integers(1, min(3, count)))
    replicas = st.permutations(range(1, count + 1)).map(lambda order: order[:factor])
    rows = draw(st.lists(replicas, max_size=12))
    return {TopicPartition("t", i): row for i, row in enumerate(rows)}, places


def applied(assignment: Assignment, plan: dict) -> dict[TopicPartition, list[int]]:
    return {each: list(plan.get(each, replicas)) for each, replicas in assignment.items()}


def racks_of(replicas: list[int], places: list[NodeLocation]) -> int:
    by_id = {place.node_id: place for place in places}
    return len({by_id[each].rack for each in replicas})


@given(clusters())
def test_moving_off_leaves_nothing_behind_but_what_is_stuck(cluster: tuple) -> None:
    assignment, places = cluster
    plan = move_off(assignment, places, 1)
    after = applied(assignment, plan.moves)
    ids = {place.node_id for place in places}
    for partition, replicas in after.items():
        assert len(set(replicas)) == len(assignment[partition])
        assert set(replicas) <= ids
        assert (1 in replicas) == (partition in plan.stuck)
        if partition in plan.moves:
            assert len(set(replicas) - set(assignment[partition])) == 1
    for partition in plan.stuck:
        assert set(assignment[partition]) == ids


@given(clusters(min_nodes=2))
def test_a_replica_goes_to_a_rack_of_its_own_if_there_is_one(cluster: tuple) -> None:
    assignment, places = cluster
    by_id = {place.node_id: place for place in places}
    for partition, replicas in move_off(assignment, places, 1).moves.items():
        (new,) = set(replicas) - set(assignment[partition])
        others = [each for each in replicas if each != new]
        used = {by_id[each].rack for each in others}
        free = [p for p in places if p.node_id != 1 and p.node_id not in others]
        if any(place.rack not in used for place in free):
            assert by_id[new].rack not in used


def test_load_and_leadership_are_shared_when_a_node_leaves() -> None:
    places = [NodeLocation(n, f"h{n}") for n in (1, 2, 3, 4)]
    assignment = {TopicPartition("t", i): [1] for i in range(9)}
    plan = move_off(assignment, places, 1)
    assert Counter(replicas[0] for replicas in plan.moves.values()) == {2: 3, 3: 3, 4: 3}


def test_the_last_replica_can_not_be_dropped() -> None:
    one, two = TopicPartition("t", 0), TopicPartition("t", 1)
    plan = drop_from({one: [1, 2], two: [1]}, 1, [one, two])
    assert plan.moves == {one: [2]}
    assert plan.stuck == [two]


@given(clusters(), st.sets(st.integers(1, 6)))
def test_leadership_goes_to_who_is_able_and_replicas_stay(cluster: tuple, down: set) -> None:
    assignment, _ = cluster
    able = {p: [n for n in replicas if n not in down] for p, replicas in assignment.items()}
    plan = lead_elsewhere(assignment, able, 1)
    assert plan.moves.keys() | set(plan.stuck) == assignment.keys()
    for partition in plan.stuck:
        assert set(able[partition]) <= {1}
    for partition, replicas in plan.moves.items():
        assert sorted(replicas) == sorted(assignment[partition])
        assert replicas[0] in able[partition]
        assert replicas[0] != 1
        if assignment[partition][0] in set(able[partition]) - {1}:
            assert replicas[0] == assignment[partition][0]


def test_who_takes_a_replica_over_is_not_led_by_a_dead_one() -> None:
    places = [NodeLocation(1, "a"), NodeLocation(2, "b"), NodeLocation(4, "d")]
    plan = move_off({TopicPartition("t", 0): [1, 3, 2]}, places, 1)
    assert plan.moves == {TopicPartition("t", 0): [4, 3, 2]}


@given(clusters())
def test_spreading_keeps_what_must_be_kept_and_ends(cluster: tuple) -> None:
    assignment, places = cluster
    plan = spread(assignment, places)
    after = applied(assignment, plan)
    before_load = Counter(each for replicas in assignment.values() for each in replicas)
    load = Counter(each for replicas in after.values() for each in replicas)
    assert load.total() == before_load.total()
    if load:
        assert max(load.values()) <= max(before_load.values())
    for partition, replicas in after.items():
        assert len(set(replicas)) == len(assignment[partition])
        assert racks_of(replicas, places) >= racks_of(assignment[partition], places)
    assert spread(after, places) == {}


@given(clusters(min_nodes=2))
def test_without_racks_every_node_carries_the_same(cluster: tuple) -> None:
    assignment, places = cluster
    places = [NodeLocation(place.node_id, f"h{place.node_id}") for place in places]
    after = applied(assignment, spread(assignment, places))
    load = Counter(dict.fromkeys((place.node_id for place in places), 0))
    load.update(each for replicas in after.values() for each in replicas)
    assert max(load.values()) - min(load.values()) <= 1


def test_a_new_node_gets_its_share_of_replicas_and_leaders() -> None:
    places = [NodeLocation(n, f"h{n}") for n in (1, 2, 3, 4)]
    ring = {i: [(i + k) % 3 + 1 for k in range(3)] for i in range(12)}
    assignment = {TopicPartition("t", i): replicas for i, replicas in ring.items()}
    plan = spread(assignment, places)
    after = applied(assignment, plan)
    assert Counter(each for replicas in after.values() for each in replicas)[4] == 9
    assert Counter(replicas[0] for replicas in after.values()) == {1: 3, 2: 3, 3: 3, 4: 3}
    moved = sum(len(set(after[each]) - set(assignment[each])) for each in after)
    assert moved == 9
