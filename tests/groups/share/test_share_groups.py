"""Share groups at their coordinator: members, states at share coordinators, assignments."""

import sys
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.groups.assignors.simple import SimpleAssignor
from barnabas.groups.config import GroupConfig, ShareGroupConfig
from barnabas.groups.modern.assignor import GroupSpec, MemberSpec
from barnabas.groups.modern.topics import TopicMetadata
from barnabas.groups.names import MAX_SUBSCRIBED_TOPICS
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.share_group_heartbeat import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)
from tests.groups.fake_topics import FakeTopics
from tests.groups.shell import Shell

G = "sg"
T = bytes(16)


class ShareShell(Shell):
    def beat(
        self, member: str, epoch: int = 0, topics: Sequence[str] | None = None, group: str = G
    ) -> int:
        token = self.token()
        request = ShareGroupHeartbeatRequest(
            group, member, epoch, None, None if topics is None else list(topics)
        )
        self.carry_out(
            self.shard.share.heartbeat(
                request, token=token, client_id="c", client_host="h", now_ms=self.now_ms
            )
        )
        return token

    def beaten(self, token: int) -> ShareGroupHeartbeatResponse:
        answer = self.answers[token]
        assert isinstance(answer, ShareGroupHeartbeatResponse)
        return answer

    def join_group(self, member: str, *topics: str) -> ShareGroupHeartbeatResponse:
        return self.beaten(self.beat(member, 0, topics or ("t",)))

    def begin_states(self) -> None:
        """What a broker does after a heartbeat, with share coordinators that answer."""
        while topics := self.shard.share.missing_states(G):
            for change in (self.shard.share.begin_states, self.shard.share.states_began):
                token = self.token()
                self.carry_out(change(G, topics, token=token))
                assert self.beaten(token).error_code == 0

    def assigned(self, answer: ShareGroupHeartbeatResponse) -> dict[str, list[int]] | None:
        if answer.assignment is None:
            return None
        found: dict[str, list[int]] = {}
        for each in answer.assignment.topic_partitions:
            topic = self.topics.by_id(each.topic_id)
            assert topic is not None
            found[topic.name] = each.partitions
        return found


@pytest.fixture
def shell() -> ShareShell:
    return ShareShell(topics=FakeTopics(t=2))


def test_partitions_are_assigned_once_they_have_a_state(shell: ShareShell) -> None:
    answer = shell.join_group("a")
    assert (answer.error_code, answer.member_epoch, shell.assigned(answer)) == (0, 1, {})
    assert answer.heartbeat_interval_ms < 1_000, "it should come back soon"
    shell.begin_states()
    answer = shell.beaten(shell.beat("a", 1))
    assert (answer.member_epoch, shell.assigned(answer)) == (2, {"t": [0, 1]})
    assert answer.heartbeat_interval_ms == 5_000
    assert shell.assigned(shell.beaten(shell.beat("a", 2))) is None


def test_members_share_partitions_if_there_are_more_of_them(shell: ShareShell) -> None:
    for member in "abc":
        shell.join_group(member)
    shell.begin_states()
    shell.advance(1_000)
    readers: dict[int, int] = {0: 0, 1: 0}
    for member in "abc":
        epoch = shell.beaten(shell.beat(member, 0, ["t"])).member_epoch
        assigned = shell.assigned(shell.beaten(shell.beat(member, epoch, ["t"])))
        assert assigned is not None
        for index in assigned["t"]:
            readers[index] += 1
    assert readers == {0: 2, 1: 2}


def test_a_partition_that_is_added_is_assigned_too(shell: ShareShell) -> None:
    shell.join_group("a")
    shell.begin_states()
    shell.beat("a", 1)
    shell.topics.grow("t", 3)
    shell.advance(1_000)
    shell.beat("a", 2)
    shell.begin_states()
    shell.advance(1_000)
    answer = shell.beaten(shell.beat("a", 0, ["t"]))
    assert shell.assigned(answer) == {"t": [0, 1, 2]}


