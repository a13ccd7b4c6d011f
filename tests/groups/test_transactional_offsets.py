"""Offsets that are committed in transactions: who may commit, when they show, what takes them."""

import pytest

from barnabas.coordination.decision import ProducerIdAndEpoch
from barnabas.groups import GroupConfig
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from barnabas.wire.messages.offset_fetch import OffsetFetchRequestGroup
from barnabas.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)
from tests.groups.fake_topics import FakeTopics
from tests.groups.shell import GROUP, Shell

RETENTION_MS = GroupConfig().offsets_retention_ms
CHECK_MS = GroupConfig().offsets_retention_check_interval_ms


@pytest.fixture
def shell() -> Shell:
    return Shell()


# -- when they show ------------------------------------------------------------------------------


def test_an_offset_shows_when_its_transaction_is_committed(shell: Shell) -> None:
    shell.commit(3)
    assert shell.error(shell.txn_commit(5)) == ErrorCode.NONE
    assert (shell.committed(), shell.is_stable()) == (3, False)
    shell.end_transaction()
    assert (shell.committed(), shell.is_stable()) == (5, True)
    assert shell.restart().committed() == 5


def test_an_aborted_offset_never_shows(shell: Shell) -> None:
    shell.commit(3)
    shell.txn_commit(5)
    shell.end_transaction(is_commit=False)
    assert (shell.committed(), shell.is_stable()) == (3, True)
    assert shell.restart().committed() == 3


def test_only_the_transaction_that_ends_is_ended(shell: Shell) -> None:
    shell.txn_commit(1, producer_id=1, partition=1)
    shell.txn_commit(2, producer_id=2, partition=2)
    shell.txn_commit(3, producer_id=1, partition=3, group="other")
    shell.end_transaction(1)
    assert [shell.committed(partition=index) for index in (1, 2)] == [1, -1]
    assert shell.committed(partition=3, group="other") == 3
    assert [shell.is_stable(partition=index) for index in (1, 2)] == [True, False]
    shell.end_transaction(2)
    assert shell.committed(partition=2) == 2


def test_a_transaction_goes_on_at_the_next_coordinator(shell: Shell) -> None:
    shell.txn_commit(5)
    shell = shell.restart()
    assert (shell.committed(), shell.is_stable()) == (-1, False)
    assert shell.state() == "Empty"
    shell.txn_commit(6)
    shell = shell.restart()
    shell.end_transaction()
    assert shell.committed() == 6
    assert shell.restart().committed() == 6


def test_the_last_offset_of_a_transaction_counts(shell: Shell) -> None:
    shell.txn_commit(5)
    shell.txn_commit(4)
    shell.end_transaction()
    assert shell.committed() == 4


def test_the_next_transaction_of_the_producer_is_another_one(shell: Shell) -> None:
    shell.txn_commit(5)
    shell.end_transaction()
    shell.txn_commit(6)
    assert (shell.committed(), shell.is_stable()) == (5, False)
    shell.end_transaction(is_commit=False)
    assert shell.committed() == 5


def test_an_end_without_a_beginning(shell: Shell) -> None:
    shell.end_transaction(9)
    assert shell.shard.list_groups() == []


def test_of_an_aborted_group_nothing_is_left(shell: Shell) -> None:
    shell.txn_commit(5)
    assert shell.state() == "Empty"
    shell.end_transaction(is_commit=False)
    assert shell.shard.list_groups() == []
    assert shell.shard.next_deadline_ms() is None
    assert shell.restart().shard.list_groups() == []


def test_records_are_part_of_the_producers_transaction(shell: Shell) -> None:
    topics = [TxnOffsetCommitRequestTopic("t", [TxnOffsetCommitRequestPartition(0, 5)])]
    request = TxnOffsetCommitRequest("id", GROUP, 17, 3, topics=topics)
    decision = shell.shard.txn_offset_commit(request, token=1, now_ms=0)
    assert decision.producer == ProducerIdAndEpoch(17, 3)
    assert len(decision.records) == 1
    assert not decision.replies


# -- the order of the log --------------------------------------------------------------------------


