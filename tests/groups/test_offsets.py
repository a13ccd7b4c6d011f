"""Committed offsets: who may commit, what is kept, what is deleted, what expires."""

import pytest

from barnabas.groups import GroupConfig
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from barnabas.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
)
from barnabas.wire.messages.offset_fetch import OffsetFetchRequestGroup, OffsetFetchRequestTopics
from tests.groups.fake_topics import FakeTopics
from tests.groups.shell import DELAY_MS, GROUP, Shell

DAY_MS = 24 * 60 * 60 * 1000
RETENTION_MS = 7 * DAY_MS
LONG_SESSION_MS = 1_800_000
CHECK_MS = GroupConfig().offsets_retention_check_interval_ms


@pytest.fixture
def shell() -> Shell:
    return Shell()


def delete(shell: Shell, *topics: str, partition: int = 0) -> OffsetDeleteResponse:
    token = shell.token()
    asked = [OffsetDeleteRequestPartition(partition)]
    request = OffsetDeleteRequest(GROUP, [OffsetDeleteRequestTopic(t, asked) for t in topics])
    shell.carry_out(shell.shard.offset_delete(request, token=token, now_ms=shell.now_ms))
    answer = shell.answers[token]
    assert isinstance(answer, OffsetDeleteResponse)
    return answer


# -- committing and fetching ---------------------------------------------------------------------


def test_a_simple_consumer_commits_without_being_a_member(shell: Shell) -> None:
    assert shell.committed() == -1
    assert shell.error(shell.commit(42)) == ErrorCode.NONE
    assert shell.committed() == 42
    assert shell.committed(partition=1) == shell.committed("other") == -1
    assert shell.state() == "Empty"


def test_everything_that_was_committed_is_fetched(shell: Shell) -> None:
    shell.commit(1, topic="b", partition=1, metadata="über")
    shell.commit(2, topic="b", partition=0, metadata=None)
    shell.commit(3, topic="a")
    answer = shell.shard.offset_fetch(OffsetFetchRequestGroup(GROUP, topics=None))
    got = {
        (t.name, p.partition_index): (p.committed_offset, p.committed_leader_epoch, p.metadata)
        for t in answer.topics
        for p in t.partitions
    }
    assert got == {("b", 0): (2, 7, ""), ("b", 1): (1, 7, "über"), ("a", 0): (3, 7, "")}
    unknown = shell.shard.offset_fetch(OffsetFetchRequestGroup("unknown", topics=None))
    assert (unknown.group_id, unknown.topics, unknown.error_code) == ("unknown", [], 0)


def test_an_unknown_offset_is_minus_one_without_an_error(shell: Shell) -> None:
    asked = [OffsetFetchRequestTopics("t", b"i" * 16, [3])]
    (topic,) = shell.shard.offset_fetch(OffsetFetchRequestGroup(GROUP, topics=asked)).topics
    assert (topic.name, topic.topic_id) == ("t", b"i" * 16)
    (partition,) = topic.partitions
    assert (partition.partition_index, partition.committed_offset) == (3, -1)
    assert (partition.committed_leader_epoch, partition.metadata) == (-1, "")
    assert partition.error_code == ErrorCode.NONE


def test_members_commit_with_their_generation(shell: Shell) -> None:
    leader, _ = shell.form(2)
    assert shell.error(shell.commit(5, member_id=leader, generation_id=1)) == ErrorCode.NONE
    assert shell.committed() == 5


