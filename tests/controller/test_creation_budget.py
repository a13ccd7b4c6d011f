"""How many partitions a cluster creates in what time."""

from barnabas.controller.creation_budget import CreationBudget
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from barnabas.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from tests.controller.small_cluster import SmallCluster


def test_a_bucket_fills_with_time() -> None:
    budget = CreationBudget(0)
    assert budget.wait_ms(10, 100, 0) == 0
    budget.spend(99)
    assert budget.wait_ms(10, 100, 0) == 0
    budget.spend(51)
    assert budget.wait_ms(10, 100, 0) == 5001
    assert budget.wait_ms(10, 100, 4000) == 1001
    assert budget.wait_ms(10, 100, 5001) == 0


def create(cluster: SmallCluster, name: str, count: int, now_ms: int) -> tuple[int, int]:
    """The error and for how long to wait."""
    request = CreateTopicsRequest([CreatableTopic(name, count, 1)])
    answer = cluster.agree(cluster.controller.create_topics(request, now_ms))
    return answer.topics[0].error_code, answer.throttle_time_ms


def test_requests_beyond_the_budget_wait() -> None:
    cluster = SmallCluster()
    now_ms = 1000
    assert create(cluster, "a", 10_000, now_ms) == (0, 0)
    assert create(cluster, "b", 10_000, now_ms) == (0, 0)
    error, wait_ms = create(cluster, "c", 1, now_ms)
    assert error == ErrorCode.THROTTLING_QUOTA_EXCEEDED
    assert 0 < wait_ms <= 10
    grown = CreatePartitionsRequest([CreatePartitionsTopic("b", 10_001, None)])
    answer = cluster.agree(cluster.controller.create_partitions(grown, now_ms))
    assert answer.results[0].error_code == ErrorCode.THROTTLING_QUOTA_EXCEEDED
    assert answer.throttle_time_ms > 0
    assert create(cluster, "c", 1, now_ms + wait_ms) == (0, 0)


def test_what_is_only_checked_costs_nothing() -> None:
    cluster = SmallCluster()
    request = CreateTopicsRequest([CreatableTopic("a", 10_000, 1)], validate_only=True)
    for _ in range(5):
        answer = cluster.agree(cluster.controller.create_topics(request, 0))
        assert answer.topics[0].error_code == 0
