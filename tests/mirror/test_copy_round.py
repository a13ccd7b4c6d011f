"""Copies between two clusters."""

import threading
from contextlib import suppress
from itertools import pairwise

import pytest

import barnabas
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.errors import BarnabasError
from barnabas.mirror.flow import ClusterEnd, Flow, Names
from barnabas.mirror.provenance import HEADER
from tests.mirror.copies import copy, make_topic, records_of

Ends = tuple[ClusterEnd, ClusterEnd]
NOON_MS = 1_700_000_000_000


def send(end: ClusterEnd, topic: str, values: range, **options: str) -> None:
    with barnabas.Producer(end.bootstrap_servers, **options) as producer:  # type: ignore[arg-type]
        for each in values:
            producer.send(
                topic,
                None if each % 7 == 3 else b"value %d" % each,
                None if each % 5 == 2 else b"key %d" % each,
                partition=each % 2,
                headers=[("n", b"%d" % each), ("none", None)] if each % 3 else [],
                timestamp_ms=NOON_MS + each,
            )


@pytest.fixture
def flow(ends: Ends, topic: str) -> Flow:
    """From A to B, with names as they are."""
    a, b = ends
    for each in ends:
        make_topic(each, topic, 2)
    return Flow(a, b, names=Names.IDENTITY)


@pytest.mark.parametrize("compression", ["none", "zstd"])
def test_records_arrive_as_they_are(flow: Flow, topic: str, compression: str) -> None:
    send(flow.source, topic, range(500), compression=compression)
    report = copy(flow, topic, 2)
    assert records_of(flow.target, topic) == records_of(flow.source, topic)
    assert report.records == 500
    assert report.problems == []
    assert [(each.position, each.lag) for each in report.states] == [(250, 0), (250, 0)]


def test_a_later_copy_goes_on(flow: Flow, topic: str) -> None:
    for begin in (0, 100, 200):
        send(flow.source, topic, range(begin, begin + 100))
        copy(flow, topic, 2)
    assert records_of(flow.target, topic) == records_of(flow.source, topic)


def test_positions_that_are_gone_are_not_passed_over_in_silence(flow: Flow, topic: str) -> None:
    """Any tool can delete the group of a mirror that does not run."""
    send(flow.source, topic, range(10))
    assert copy(flow, topic, 2).problems == []
    with barnabas.Admin(flow.target.bootstrap_servers) as admin:
        admin.delete_group(flow.group_id)
    problems = copy(flow, topic, 2).problems
    assert len(problems) == 2
    for index, said in enumerate(problems):
        assert f"partition {topic}-{index} of {flow.target.name} has records" in said
        assert f"group {flow.group_id} was deleted" in said


def test_syncs_say_where_records_are(flow: Flow, topic: str) -> None:
    syncs = []
    for begin in (0, 50):
        send(flow.source, topic, range(begin, begin + 50))
        syncs += copy(flow, topic, 2).syncs
    with barnabas.Consumer(flow.target.bootstrap_servers, topic) as there:
        seen: dict[tuple[int, int], int] = {}
        while len(seen) < 100:
            for message in there.poll():
                seen[message.partition, message.timestamp_ms - NOON_MS] = message.offset
    for each in syncs:
        for index in range(each.records):
            number = (each.upstream + index) * 2 + each.source.partition
            assert seen[each.source.partition, number] == each.downstream + index
    for partition in (0, 1):
        ordered = [each for each in syncs if each.source.partition == partition]
        assert all(one.upstream_end <= other.upstream for one, other in pairwise(ordered))