def test_members_leave_and_expire(shell: ShareShell) -> None:
    shell.join_group("a")
    shell.join_group("b")
    assert shell.beaten(shell.beat("a", -1)).member_epoch == -1
    assert shell.beaten(shell.beat("a", 1)).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert [each.group_state for each in shell.shard.list_groups()] == ["Stable"]
    shell.advance(46_000)
    (listed,) = shell.shard.list_groups(types_filter=["share"])
    assert (listed.group_state, listed.group_type, listed.protocol_type) == (
        "Empty",
        "Share",
        "share",
    )


def test_a_member_whose_connection_broke_is_removed_and_may_join_again(shell: ShareShell) -> None:
    for member in "abc":
        shell.join_group(member)
    shell.begin_states()
    shell.advance(1_000)
    epoch = shell.join_group("b").member_epoch

    def disconnect(group: str, member: str) -> None:
        shell.carry_out(shell.shard.share.disconnected(group, member, shell.now_ms))

    disconnect(G, "a")
    for group, member in ((G, "a"), (G, "nobody"), ("no-group", "a")):
        before = len(shell.log)
        disconnect(group, member)
        assert len(shell.log) == before
    assert shell.beaten(shell.beat("a", epoch)).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    shell.advance(1_000)
    assert shell.assigned(shell.join_group("b")) == {"t": [0, 1]}, "two are left for each"
    assert shell.assigned(shell.join_group("c")) == {"t": [0, 1]}
    assert shell.join_group("a").error_code == ErrorCode.NONE


def test_epochs_are_checked(shell: ShareShell) -> None:
    shell.join_group("a")
    shell.begin_states()
    shell.beat("a", 1)  # the answer with epoch 2 is lost
    assert shell.beaten(shell.beat("a", 1)).member_epoch == 2
    for wrong in (7, 3):
        assert shell.beaten(shell.beat("a", wrong)).error_code == ErrorCode.FENCED_MEMBER_EPOCH


@pytest.mark.parametrize(
    ("member", "epoch", "topics", "group", "error"),
    [
        ("", 0, ["t"], G, ErrorCode.INVALID_REQUEST),
        ("a", 0, None, G, ErrorCode.INVALID_REQUEST),
        ("a", 0, [], G, ErrorCode.INVALID_REQUEST),
        ("a", -2, ["t"], G, ErrorCode.INVALID_REQUEST),
        ("a", 0, ["t"], "", ErrorCode.INVALID_REQUEST),
        ("a" * 9_000, 0, ["t"], G, ErrorCode.INVALID_REQUEST),
        ("a", 0, ["t" * 300], G, ErrorCode.INVALID_REQUEST),
        ("a", 0, ["t"], "g" * 9_000, ErrorCode.INVALID_GROUP_ID),
        ("a", 5, None, G, ErrorCode.GROUP_ID_NOT_FOUND),
    ],
)
def test_senseless_heartbeats_are_refused(
    shell: ShareShell, member: str, epoch: int, topics: Any, group: str, error: ErrorCode
) -> None:
    assert shell.beaten(shell.beat(member, epoch, topics, group)).error_code == error
    assert not shell.log


def test_groups_have_a_maximum_size() -> None:
    config = GroupConfig(share=ShareGroupConfig(max_size=2))
    shell = ShareShell(config, topics=FakeTopics(t=1))
    shell.join_group("a")
    shell.join_group("b")
    assert shell.join_group("c").error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert shell.join_group("b").error_code == 0


def test_a_classic_group_is_no_share_group(shell: ShareShell) -> None:
    shell.join(group=G)
    assert shell.join_group("a").error_code == ErrorCode.GROUP_ID_NOT_FOUND


def test_offsets_are_not_committed(shell: ShareShell) -> None:
    shell.join_group("a")
    answer: Any = shell.answers[shell.commit(5, group=G)]
    codes = {each.error_code for topic in answer.topics for each in topic.partitions}
    assert codes == {ErrorCode.GROUP_ID_NOT_FOUND}


def test_a_successor_goes_on(shell: ShareShell) -> None:
    shell.join_group("a")
    topics = shell.shard.share.missing_states(G)
    token = shell.token()
    shell.carry_out(shell.shard.share.begin_states(G, topics, token=token))
    reborn = shell.restart()
    assert reborn.shard.share.missing_states(G) == topics
    reborn.begin_states()
    answer = reborn.beaten(reborn.beat("a", 1))
    assert reborn.assigned(answer) == {"t": [0, 1]}
    reborn = reborn.restart()
    assert reborn.beaten(reborn.beat("a", 2)).error_code == 0
    described = reborn.shard.share.describe(G)
    assert (described.group_state, described.assignor_name) == ("Stable", "simple")
    (member,) = described.members
    assert (member.member_id, member.subscribed_topic_names) == ("a", ["t"])


