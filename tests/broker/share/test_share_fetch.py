"""ShareFetch and ShareAcknowledge against a node in this process."""

from asyncio import sleep
from typing import Any

import pytest

from barnabas.broker.node import Node
from barnabas.log import RecordsLost
from barnabas.log.reader import LogReader
from barnabas.metadata.image import GROUP_RESOURCE
from barnabas.records.batch import parse_header
from barnabas.records.control import ControlType
from barnabas.records.decode import decode_records
from barnabas.records.encode import encode_batch
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.share_fetch import ShareFetchResponse
from barnabas.wire.primitives import Reader, Writer
from tests.broker.share.share_client import Member, acquired, begin, loaded, produce, run

ACCEPT, RELEASE, REJECT, RENEW = [1], [2], [3], [4]

SETTINGS = {
    "group.share.record.lock.duration.ms": "1000",
    "group.share.min.record.lock.duration.ms": "1000",
}


def test_records_are_delivered_once_and_accepted(local_node: Node) -> None:
    begin(local_node, "once", 0)
    member, other = Member(local_node, "once"), Member(local_node, "once", "n")
    loaded(member, 0)
    loaded(other, 0)
    first = produce(local_node, b"a", b"b", b"c")
    assert acquired(member.fetch()) == [(first, first + 2, 1)]
    assert acquired(other.fetch()) == []
    response = member.acknowledge((first, first + 2, ACCEPT))
    assert response.responses[0].partitions[0].error_code == 0
    assert acquired(other.fetch()) == []
    member.leave()
    assert acquired(other.fetch()) == []


def test_a_record_that_is_released_comes_to_another_member(local_node: Node) -> None:
    begin(local_node, "released", 0)
    member, other = Member(local_node, "released"), Member(local_node, "released", "n")
    loaded(member, 0)
    loaded(other, 0)
    first = produce(local_node, b"a", b"b", b"c")
    assert acquired(member.fetch()) == [(first, first + 2, 1)]
    waiting = other.start_fetch(max_wait_ms=20_000)
    assert not waiting.done()
    member.acknowledge((first, first + 2, [1, 2, 3]))
    assert acquired(other.answer(waiting)) == [(first + 1, first + 1, 2)]


def test_a_waiting_fetch_is_woken_by_new_records(local_node: Node) -> None:
    begin(local_node, "woken", 0)
    member = Member(local_node, "woken")
    loaded(member, 0)
    waiting = member.start_fetch(max_wait_ms=20_000)
    first = produce(local_node, b"a")
    assert acquired(member.answer(waiting)) == [(first, first, 1)]


def test_records_of_a_lost_connection_are_available_at_once(local_node: Node) -> None:
    begin(local_node, "lost", 0)
    member, other = Member(local_node, "lost"), Member(local_node, "lost", "n")
    loaded(member, 0)
    loaded(other, 0)
    first = produce(local_node, b"a", b"b")
    assert acquired(member.fetch()) == [(first, first + 1, 1)]
    waiting = other.start_fetch(max_wait_ms=20_000)
    member.disconnect()
    assert acquired(other.answer(waiting)) == [(first, first + 1, 2)]
    assert member.fetch().error_code == ErrorCode.SHARE_SESSION_NOT_FOUND


def test_a_lock_times_out_unless_it_is_renewed(local_node: Node) -> None:
    begin(local_node, "timeout", 0)
    member, other = Member(local_node, "timeout"), Member(local_node, "timeout", "n")
    loaded(member, 0)
    loaded(other, 0)
    first = produce(local_node, b"a", b"b")
    assert acquired(member.fetch()) == [(first, first + 1, 1)]
    waiting = other.start_fetch(max_wait_ms=30_000)
    led = local_node.share_partitions.of_group("timeout")[0]
    before = led.state.next_deadline_ms
    run(local_node, sleep(0.05))
    renewed = member.acknowledge((first, first, RENEW), is_renew_ack=True)
    assert renewed.responses[0].partitions[0].error_code == 0
    assert renewed.acquisition_lock_timeout_ms == 1000
    assert acquired(other.answer(waiting)) == [(first + 1, first + 1, 2)]
    assert led.state.next_deadline_ms > before
    assert acquired(other.fetch(max_wait_ms=20_000)) == [(first, first, 2)]