@pytest.mark.parametrize("first", [1, 2])
def test_the_later_of_two_records_counts_whoever_ends_first(shell: Shell, first: int) -> None:
    shell.txn_commit(10, producer_id=1)
    shell.txn_commit(20, producer_id=2)
    shell.end_transaction(first)
    shell.end_transaction(3 - first)
    assert (shell.committed(), shell.is_stable()) == (20, True)


def test_who_commits_again_comes_last(shell: Shell) -> None:
    shell.txn_commit(10, producer_id=1)
    shell.txn_commit(20, producer_id=2)
    shell.txn_commit(11, producer_id=1)
    shell.end_transaction(1)
    assert (shell.committed(), shell.is_stable()) == (11, True)
    shell.end_transaction(2)
    assert shell.committed() == 11


def test_an_aborted_one_leaves_the_one_before(shell: Shell) -> None:
    shell.txn_commit(10, producer_id=1)
    shell.txn_commit(20, producer_id=2)
    shell.end_transaction(2, is_commit=False)
    assert not shell.is_stable()
    shell.end_transaction(1)
    assert shell.committed() == 10


def test_a_plain_commit_counts_more_than_what_came_before_it(shell: Shell) -> None:
    shell.txn_commit(10)
    shell.commit(3)
    assert (shell.committed(), shell.is_stable()) == (3, True)
    shell.end_transaction()
    assert shell.committed() == 3
    assert shell.restart().committed() == 3


# -- what is under way -----------------------------------------------------------------------------


def test_what_is_not_persisted_yet_is_not_stable(shell: Shell) -> None:
    shell.persists_at_once = False
    token = shell.txn_commit(5)
    assert token not in shell.answers
    assert not shell.is_stable()
    shell.end_transaction()
    shell.persist_next()
    assert shell.error(token) == ErrorCode.NONE
    assert (shell.committed(), shell.is_stable()) == (-1, False)
    shell.persist_next()
    assert (shell.committed(), shell.is_stable()) == (5, True)


def test_a_commit_that_could_not_be_persisted_leaves_nothing(shell: Shell) -> None:
    shell.persists_at_once = False
    token = shell.txn_commit(5)
    shell.fail_next()
    assert shell.error(token) == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert shell.is_stable()
    assert shell.shard.list_groups() == []
    shell.end_transaction()
    shell.persist_next()
    assert shell.committed() == -1


def test_a_plain_commit_under_way_is_stable(shell: Shell) -> None:
    shell.persists_at_once = False
    shell.commit(5)
    assert shell.is_stable()


def test_who_resigns_fails_what_is_under_way(shell: Shell) -> None:
    shell.txn_commit(4)
    shell.persists_at_once = False
    token = shell.txn_commit(5)
    shell.end_transaction()
    shell.resign()
    assert shell.error(token) == ErrorCode.NOT_COORDINATOR
    successor = shell.restart()
    successor.end_transaction()
    assert successor.committed() == 4


# -- fetching --------------------------------------------------------------------------------------


def test_everything_stable(shell: Shell) -> None:
    """Also what is not committed yet and may be soon: it may be decided already."""
    shell.commit(1, topic="a", partition=1)
    shell.commit(2, topic="a", partition=0)
    shell.txn_commit(3, topic="a", partition=0)
    shell.txn_commit(4, topic="b", partition=2)

    def fetch(*, require_stable: bool) -> list[tuple[str, int, int, int]]:
        request = OffsetFetchRequestGroup(GROUP, topics=None)
        return [
            (topic.name, each.partition_index, each.committed_offset, each.error_code)
            for topic in shell.shard.offset_fetch(request, require_stable=require_stable).topics
            for each in topic.partitions
        ]

    unstable = ErrorCode.UNSTABLE_OFFSET_COMMIT
    assert fetch(require_stable=True) == [
        ("a", 0, -1, unstable),
        ("a", 1, 1, 0),
        ("b", 2, -1, unstable),
    ]
    assert fetch(require_stable=False) == [("a", 0, 2, 0), ("a", 1, 1, 0)]


