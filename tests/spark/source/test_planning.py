"""How reading is shared out, and how far a micro-batch goes: nothing lost, nothing twice."""

from hypothesis import given
from hypothesis import strategies as st

from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.consumer.range_reader import RecordRange
from barnabas.spark.source.rate_limit import limited
from barnabas.spark.source.tasks import MIN_TASK_RECORDS, plan_tasks

partitions = st.builds(TopicPartition, st.sampled_from("abc"), st.integers(0, 5))
counts = st.dictionaries(partitions, st.integers(0, 3 * MIN_TASK_RECORDS))
some = st.none() | st.integers(1, 50)


def ranges_of(counts: dict[TopicPartition, int]) -> list[RecordRange]:
    return [RecordRange(each, 100, 100 + count) for each, count in counts.items()]


def size(task: list[RecordRange]) -> int:
    return sum(each.end - each.start for each in task)


@given(counts, some, some, st.none() | st.integers(1, 5_000))
def test_tasks_cover_every_range_once(
    counts: dict[TopicPartition, int],
    parallelism: int | None,
    least: int | None,
    most: int | None,
) -> None:
    tasks = plan_tasks(
        ranges_of(counts), parallelism=parallelism, min_tasks=least, max_task_records=most
    )
    read: dict[TopicPartition, int] = {}
    for task in tasks:
        assert size(task)
        assert most is None or size(task) <= most
        assert len({each.partition for each in task}) == len(task)
        for partition, start, end, _ in task:
            assert start == read.get(partition, 100)
            assert start < end
            read[partition] = end
    assert read == {each: 100 + count for each, count in counts.items() if count}


def test_as_many_tasks_as_run_at_once_all_alike() -> None:
    counts = {TopicPartition("a", number): 10_000 for number in range(7)}
    tasks = plan_tasks(ranges_of(counts), parallelism=2)
    assert [size(task) for task in tasks] == [35_000, 35_000]


def test_little_is_read_by_one_task_unless_more_are_asked_for() -> None:
    ranges = ranges_of({TopicPartition("a", number): 10 for number in range(4)})
    assert len(plan_tasks(ranges, parallelism=8)) == 1
    assert len(plan_tasks(ranges, parallelism=8, min_tasks=5)) == 5
    assert len(plan_tasks(ranges, parallelism=None)) == 1


def test_a_task_for_each_partition_and_several_for_large_ones_if_cores_are_not_known() -> None:
    counts = {TopicPartition("a", number): 10_000 for number in range(4)}
    assert [size(task) for task in plan_tasks(ranges_of(counts), parallelism=None)] == [10_000] * 4
    large = ranges_of({TopicPartition("a", 0): 1_000_000})
    assert [size(task) for task in plan_tasks(large, parallelism=None)] == [250_000] * 4


@given(counts, st.integers(1, 20_000))
def test_a_limit_is_used_up_and_never_passed(
    counts: dict[TopicPartition, int], max_records: int
) -> None:
    starts = dict.fromkeys(counts, 100)
    ends = {each: 100 + count for each, count in counts.items()}
    reached = limited(starts, ends, max_records)
    taken = {each: reached[each] - 100 for each in counts}
    assert sum(taken.values()) == min(max_records, sum(counts.values()))
    assert all(0 <= taken[each] <= counts[each] for each in counts)


def test_a_limit_takes_of_each_in_proportion() -> None:
    large, small = TopicPartition("a", 0), TopicPartition("a", 1)
    assert limited({large: 0, small: 5}, {large: 900, small: 105}, 100) == {large: 90, small: 15}


def test_a_log_that_has_shrunk_does_not_count() -> None:
    one, other = TopicPartition("a", 0), TopicPartition("a", 1)
    assert limited({one: 50, other: 0}, {one: 10, other: 40}, 8) == {one: 10, other: 8}