def test_what_is_not_persisted_is_taken_back(shell: ShareShell) -> None:
    shell.persists_at_once = False
    token = shell.beat("a", 0, ["t"])
    shell.fail_next()
    assert shell.beaten(token).error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert not shell.shard.share.is_share_group(G)
    shell.persists_at_once = True
    assert shell.join_group("a").member_epoch == 1


def test_an_empty_group_is_deleted_with_all_its_records(shell: ShareShell) -> None:
    shell.join_group("a")
    shell.begin_states()
    shell.beat("a", 1)
    assert shell.shard.share.check_empty(G) == ErrorCode.NON_EMPTY_GROUP
    shell.beat("a", -1)
    assert shell.shard.share.check_empty(G) == ErrorCode.NONE
    token = shell.token()
    shell.carry_out(shell.shard.delete_groups([G], token=token))
    assert shell.shard.share.check_empty(G) == ErrorCode.GROUP_ID_NOT_FOUND
    assert not list(shell.shard.image)


def test_a_deleted_topic_is_forgotten(shell: ShareShell) -> None:
    shell.join_group("a")
    shell.begin_states()
    shell.topics.delete("t")
    shell.carry_out(shell.shard.topics_deleted({"t"}))
    assert not shell.shard.share.known_states(G)
    shell.topics.create("t", 1)
    shell.advance(1_000)
    shell.beat("a", 0, ["t"])
    shell.begin_states()
    shell.advance(1_000)
    assert shell.assigned(shell.beaten(shell.beat("a", 0, ["t"]))) == {"t": [0]}


def test_the_late_deletion_of_a_topic_spares_the_states_of_the_next_one_of_its_name(
    shell: ShareShell,
) -> None:
    """Else its members would have nothing to read until the states had been begun again."""
    shell.join_group("a")
    shell.begin_states()
    (former,) = shell.shard.share.known_states(G)
    shell.topics.delete("t")
    created = shell.topics.create("t", 1)
    shell.advance(1_000)
    shell.beat("a", 0, ["t"])
    shell.begin_states()
    assert shell.shard.share.known_states(G).keys() == {former, created}
    shell.carry_out(shell.shard.topics_deleted({"t"}, {former}))
    assert shell.shard.share.known_states(G).keys() == {created}
    assert not shell.shard.share.missing_states(G)


@given(
    st.integers(1, 12),
    st.dictionaries(st.integers(1, 3), st.integers(1, 9), min_size=1),
    st.data(),
)
def test_the_assignor_leaves_nobody_out(
    members: int, topics: dict[int, int], data: st.DataObject
) -> None:
    counts = {number.to_bytes(16): count for number, count in topics.items()}
    specs: dict[str, MemberSpec] = {}
    for number in range(members):
        had = {
            topic_id: frozenset(data.draw(st.sets(st.integers(0, count))))
            for topic_id, count in counts.items()
        }
        specs[str(number)] = MemberSpec(frozenset(counts), had)
    assigned = SimpleAssignor().assign(GroupSpec(specs, counts))
    assert assigned.keys() == specs.keys()
    for topic_id, count in counts.items():
        readers = dict.fromkeys(range(count), 0)
        sizes = []
        for partitions in assigned.values():
            indexes = partitions.get(topic_id, frozenset())
            sizes.append(len(indexes))
            for index in indexes:
                readers[index] += 1
        assert min(readers.values()) >= min(2, members), "a partition with one member, or none"
        assert max(readers.values()) - min(readers.values()) <= 1
        if members >= count:
            assert min(sizes) >= 1, "a member without a partition"
        assert max(sizes) - min(sizes) <= 1
    again = SimpleAssignor().assign(
        GroupSpec({each: specs[each]._replace(target=assigned[each]) for each in specs}, counts)
    )
    assert again == assigned, "it should stay as it is"