@pytest.mark.parametrize(
    ("member_id", "generation_id", "error"),
    [
        ("c-1", 0, ErrorCode.ILLEGAL_GENERATION),
        ("c-1", 2, ErrorCode.ILLEGAL_GENERATION),
        ("c-1", -1, ErrorCode.ILLEGAL_GENERATION),
        ("unknown", 1, ErrorCode.UNKNOWN_MEMBER_ID),
        ("", -1, ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
def test_who_may_not_commit(
    shell: Shell, member_id: str, generation_id: int, error: ErrorCode
) -> None:
    shell.form(2)
    token = shell.commit(5, member_id=member_id, generation_id=generation_id)
    assert shell.error(token) == error
    assert shell.committed() == -1


def test_a_member_of_an_unknown_group_has_an_illegal_generation(shell: Shell) -> None:
    token = shell.commit(5, member_id="c-1", generation_id=3)
    assert shell.error(token) == ErrorCode.ILLEGAL_GENERATION
    assert shell.shard.list_groups() == []


def test_a_former_member_of_an_empty_group_is_unknown(shell: Shell) -> None:
    (member_id,) = shell.form(1)
    shell.leave(member_id)
    token = shell.commit(5, member_id=member_id, generation_id=1)
    assert shell.error(token) == ErrorCode.UNKNOWN_MEMBER_ID
    assert shell.error(shell.commit(6)) == ErrorCode.NONE


def test_commits_during_a_rebalance(shell: Shell) -> None:
    leader, follower = shell.form(2)
    shell.join(leader)
    # Before it joins again a member may save its work.
    assert shell.error(shell.commit(5, member_id=follower, generation_id=1)) == ErrorCode.NONE
    shell.join(follower)
    # Afterwards it has to wait for its assignment.
    token = shell.commit(6, member_id=follower, generation_id=2)
    assert shell.error(token) == ErrorCode.REBALANCE_IN_PROGRESS
    assert shell.committed() == 5


def test_long_metadata_is_refused_for_its_partition_only(shell: Shell) -> None:
    def partition(index: int, metadata: str) -> OffsetCommitRequestPartition:
        return OffsetCommitRequestPartition(index, 9, -1, metadata)

    partitions = [partition(0, "x" * 4_096), partition(1, "x" * 4_097), partition(2, "é" * 2_049)]
    topic = OffsetCommitRequestTopic("t", b"i" * 16, partitions)
    token = shell.token()
    request = OffsetCommitRequest(GROUP, topics=[topic])
    shell.carry_out(shell.shard.offset_commit(request, token=token, now_ms=0))
    answer = shell.answers[token]
    assert isinstance(answer, OffsetCommitResponse)
    assert answer.topics[0].topic_id == b"i" * 16
    too_large = ErrorCode.OFFSET_METADATA_TOO_LARGE
    assert [p.error_code for p in answer.topics[0].partitions] == [0, too_large, too_large]
    assert [shell.committed(partition=index) for index in range(3)] == [9, -1, -1]


def test_partitions_the_broker_does_not_know_are_refused(shell: Shell) -> None:
    def check(topic: OffsetCommitRequestTopic, partition: int) -> ErrorCode:
        known = (topic.name, partition) == ("t", 0)
        return ErrorCode.NONE if known else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    partitions = [OffsetCommitRequestPartition(0, 9), OffsetCommitRequestPartition(1, 9)]
    request = OffsetCommitRequest(GROUP, topics=[OffsetCommitRequestTopic("t", b"", partitions)])
    decision = shell.shard.offset_commit(request, token=1, now_ms=0, check_partition=check)
    assert len(decision.records) == 1
    (reply,) = shell.shard.committed(decision, now_ms=0).replies
    assert isinstance(reply.response, OffsetCommitResponse)
    assert [p.error_code for p in reply.response.topics[0].partitions] == [0, 3]


def test_the_group_without_a_name_may_commit(shell: Shell) -> None:
    assert shell.error(shell.commit(3, group="")) == ErrorCode.NONE
    assert shell.committed(group="") == 3


def test_a_group_id_that_fits_no_record_is_refused(shell: Shell) -> None:
    assert shell.error(shell.commit(3, group="x" * 40_000)) == ErrorCode.INVALID_GROUP_ID


# -- deleting ------------------------------------------------------------------------------------


def test_offsets_of_topics_in_use_are_not_deleted(shell: Shell) -> None:
    (member_id,) = shell.form(1)  # subscribed to t
    for topic in ("t", "old"):
        shell.commit(1, member_id=member_id, generation_id=1, topic=topic)
    answer = delete(shell, "t", "old", "never")
    assert [topic.partitions[0].error_code for topic in answer.topics] == [
        ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC,
        ErrorCode.NONE,
        ErrorCode.NONE,
    ]
    assert (shell.committed("t"), shell.committed("old")) == (1, -1)
    assert shell.restart().committed("old") == -1


def test_in_an_empty_group_all_offsets_can_be_deleted(shell: Shell) -> None:
    shell.commit(1)
    assert delete(shell, "t").topics[0].partitions[0].error_code == ErrorCode.NONE
    assert shell.committed() == -1


def test_a_group_outlives_its_offsets(shell: Shell) -> None:
    """Until it expires; a group that never had members has no record but those of its offsets."""
    shell.commit(1)
    shell.commit(1, topic="u")
    delete(shell, "t")
    assert len(shell.log) == 3
    delete(shell, "u")
    for each in (shell, shell.restart()):
        (group,) = each.shard.list_groups()
        assert (group.group_id, group.protocol_type, group.group_state) == (GROUP, "", "Empty")
        assert delete(each, "t").error_code == ErrorCode.NONE
        each.commit(2)
        assert each.committed() == 2
        delete(each, "t")
        each.advance(RETENTION_MS)
        assert each.shard.list_groups() == []
        assert each.restart().shard.list_groups() == []


def test_offsets_whose_deletion_fails_stay(shell: Shell) -> None:
    shell.commit(1)
    shell.persists_at_once = False
    token = shell.token()
    topic = OffsetDeleteRequestTopic("t", [OffsetDeleteRequestPartition(0)])
    request = OffsetDeleteRequest(GROUP, [topic])
    shell.carry_out(shell.shard.offset_delete(request, token=token, now_ms=shell.now_ms))
    shell.fail_next()
    answer = shell.answers[token]
    assert isinstance(answer, OffsetDeleteResponse)
    assert answer.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert shell.committed() == 1
    shell.persists_at_once = True
    shell.advance(RETENTION_MS // 2)
    assert (shell.committed(), shell.restart().committed()) == (1, 1)


def test_offsets_of_members_nobody_understands_are_not_deleted(shell: Shell) -> None:
    token = shell.join(version=3, protocol_type="connect", protocols=[("x", b"")])
    shell.advance(DELAY_MS)
    shell.assign([shell.joined(token).member_id], 1)
    assert delete(shell, "t").error_code == ErrorCode.NON_EMPTY_GROUP


def test_consumers_with_unreadable_metadata_may_be_subscribed_to_anything(shell: Shell) -> None:
    shell.form(1, protocols=[("x", b"\x00")])
    code = delete(shell, "t").topics[0].partitions[0].error_code
    assert code == ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC


def test_offsets_of_a_group_nobody_knows(shell: Shell) -> None:
    assert delete(shell, "t").error_code == ErrorCode.GROUP_ID_NOT_FOUND


def test_offsets_go_with_their_topics(shell: Shell) -> None:
    (member_id,) = shell.form(1)
    for topic in ("t", "u", "v"):
        shell.commit(1, member_id=member_id, generation_id=1, topic=topic)
    shell.commit(1, group="simple", topic="u")
    shell.carry_out(shell.shard.topics_deleted({"t", "u"}))
    assert [shell.committed(topic) for topic in "tuv"] == [-1, -1, 1]
    assert shell.committed("u", group="simple") == -1
    assert shell.heartbeat(member_id, 1) == ErrorCode.NONE
    assert shell.restart().committed("t") == -1


# -- expiry --------------------------------------------------------------------------------------


def test_simple_offsets_expire_after_their_commit(shell: Shell) -> None:
    shell.commit(1, topic="old")
    shell.advance(DAY_MS)
    shell.commit(1, topic="new")
    shell.advance(RETENTION_MS - DAY_MS - 1)
    assert shell.committed("old") == 1
    shell.advance(CHECK_MS)
    assert (shell.committed("old"), shell.committed("new")) == (-1, 1)
    shell.advance(DAY_MS + CHECK_MS)
    assert shell.shard.list_groups() == []
    assert shell.shard.next_deadline_ms() is None
    assert shell.restart().shard.list_groups() == []


def test_a_living_group_keeps_its_offsets(shell: Shell) -> None:
    (member_id,) = shell.form(1, session_ms=LONG_SESSION_MS)
    shell.commit(1, member_id=member_id, generation_id=1)
    shell.commit(2, member_id=member_id, generation_id=1, topic="unsubscribed")
    keep_alive_for(shell, member_id, 2 * RETENTION_MS)
    assert (shell.committed("t"), shell.committed("unsubscribed")) == (1, -1)


def test_an_empty_group_loses_its_offsets_and_itself(shell: Shell) -> None:
    (member_id,) = shell.form(1, session_ms=LONG_SESSION_MS)
    shell.commit(1, member_id=member_id, generation_id=1)
    keep_alive_for(shell, member_id, RETENTION_MS)
    shell.leave(member_id)
    shell.advance(RETENTION_MS - CHECK_MS)
    assert shell.committed() == 1
    shell.advance(2 * CHECK_MS)
    assert shell.committed() == -1
    assert shell.state() == "Dead"


def test_an_empty_group_without_offsets_goes_unless_somebody_is_about_to_join(
    shell: Shell,
) -> None:
    shell.leave(*shell.form(1))
    shell.advance(CHECK_MS - 1_000)
    newcomer = shell.new_id()
    shell.advance(2_000)
    token = shell.join(newcomer)
    shell.advance(2 * DELAY_MS)
    assert shell.joined(token).generation_id == 3
    shell.leave(newcomer)
    shell.advance(CHECK_MS)
    assert shell.shard.list_groups() == []


def test_the_time_a_group_is_empty_counts_across_restarts(shell: Shell) -> None:
    (member_id,) = shell.form(1)
    shell.commit(1, member_id=member_id, generation_id=1)
    shell.leave(member_id)
    for _ in range(8):
        shell.advance(DAY_MS)
        shell = shell.restart()
    shell.advance(CHECK_MS)
    assert shell.committed() == -1


def test_the_late_deletion_of_a_topic_spares_offsets_of_the_next_one_of_its_name() -> None:
    """A coordinator may learn of the deletion after the one before it has stored new offsets."""
    topics = FakeTopics()
    former = topics.create("t", 2)
    shell = Shell(topics=topics)
    shell.commit(5)
    shell.commit(6, partition=1)
    topics.delete("t")
    topics.create("t", 2)
    assert shell.committed() == -1, "an offset of the former topic is none of this one"
    shell.commit(1)
    shell = shell.restart()
    shell.carry_out(shell.shard.topics_deleted({"t"}, {former}))
    assert (shell.committed(), shell.committed(partition=1)) == (1, -1)
    assert (shell.restart().committed(), shell.committed(partition=1)) == (1, -1)


def test_the_deletion_of_a_topic_spares_a_pending_commit_for_the_next_one() -> None:
    topics = FakeTopics()
    former = topics.create("t", 1)
    shell = Shell(topics=topics)
    shell.commit(5)
    topics.delete("t")
    topics.create("t", 1)
    shell.persists_at_once = False
    shell.commit(1)
    shell.carry_out(shell.shard.topics_deleted({"t"}, {former}))
    while shell.in_flight:
        shell.persist_next()
    assert shell.committed() == 1


def test_a_coordinator_whose_clock_is_ahead_expires_nothing_early() -> None:
    ahead_ms = 2 * RETENTION_MS
    lead_ms = 0
    shell = Shell(GroupConfig(clock_lead_ms=lambda: lead_ms))
    (member_id,) = shell.form(1)
    shell.commit(1, member_id=member_id, generation_id=1)
    shell.leave(member_id)
    shell.now_ms += ahead_ms
    lead_ms = ahead_ms
    shell = shell.restart()
    shell.advance(RETENTION_MS - CHECK_MS)
    assert shell.committed() == 1
    shell.advance(2 * CHECK_MS)
    assert shell.committed() == -1


def test_an_old_client_sets_its_own_retention(shell: Shell) -> None:
    shell.commit(1, retention_ms=3 * CHECK_MS)
    shell.commit(1, topic="u")
    shell = shell.restart()
    shell.advance(2 * CHECK_MS)
    assert shell.committed() == 1
    shell.advance(2 * CHECK_MS)
    assert (shell.committed(), shell.committed("u")) == (-1, 1)


def test_expiry_spares_an_offset_that_is_being_committed_anew(shell: Shell) -> None:
    shell.commit(1)
    shell.advance(RETENTION_MS - 1)
    shell.persists_at_once = False
    shell.commit(2)
    shell.advance(CHECK_MS)
    while shell.in_flight:
        shell.persist_next()
    assert shell.committed() == 2
    assert shell.restart().committed() == 2


def keep_alive_for(shell: Shell, member_id: str, ms: int) -> None:
    end_ms = shell.now_ms + ms
    while shell.now_ms < end_ms:
        assert shell.heartbeat(member_id, 1) == ErrorCode.NONE
        shell.advance(min(LONG_SESSION_MS - 1, end_ms - shell.now_ms))
