"""Where replicas go."""

from collections import Counter
from itertools import pairwise

import pytest

from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from barnabas.wire.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
)
from tests.controller.small_cluster import SmallCluster


def placed(cluster: SmallCluster, partitions: int, factor: int, name: str = "t") -> list[list[int]]:
    cluster.create_topic(CreatableTopic(name, partitions, factor))
    return [partition.replicas for partition in cluster.agreed.topics[name].partitions]


def refusal(cluster: SmallCluster, topic: CreatableTopic) -> int:
    answer = cluster.agree(cluster.controller.create_topics(CreateTopicsRequest([topic])))
    assert cluster.records == []
    return answer.topics[0].error_code


def grow(cluster: SmallCluster, count: int, *assignments: list[int]) -> int:
    rows = [CreatePartitionsAssignment(row) for row in assignments] or None
    request = CreatePartitionsRequest([CreatePartitionsTopic("t", count, rows)])
    return cluster.agree(cluster.controller.create_partitions(request)).results[0].error_code


def spread(counts: Counter[int], brokers: int) -> int:
    values = [counts[broker_id] for broker_id in range(1, brokers + 1)]
    return max(values) - min(values)


@pytest.mark.parametrize(
    ("brokers", "factor"),
    [(brokers, factor) for brokers in (1, 2, 3, 5, 6) for factor in (1, 2, 3) if factor <= brokers],
)
@pytest.mark.parametrize("partitions", [1, 7, 30])
def test_even_over_all(brokers: int, factor: int, partitions: int) -> None:
    cluster = SmallCluster(brokers)
    everything = placed(cluster, partitions, factor) + placed(cluster, partitions, factor, "u")
    assert all(len(set(replicas)) == factor for replicas in everything)
    assert spread(Counter(replicas[0] for replicas in everything), brokers) <= 1
    assert spread(Counter(r for replicas in everything for r in replicas), brokers) <= 2


def test_many_small_topics_are_even_too() -> None:
    cluster = SmallCluster(4)
    everything = [placed(cluster, 1, 2, f"t{number}")[0] for number in range(20)]
    assert Counter(replicas[0] for replicas in everything) == dict.fromkeys([1, 2, 3, 4], 5)


def test_each_topic_is_spread_whatever_others_are() -> None:
    cluster = SmallCluster(3)
    cluster.create(*[[1]] * 9, name="heavy")
    assert sorted(replicas[0] for replicas in placed(cluster, 3, 1)) == [1, 2, 3]


def test_what_one_leads_is_inherited_by_many() -> None:
    cluster = SmallCluster(5)
    heirs = Counter(pair for replicas in placed(cluster, 60, 3) for pair in pairwise(replicas))
    assert len({after for before, after in heirs if before == 1}) >= 3
    cluster = SmallCluster(3)
    heirs = Counter((replicas[0], replicas[1]) for replicas in placed(cluster, 30, 3))
    assert max(heirs.values()) - min(heirs.values()) <= 2


def test_racks_come_first_then_hosts() -> None:
    racks = {1: "a", 2: "a", 3: "a", 4: "b", 5: "b", 6: "b"}
    hosts = {1: "x", 2: "x", 3: "y", 4: "z", 5: "z", 6: "z"}
    cluster = SmallCluster(6, racks=racks, hosts=hosts)
    for replicas in placed(cluster, 30, 2):
        assert {racks[replica] for replica in replicas} == {"a", "b"}
    for replicas in placed(cluster, 30, 3, "u"):
        assert {racks[replica] for replica in replicas} == {"a", "b"}
        in_a = [hosts[replica] for replica in replicas if racks[replica] == "a"]
        assert len(set(in_a)) == len(in_a)


def test_nodes_of_one_machine_are_apart() -> None:
    hosts = {1: "x", 2: "x", 3: "y", 4: "y"}
    cluster = SmallCluster(4, hosts=hosts)
    for replicas in placed(cluster, 20, 2):
        assert {hosts[replica] for replica in replicas} == {"x", "y"}


def test_the_dead_get_nothing_unless_there_are_too_few() -> None:
    cluster = SmallCluster(3)
    cluster.kill(1)
    assert {r for replicas in placed(cluster, 6, 2) for r in replicas} == {2, 3}
    for replicas in placed(cluster, 6, 3, "u"):
        assert replicas[2] == 1
    assert cluster.state(name="u")[1] == cluster.partition(name="u").replicas[:2]
    cluster.beat(2, want_shut_down=True)
    assert placed(cluster, 2, 1, "v") == [[3], [3]]


def test_how_many_are_possible() -> None:
    cluster = SmallCluster(3)
    for factor in (0, 4, -2):
        topic = CreatableTopic("t", 1, factor)
        assert refusal(cluster, topic) == ErrorCode.INVALID_REPLICATION_FACTOR
    cluster.kill(1, 2, 3)
    assert refusal(cluster, CreatableTopic("t", 1, 1)) == ErrorCode.INVALID_REPLICATION_FACTOR
    assert refusal(cluster, CreatableTopic("t", 1, -1)) == ErrorCode.INVALID_REPLICATION_FACTOR


@pytest.mark.parametrize(("brokers", "factor"), [(1, 1), (2, 2), (3, 3), (5, 3)])
def test_how_many_are_usual(brokers: int, factor: int) -> None:
    assert len(placed(SmallCluster(brokers), 1, -1)[0]) == factor
    cluster = SmallCluster(brokers, static={"default.replication.factor": "1"})
    assert len(placed(cluster, 1, -1)[0]) == 1


def test_by_hand() -> None:
    cluster = SmallCluster(3)
    cluster.kill(1)
    cluster.create([1, 2], [3, 1])
    assert [cluster.state(index) for index in (0, 1)] == [(2, [2]), (3, [3])]
    for rows in ([[1, 1]], [[9]], [[2], [2, 3]], [[1]], [[]]):
        assignments = [CreatableReplicaAssignment(i, row) for i, row in enumerate(rows)]
        topic = CreatableTopic("u", -1, -1, assignments)
        assert refusal(cluster, topic) == ErrorCode.INVALID_REPLICATION_ASSIGNMENT


def test_growing() -> None:
    cluster = SmallCluster(3)
    cluster.create([1, 2], [1, 2])
    assert grow(cluster, 6) == 0
    replicas = [partition.replicas for partition in cluster.agreed.topics["t"].partitions]
    assert Counter(row[0] for row in replicas) == {1: 2, 2: 2, 3: 2}
    assert grow(cluster, 7, [3, 1]) == 0
    assert cluster.partition(6).replicas == [3, 1]
    for row in ([3], [3, 3], [3, 9]):
        assert grow(cluster, 8, row) == ErrorCode.INVALID_REPLICATION_ASSIGNMENT


def test_growing_while_moving() -> None:
    cluster = SmallCluster(4)
    cluster.create([1, 2])
    cluster.move([3, 4])
    assert grow(cluster, 2) == 0
    assert len(cluster.partition(1).replicas) == 2


def test_who_is_down_for_a_while_counts_for_the_default() -> None:
    """Else a topic made during a restart would have a replica less for ever."""
    cluster = SmallCluster(3)
    cluster.kill(3)
    cluster.create_topic(CreatableTopic("t", 1, -1))
    partition = cluster.partition()
    assert sorted(partition.replicas) == [1, 2, 3]
    assert sorted(partition.isr) == [1, 2]