def test_members_keep_what_they_have_when_one_is_killed() -> None:
    def assign(members: dict[str, frozenset[int]]) -> dict[str, frozenset[int]]:
        specs = {each: MemberSpec(frozenset({T}), {T: had}) for each, had in members.items()}
        assigned = SimpleAssignor().assign(GroupSpec(specs, {T: 12}))
        return {each: partitions[T] for each, partitions in assigned.items()}

    before = assign(dict.fromkeys("abcd", frozenset()))
    assert {len(partitions) for partitions in before.values()} == {6}
    del before["b"]
    after = assign(before)
    assert {len(partitions) for partitions in after.values()} == {8}
    moved = sum(len(partitions - after[member]) for member, partitions in before.items())
    assert moved <= 2, "two may move, so that all have eight"


def test_the_assignor_is_fast_with_many_members_and_partitions() -> None:
    """It runs in the event loop of a broker: the comparisons count, not the time."""
    members = {f"{number:03}": MemberSpec(frozenset({T}), {}) for number in range(200)}
    calls = 0

    def count(frame: object, event: str, _arg: object) -> None:
        nonlocal calls
        calls += event in {"call", "c_call"}

    sys.setprofile(count)
    try:
        SimpleAssignor().assign(GroupSpec(members, {T: 5_000}))
    finally:
        sys.setprofile(None)
    assert calls < 200_000


def test_an_assignment_that_was_uneven_is_evened_out() -> None:
    """Two members have had the same, the third is new: the others have what it could get."""
    had = {"a": {0, 1}, "b": {0, 1}, "c": set[int]()}
    specs = {each: MemberSpec(frozenset({T}), {T: frozenset(own)}) for each, own in had.items()}
    assigned = SimpleAssignor().assign(GroupSpec(specs, {T: 3}))
    assert [len(partitions[T]) for partitions in assigned.values()] == [2, 2, 2]


# -- subscriptions that no client has --------------------------------------------------------------


class CountedTopics(FakeTopics):
    """Counts how often a topic is looked up."""

    looked_up = 0

    def by_name(self, name: str) -> TopicMetadata | None:
        self.looked_up += 1
        return super().by_name(name)


def test_a_heartbeat_takes_no_longer_for_names_without_a_topic() -> None:
    topics = CountedTopics(t=2)
    shell = ShareShell(topics=topics)
    for member in "abcd":
        shell.join_group(member, *(f"{member}-{number}" for number in range(1_000)))
    shell.begin_states()
    topics.looked_up = 0
    answer = shell.join_group("e", "t", *(f"e-{number}" for number in range(1_000)))
    shell.begin_states()
    assert shell.assigned(shell.beaten(shell.beat("e", answer.member_epoch, ["t"]))) is not None
    assert topics.looked_up < 100


def test_a_subscription_is_limited(shell: ShareShell) -> None:
    names = [str(number) for number in range(MAX_SUBSCRIBED_TOPICS + 1)]
    assert shell.join_group("m", *names[1:]).error_code == 0
    answer = shell.join_group("m", *names)
    assert answer.error_code == ErrorCode.INVALID_REQUEST
    assert str(MAX_SUBSCRIBED_TOPICS) in (answer.error_message or "")


def test_partitions_of_share_groups_count_as_memory() -> None:
    """A few bytes of a heartbeat begin a state for each partition, which stay with the group."""
    limit = 1 << 20
    config = GroupConfig(group_metadata_max_bytes=limit)
    shell = ShareShell(config, topics=FakeTopics(wide=100, t=1))
    codes = []
    for number in range(30):
        group = f"g{number}"
        codes.append(shell.beaten(shell.beat("m", 0, ["wide"], group)).error_code)
        while topics := shell.shard.share.missing_states(group):
            for change in (shell.shard.share.begin_states, shell.shard.share.states_began):
                token = shell.token()
                shell.carry_out(change(group, topics, token=token))
                assert shell.beaten(token).error_code == 0
        shell.beat("m", -1, group=group)
    served = codes.index(ErrorCode.GROUP_MAX_SIZE_REACHED)
    assert 5 < served < 20
    assert set(codes[served:]) == {ErrorCode.GROUP_MAX_SIZE_REACHED}
    assert shell.beaten(shell.beat("m", 0, ["t"], "small")).error_code == 0
    assert shell.beaten(shell.beat("m", 0, ["wide"], "g0")).error_code == 0, "it has its states"