# -- who may commit --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("member_id", "generation_id", "instance", "error"),
    [
        ("c-1", 1, None, ErrorCode.NONE),
        ("", -1, None, ErrorCode.NONE),  # versions before 3 tell nothing
        ("c-1", 0, None, ErrorCode.ILLEGAL_GENERATION),
        ("c-1", 2, None, ErrorCode.ILLEGAL_GENERATION),
        ("c-1", -1, None, ErrorCode.ILLEGAL_GENERATION),
        ("unknown", 1, None, ErrorCode.UNKNOWN_MEMBER_ID),
        ("", 1, None, ErrorCode.UNKNOWN_MEMBER_ID),
        ("", -1, "unknown", ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
def test_who_may_commit(
    shell: Shell, member_id: str, generation_id: int, instance: str | None, error: ErrorCode
) -> None:
    shell.form(2)
    token = shell.txn_commit(5, member_id=member_id, generation_id=generation_id, instance=instance)
    assert shell.error(token) == error
    shell.end_transaction()
    assert shell.committed() == (5 if error is ErrorCode.NONE else -1)


def test_a_static_member_that_was_replaced_is_fenced(shell: Shell) -> None:
    (former,) = shell.form(instances=["i"])
    successor = shell.joined(shell.join(instance="i")).member_id
    token = shell.txn_commit(5, member_id=former, generation_id=1, instance="i")
    assert shell.error(token) == ErrorCode.FENCED_INSTANCE_ID
    token = shell.txn_commit(5, member_id=successor, generation_id=1, instance="i")
    assert shell.error(token) == ErrorCode.NONE


def test_a_member_of_an_unknown_group(shell: Shell) -> None:
    token = shell.txn_commit(5, member_id="c-1", generation_id=3)
    assert shell.error(token) == ErrorCode.ILLEGAL_GENERATION
    assert shell.shard.list_groups() == []


@pytest.mark.parametrize("group", ["", "x" * 40_000])
def test_names_no_group_can_have(shell: Shell, group: str) -> None:
    assert shell.error(shell.txn_commit(5, group=group)) == ErrorCode.INVALID_GROUP_ID


def test_commits_during_a_rebalance(shell: Shell) -> None:
    leader, follower = shell.form(2)
    shell.join(leader)
    token = shell.txn_commit(5, member_id=follower, generation_id=1)
    assert shell.error(token) == ErrorCode.NONE
    shell.join(follower)
    token = shell.txn_commit(6, member_id=follower, generation_id=1)
    assert shell.error(token) == ErrorCode.ILLEGAL_GENERATION
    token = shell.txn_commit(7, member_id=follower, generation_id=2)
    assert shell.error(token) == ErrorCode.NONE


def test_it_is_no_sign_of_life(shell: Shell) -> None:
    (member_id,) = shell.form(1)
    for _ in range(3):
        shell.advance(4_000)
        shell.txn_commit(5, member_id=member_id, generation_id=1)
    assert shell.heartbeat(member_id, 1) == ErrorCode.UNKNOWN_MEMBER_ID


def test_partitions_are_refused_one_by_one(shell: Shell) -> None:
    def check(topic: str, partition: int) -> ErrorCode:
        known = (topic, partition) != ("t", 1)
        return ErrorCode.NONE if known else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    partitions = [
        TxnOffsetCommitRequestPartition(0, 9),
        TxnOffsetCommitRequestPartition(1, 9),
        TxnOffsetCommitRequestPartition(2, 9, -1, "é" * 2_049),
        TxnOffsetCommitRequestPartition(3, 9, -1, None),
    ]
    topics = [TxnOffsetCommitRequestTopic("t", partitions)]
    request = TxnOffsetCommitRequest("id", GROUP, 1, 0, topics=topics)

    def codes(response: object) -> list[int]:
        assert isinstance(response, TxnOffsetCommitResponse)
        return [each.error_code for each in response.topics[0].partitions]

    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    too_large = ErrorCode.OFFSET_METADATA_TOO_LARGE
    decision = shell.shard.txn_offset_commit(request, token=1, now_ms=0, check_partition=check)
    assert len(decision.records) == 2
    (held,) = decision.held
    assert codes(held.committed) == [0, unknown, too_large, 0]
    fenced = ErrorCode.INVALID_PRODUCER_EPOCH
    (reply,) = shell.shard.failed(decision, fenced, now_ms=0).replies
    assert codes(reply.response) == [fenced, unknown, too_large, fenced]


# -- what takes them away --------------------------------------------------------------------------


def delete(shell: Shell, topic: str) -> None:
    asked = [OffsetDeleteRequestTopic(topic, [OffsetDeleteRequestPartition(0)])]
    request = OffsetDeleteRequest(GROUP, asked)
    shell.carry_out(shell.shard.offset_delete(request, token=shell.token(), now_ms=shell.now_ms))


@pytest.mark.parametrize("persisted", [True, False])
def test_deleted_offsets_do_not_come_back(shell: Shell, persisted: bool) -> None:
    shell.txn_commit(1, topic="kept")
    shell.persists_at_once = persisted
    shell.txn_commit(1)
    delete(shell, "t")
    while shell.in_flight:
        shell.persist_next()
    assert shell.is_stable()
    shell.persists_at_once = True
    shell.end_transaction()
    assert (shell.committed(), shell.committed("kept")) == (-1, 1)
    assert shell.restart().committed() == -1


def test_deleted_topics_take_them(shell: Shell) -> None:
    shell.txn_commit(1)
    shell.txn_commit(2, topic="kept")
    assert shell.shard.committed_topics() == {"t", "kept"}
    shell.carry_out(shell.shard.topics_deleted({"t"}))
    assert shell.shard.committed_topics() == {"kept"}
    shell.end_transaction()
    assert (shell.committed(), shell.committed("kept")) == (-1, 2)


@pytest.mark.parametrize("ended", [True, False])
@pytest.mark.parametrize("restarted", [True, False])
def test_the_late_deletion_of_a_topic_spares_those_of_the_next_one_of_its_name(
    ended: bool, restarted: bool
) -> None:
    topics = FakeTopics()
    former = topics.create("t", 2)
    shell = Shell(topics=topics)
    shell.txn_commit(4)
    shell.txn_commit(6, partition=1)
    shell.end_transaction()
    topics.delete("t")
    topics.create("t", 2)
    shell.txn_commit(1)
    if ended:
        shell.end_transaction()
    if restarted:
        shell = shell.restart()
    shell.carry_out(shell.shard.topics_deleted({"t"}, {former}))
    if not ended:
        shell.end_transaction()
    assert (shell.committed(), shell.committed(partition=1)) == (1, -1)


def test_the_late_deletion_of_a_topic_spares_an_offset_next_to_one_of_its_transactions() -> None:
    topics = FakeTopics()
    former = topics.create("t", 1)
    shell = Shell(topics=topics)
    shell.txn_commit(5)
    topics.delete("t")
    topics.create("t", 1)
    shell.commit(1)
    shell.carry_out(shell.shard.topics_deleted({"t"}, {former}))
    shell.end_transaction()
    assert shell.committed() == 1
    assert shell.restart().committed() == 1


def test_deleted_groups_take_them(shell: Shell) -> None:
    shell.commit(1)
    shell.txn_commit(2)
    shell.txn_commit(2, topic="u")
    shell.carry_out(shell.shard.delete_groups([GROUP], token=shell.token()))
    assert shell.shard.list_groups() == []
    shell.end_transaction()
    assert shell.shard.list_groups() == []
    shell = shell.restart()
    assert (shell.committed(), shell.committed("u")) == (-1, -1)


def test_a_group_that_is_being_deleted_takes_none(shell: Shell) -> None:
    shell.commit(1)
    shell.persists_at_once = False
    shell.carry_out(shell.shard.delete_groups([GROUP], token=shell.token()))
    assert shell.error(shell.txn_commit(2)) == ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_expiry_spares_what_a_transaction_may_commit_anew(shell: Shell) -> None:
    shell.commit(1)
    shell.commit(1, topic="u")
    shell.advance(RETENTION_MS - 1)
    shell.txn_commit(2)
    shell.advance(2 * CHECK_MS)
    assert (shell.committed(), shell.committed("u")) == (1, -1)
    shell.end_transaction()
    assert shell.committed() == 2
    shell.advance(RETENTION_MS + CHECK_MS)
    assert shell.shard.list_groups() == []


def test_a_group_does_not_expire_while_a_transaction_goes_on(shell: Shell) -> None:
    (member_id,) = shell.form(1)
    shell.txn_commit(2, member_id=member_id, generation_id=1)
    shell.leave(member_id)
    shell.advance(2 * RETENTION_MS)
    assert shell.state() == "Empty"
    shell.end_transaction(is_commit=False)
    shell.advance(CHECK_MS)
    assert shell.state() == "Dead"
