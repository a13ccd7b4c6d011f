"""Large requests are split into small ones, and answered as a whole."""

from typing import Any

from barnabas.broker.routes import routes
from barnabas.broker.runtime.request_parts import PART, parts
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.delete_topics import DeleteTopicsRequest
from barnabas.wire.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
    TopicPartitions,
)
from barnabas.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)

_OF = {route.request_type: route.parts for route in routes()}


def answered(request: Any, answer: Any) -> Any:
    """The joined response, where `answer` answers each part."""
    split = _OF[type(request)]
    assert split is not None
    whole: Any = None
    for part, continued in split.split(request):
        if whole is None:
            whole = answer(part)
        else:
            split.join(whole, answer(part), continued)
    return whole


def elected(request: ElectLeadersRequest) -> ElectLeadersResponse:
    named = request.topic_partitions or []
    assert sum(1 + len(each.partitions) for each in named) <= PART + 1
    return ElectLeadersResponse(
        replica_election_results=[
            ReplicaElectionResult(each.topic, [PartitionResult(index) for index in each.partitions])
            for each in named
        ]
    )


def fetched(request: OffsetFetchRequest) -> OffsetFetchResponse:
    return OffsetFetchResponse(
        groups=[
            OffsetFetchResponseGroup(
                group.group_id,
                [
                    OffsetFetchResponseTopics(
                        topic.name,
                        partitions=[
                            OffsetFetchResponsePartitions(index)
                            for index in topic.partition_indexes
                        ],
                    )
                    for topic in group.topics or []
                ],
            )
            for group in request.groups
        ]
    )


def test_a_small_request_is_one_part() -> None:
    request = ElectLeadersRequest(0, [TopicPartitions("t", [0, 1])])
    assert answered(request, elected) == elected(request)


def test_a_request_without_elements_is_one_part() -> None:
    split = _OF[ElectLeadersRequest]
    assert split is not None
    request = ElectLeadersRequest(0, None)
    assert list(split.split(request)) == [(request, 0)]


def test_topics_and_long_topics_are_answered_in_order_and_once() -> None:
    sizes = [1, 3 * PART, 2, 0, PART - 1, PART, PART + 1, 5, *[1] * PART]
    named = [TopicPartitions(f"t{n}", list(range(size))) for n, size in enumerate(sizes)]
    answer = answered(ElectLeadersRequest(0, named), elected)
    results = answer.replica_election_results
    assert [each.topic for each in results] == [each.topic for each in named]
    assert [[p.partition_id for p in each.partition_result] for each in results] == [
        each.partitions for each in named
    ]


def test_three_levels_are_split() -> None:
    groups = [
        OffsetFetchRequestGroup(
            f"g{group}",
            topics=[
                OffsetFetchRequestTopics(f"t{topic}", partition_indexes=list(range(size)))
                for topic, size in enumerate([1, 2 * PART, 3, *[0] * PART])
            ],
        )
        for group in range(3)
    ]
    answer = answered(OffsetFetchRequest(groups=groups), fetched)
    expected = fetched(OffsetFetchRequest(groups=groups))
    assert answer == expected


def test_a_group_that_is_named_again_is_answered_once() -> None:
    groups = [OffsetFetchRequestGroup("g", topics=None)] * (3 * PART)
    answer = answered(OffsetFetchRequest(groups=groups), fetched)
    assert [group.group_id for group in answer.groups] == ["g"]


def test_topics_by_name_and_by_id_are_found() -> None:
    split = _OF[DeleteTopicsRequest]
    assert split is not None
    request = DeleteTopicsRequest(topic_names=[f"t{n}" for n in range(2 * PART)])
    assert [len(part.topic_names) for part, _ in split.split(request)] == [PART, PART]


def test_the_first_error_of_a_part_is_that_of_the_whole() -> None:
    codes = iter([0, ErrorCode.REQUEST_TIMED_OUT, *[ErrorCode.NOT_CONTROLLER] * 9])
    throttled_ms = iter([0, 3, *[1] * 9])

    def failed(_: ElectLeadersRequest) -> ElectLeadersResponse:
        return ElectLeadersResponse(next(throttled_ms), next(codes))

    named = [TopicPartitions("t", list(range(3 * PART)))]
    answer = answered(ElectLeadersRequest(0, named), failed)
    assert (answer.error_code, answer.throttle_time_ms) == (ErrorCode.REQUEST_TIMED_OUT, 3)


def test_every_path_names_fields_of_requests_and_responses() -> None:
    for request_type, split in _OF.items():
        for path in () if split is None else split.paths:
            assert path[0].items in request_type.__slots__
            assert path[0].answers in request_type.RESPONSE.__slots__
            assert "throttle_time_ms" in request_type.RESPONSE.__slots__


def test_a_path_is_read_from_text() -> None:
    (path,) = parts("groups:id=answers/topics=topics").paths
    assert [(each.items, each.answers, each.once) for each in path] == [
        ("groups", "answers", "id"),
        ("topics", "topics", ""),
    ]