def test_state_outlives_the_leader(local_node: Node) -> None:
    begin(local_node, "outlives", 0)
    member = Member(local_node, "outlives")
    loaded(member, 0)
    first = produce(local_node, b"a", b"b", b"c", b"d")
    assert acquired(member.fetch()) == [(first, first + 3, 1)]
    member.acknowledge((first, first, ACCEPT), (first + 2, first + 2, RELEASE))
    for each in local_node.share_partitions.of_group("outlives"):
        each.end(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    again = acquired(member.fetch(max_wait_ms=20_000))  # once it is loaded again
    assert again == [
        (first + 1, first + 1, 1),
        (first + 2, first + 2, 2),
        (first + 3, first + 3, 1),
    ]


@pytest.mark.parametrize(
    ("acks", "error"),
    [
        ([(0, 0, [1])], ErrorCode.NONE),  # long done with
        ([(5, 4, [1])], ErrorCode.INVALID_REQUEST),
        ([(-1, 4, [1])], ErrorCode.INVALID_REQUEST),
        ([(0, 1, [])], ErrorCode.INVALID_REQUEST),
        ([(0, 1, [1, 1, 1])], ErrorCode.INVALID_REQUEST),
        ([(0, 0, [9])], ErrorCode.INVALID_REQUEST),
        ([(0, 0, [-1])], ErrorCode.INVALID_REQUEST),
        ([(0, 0, [4])], ErrorCode.INVALID_REQUEST),  # without is_renew_ack
        ([(2**63 - 1, 2**63 - 1, [1])], ErrorCode.INVALID_REQUEST),
        ([(0, 2**63 - 1, [1])], ErrorCode.INVALID_REQUEST),
        ([(0, 1, [1]), (1, 2, [1])], ErrorCode.INVALID_REQUEST),
    ],
)
def test_forged_acknowledgements_are_refused(
    local_node: Node, acks: list[tuple[int, int, list[int]]], error: ErrorCode
) -> None:
    if not local_node.share_partitions.of_group("forged"):
        produce(local_node, *[b"x"] * 10)
        begin(local_node, "forged", 0)
    member = Member(local_node, "forged", "another")
    loaded(member, 0)
    response = member.acknowledge(*acks)
    assert response.responses[0].partitions[0].error_code == error


def test_locks_that_ended_with_the_leader_epoch_are_no_fault_of_the_member(
    local_node: Node,
) -> None:
    """The node leads on, in a newer epoch, and knows nothing of what it handed out before."""
    begin(local_node, "moved", 0)
    member = Member(local_node, "moved")
    loaded(member, 0)
    first = produce(local_node, b"a", b"b")
    assert acquired(member.fetch()) == [(first, first + 1, 1)]
    (led,) = local_node.share_partitions.of_group("moved")
    led.end(ErrorCode.NOT_LEADER_OR_FOLLOWER)

    async def load() -> None:
        again = local_node.share_partitions.find("moved", led.partition)
        assert not isinstance(again, ErrorCode)
        await again.loading

    run(local_node, load())
    refused = member.acknowledge((first, first + 1, ACCEPT))
    assert refused.responses[0].partitions[0].error_code == ErrorCode.INVALID_RECORD_STATE
    assert acquired(member.fetch()) == [(first, first + 1, 1)]


def test_no_member_acknowledges_what_another_holds(local_node: Node) -> None:
    begin(local_node, "owner", 0)
    member, other = Member(local_node, "owner"), Member(local_node, "owner", "n")
    loaded(member, 0)
    loaded(other, 0)
    first = produce(local_node, b"a", b"b")
    assert acquired(member.fetch()) == [(first, first + 1, 1)]
    refused = other.acknowledge((first, first, ACCEPT))
    assert refused.responses[0].partitions[0].error_code == ErrorCode.INVALID_RECORD_STATE
    # All or nothing: the second range was never acquired.
    refused = member.acknowledge((first, first, ACCEPT), (first + 7, first + 7, ACCEPT))
    assert refused.responses[0].partitions[0].error_code == ErrorCode.INVALID_REQUEST
    member.disconnect()
    assert acquired(other.fetch(max_wait_ms=20_000)) == [(first, first + 1, 2)]


def test_sessions_have_epochs(local_node: Node) -> None:
    begin(local_node, "epochs", 0)
    member = Member(local_node, "epochs")
    assert member.fetch(epoch=5).error_code == ErrorCode.SHARE_SESSION_NOT_FOUND
    assert member.fetch(epoch=-1).error_code == ErrorCode.SHARE_SESSION_NOT_FOUND
    assert member.acknowledge(epoch=0).error_code == ErrorCode.INVALID_SHARE_SESSION_EPOCH
    member.epoch = 0
    loaded(member, 0)
    assert member.fetch(epoch=7).error_code == ErrorCode.INVALID_SHARE_SESSION_EPOCH
    assert member.fetch(epoch=1).error_code == 0
    assert member.fetch(epoch=1).error_code == ErrorCode.INVALID_SHARE_SESSION_EPOCH
    refused = member.fetch(epoch=0, acks=[(0, 0, ACCEPT)])
    assert refused.error_code == ErrorCode.INVALID_REQUEST
    assert member.fetch(epoch=-1).error_code == 0
    assert member.fetch(epoch=2).error_code == ErrorCode.SHARE_SESSION_NOT_FOUND


def test_a_group_that_was_never_begun_gets_nothing(local_node: Node) -> None:
    begin(local_node, "begun", 0)  # so that share coordinators exist
    member = Member(local_node, "unknown")
    response = member.fetch(0, max_wait_ms=20_000)
    data = response.responses[0].partitions[0]
    assert data.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert not local_node.share_partitions.of_group("unknown")


def test_a_group_may_begin_at_the_start_of_the_log(local_node: Node) -> None:
    produce(local_node, b"z", index=1)
    local_node.image.configs[GROUP_RESOURCE, "early"] = {"share.auto.offset.reset": "earliest"}
    begin(local_node, "early", 1)
    member = Member(local_node, "early")
    assert acquired(member.fetch(1, max_wait_ms=20_000))[0] == (0, 0, 1)


def test_the_record_limit_is_kept_to(local_node: Node) -> None:
    begin(local_node, "limit", 0)
    member = Member(local_node, "limit")
    loaded(member, 0)
    first = produce(local_node, *[b"x"] * 10)
    got = acquired(member.fetch(max_records=4, mode=1))
    assert got == [(first, first + 3, 1)]
    assert acquired(member.fetch(max_records=4)) == [(first + 4, first + 9, 1)]


def test_transactions_are_read_as_the_group_says(local_node: Node) -> None:
    """Markers come to nobody, records of aborted transactions only to those who read all."""
    local_node.image.configs[GROUP_RESOURCE, "committed"] = {
        "share.isolation.level": "read_committed"
    }
    for group in ("committed", "uncommitted"):
        begin(local_node, group, 0)
    careful, careless = Member(local_node, "committed"), Member(local_node, "uncommitted")
    loaded(careful, 0)
    loaded(careless, 0)
    first = produce(local_node, b"plain")
    in_transaction(local_node, 901, b"aborted", commits=False)  # first + 1, marker first + 2
    in_transaction(local_node, 902, b"committed", commits=True)  # first + 3, marker first + 4
    last = produce(local_node, b"plain")
    assert last == first + 5
    assert offsets(careless.fetch()) == [first, first + 1, first + 3, last]
    assert offsets(careful.fetch()) == [first, first + 3, last]
    for member in (careful, careless):
        held = [(at, at, ACCEPT) for at in offsets_held(local_node, member)]
        assert member.acknowledge(*held).responses[0].partitions[0].error_code == 0
        led = local_node.share_partitions.of_group(member.group_id)[0]
        assert led.state is not None
        assert led.state.start_offset == last + 1


def in_transaction(node: Node, producer_id: int, value: bytes, *, commits: bool) -> None:
    partition = node.partitions.find("t", 0)
    assert not isinstance(partition, ErrorCode)
    now_ms = node.clock.now_ms()
    data = encode_batch(
        [(now_ms, None, value, ())],
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=0,
        transactional=True,
    )
    partition.appender.append_internal(data, parse_header(data), now_ms)
    kind = ControlType.COMMIT if commits else ControlType.ABORT
    partition.appender.append_marker(producer_id, 0, 0, kind, 0, now_ms)


def offsets(response: Any) -> list[int]:
    return [at for first, last, _ in acquired(response) for at in range(first, last + 1)]


def offsets_held(node: Node, member: Member) -> list[int]:
    (led,) = node.share_partitions.of_group(member.group_id)
    assert led.state is not None
    return [
        at
        for batch in led.state._window.batches
        if batch.member_id == member.member_id
        for at in range(batch.first, batch.last + 1)
    ]


def test_a_request_for_very_many_partitions_is_answered_in_slices(local_node: Node) -> None:
    begin(local_node, "many", 0)
    member = Member(local_node, "many")
    turns = 0

    async def fetch() -> Any:
        nonlocal turns
        answer = member.start_fetch(*range(20_000), max_wait_ms=20_000)
        while not answer.done():
            turns += 1
            await sleep(0)
        return answer.result()

    response = run(local_node, fetch())
    assert turns > 150  # others were served in between
    w = Writer()
    response.encode(w, 2)
    (topic,) = ShareFetchResponse.decode(Reader(w.getvalue()), 2).responses
    assert len(topic.partitions) > 19_900
    codes = {data.error_code for data in topic.partitions}
    assert codes == {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert len(local_node.share_partitions.of_group("many")) <= 2
    member.disconnect()


def test_no_records_are_locked_for_a_session_that_ends_between_slices(local_node: Node) -> None:
    begin(local_node, "gone", 0)
    member, other = Member(local_node, "gone"), Member(local_node, "gone", "n")
    loaded(other, 0)
    first = produce(local_node, b"a")

    async def fetch() -> Any:
        answer = member.start_fetch(*range(1_000), max_wait_ms=20_000)
        await sleep(0)
        member.disconnect()
        return await answer

    assert run(local_node, fetch()).error_code == ErrorCode.SHARE_SESSION_NOT_FOUND
    assert acquired(other.fetch()) == [(first, first, 1)]


def test_deleted_records_are_passed_over(local_node: Node) -> None:
    begin(local_node, "deleted", 0)
    member = Member(local_node, "deleted")
    loaded(member, 0)
    first = produce(local_node, b"a")
    produce(local_node, b"b", b"c")
    partition = local_node.partitions.find("t", 0)
    assert not isinstance(partition, ErrorCode)
    partition.delete_records_before(first + 1)
    assert acquired(member.fetch()) == [(first + 1, first + 2, 1)]
    # It was deleted before it was acknowledged, which is no error.
    assert member.acknowledge((first, first, ACCEPT)).responses[0].partitions[0].error_code == 0


def test_few_records_of_a_large_batch_come_without_the_rest(local_node: Node) -> None:
    begin(local_node, "cut", 0)
    member = Member(local_node, "cut")
    loaded(member, 0)
    values = [str(number).encode().zfill(100) for number in range(500)]
    first = produce(local_node, *values)
    taken = []
    for _ in range(50):
        response = member.fetch(max_records=10, mode=1)
        (data,) = response.responses[0].partitions
        assert len(data.records) < 5_000
        taken += [(each.offset, each.value) for each in decode_records(data.records)]
    assert taken == list(enumerate(values, first))


def test_lost_records_are_an_error_that_says_what_to_do(
    local_node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(local_node, "damaged", 0)
    member = Member(local_node, "damaged")
    loaded(member, 0)
    first = produce(local_node, b"a")

    def read(*_: Any, **__: Any) -> memoryview:
        raise RecordsLost(f"it has lost offset {first}")

    with monkeypatch.context() as damaged:
        damaged.setattr(LogReader, "read", read)
        (data,) = member.fetch().responses[0].partitions
    assert data.error_code == ErrorCode.CORRUPT_MESSAGE
    assert "damaged.records.skip=true" in data.error_message
    assert acquired(member.fetch()) == [(first, first, 1)]