def test_transactions_are_seen_when_they_are_committed(flow: Flow, topic: str) -> None:
    source = flow.source.bootstrap_servers
    with barnabas.Producer(source, transactional_id=f"t-{topic}") as producer:
        with producer.transaction():
            producer.send(topic, b"seen", partition=0)
        with suppress(RuntimeError), producer.transaction():
            producer.send(topic, b"never seen", partition=0)
            producer.flush()
            raise RuntimeError
        with producer.transaction():
            producer.send(topic, b"too early", partition=0)
            producer.flush()
            copy(flow, topic, 2, until_idle=False)
            assert [each[3] for each in records_of(flow.target, topic)] == [b"seen"]
    report = copy(flow, topic, 2)
    assert [each[3] for each in records_of(flow.target, topic)] == [b"seen", b"too early"]
    assert [each.lag for each in report.states] == [0, 0]


def test_a_flow_back_finds_its_own_records(ends: Ends, topic: str) -> None:
    a, b = ends
    for each in ends:
        make_topic(each, topic, 2)
    there = Flow(a, b, names=Names.IDENTITY, provenance=True)
    back = Flow(b, a, names=Names.IDENTITY, provenance=True)
    send(a, topic, range(20))
    send(b, topic, range(100, 120))
    for _ in range(2):
        copy(there, topic, 2)
        copy(back, topic, 2)
    in_a, in_b = records_of(a, topic), records_of(b, topic)
    assert len(in_a) == len(in_b) == 40
    assert {each[1] for each in in_a} == {each[1] for each in in_b}
    origins = {dict(each[4]).get(HEADER) for each in in_b}
    assert origins == {None, a.name.encode()}


def test_retention_that_was_faster_is_said_loudly(flow: Flow, topic: str) -> None:
    send(flow.source, topic, range(20))
    copy(flow, topic, 2)
    send(flow.source, topic, range(20, 60))
    with barnabas.Admin(flow.source.bootstrap_servers) as admin:
        admin.delete_records({TopicPartition(topic, 0): 25})
    report = copy(flow, topic, 2)
    assert any("offsets 10 to 24 were deleted" in each for each in report.problems), report.problems
    numbers = [each[1] - NOON_MS for each in records_of(flow.target, topic) if each[0] == 0]
    assert numbers == [*range(0, 20, 2), *range(50, 60, 2)]


def test_a_topic_that_was_created_again_is_copied_from_its_start(flow: Flow, topic: str) -> None:
    send(flow.source, topic, range(20))
    copy(flow, topic, 2)
    with barnabas.Admin(flow.source.bootstrap_servers) as admin:
        admin.delete_topic(topic)
    make_topic(flow.source, topic, 2)
    send(flow.source, topic, range(100, 110))
    report = copy(flow, topic, 2)
    assert any("created again" in each and "offset 10" in each for each in report.problems)
    assert len(records_of(flow.target, topic)) == 30


def test_compacted_logs_are_copied_without_their_gaps(ends: Ends, topic: str) -> None:
    """Times of the broker, too, which a producer may not send."""
    a, b = ends
    make_topic(a, topic, message_timestamp_type="LogAppendTime")
    make_topic(b, topic)
    with barnabas.Producer(a.bootstrap_servers) as producer:
        for each in range(30):
            producer.send(topic, b"%d" % each)
    copy(Flow(a, b, names=Names.IDENTITY), topic)
    assert records_of(b, topic) == records_of(a, topic)


def test_a_latest_start_leaves_out_what_was_there(flow: Flow, topic: str) -> None:
    send(flow.source, topic, range(10))
    assert copy(flow, topic, 2, start="latest").records == 0
    send(flow.source, topic, range(10, 14))
    assert copy(flow, topic, 2, start="latest").records == 4


def test_two_runs_of_a_flow_do_not_write_twice(flow: Flow, topic: str) -> None:
    """Whoever comes last goes on, and the other one is told, or has nothing left to do."""
    send(flow.source, topic, range(2000))
    errors: list[BaseException] = []

    def run() -> None:
        try:
            copy(flow, topic, 2)
        except BarnabasError as error:
            errors.append(error)

    threads = [threading.Thread(target=run) for _ in range(3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    copy(flow, topic, 2)
    assert records_of(flow.target, topic) == records_of(flow.source, topic)
    assert all("also runs elsewhere" in str(each) for each in errors), errors
