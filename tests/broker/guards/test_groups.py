"""What members and observers of groups are told about topics that they may not describe."""

from collections.abc import Iterator
from typing import Any

import pytest

from barnabas.broker.node import Node
from barnabas.wire.acl_codes import AclOperation, ResourceType
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from barnabas.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from barnabas.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from barnabas.wire.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
)
from barnabas.wire.messages.share_group_describe import ShareGroupDescribeRequest
from barnabas.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from tests.support.access import AUTHORIZER, LocalUser, allow
from tests.support.wait import wait_until

SETTINGS = AUTHORIZER

TOPIC, GROUP = ResourceType.TOPIC, ResourceType.GROUP
READ, DESCRIBE = AclOperation.READ, AclOperation.DESCRIBE
TOPIC_DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
GROUP_DENIED = ErrorCode.GROUP_AUTHORIZATION_FAILED
HIDDEN = ("hidden-ConsumerGroupDescribeRequest", "hidden-ShareGroupDescribeRequest")
KAFKAS_WORDS = "The group has described topic(s) that the client is not authorized to describe."


@pytest.fixture
def root(local_node: Node) -> LocalUser:
    user = LocalUser(local_node, "root")
    user.ask(CreateTopicsRequest([CreatableTopic(name, 1, 1) for name in ("u", "t-secret")]))
    for group in ("named-beat", "named-share_beat", "regex", *HIDDEN):
        user.find_group_coordinator(group)
    return user


@pytest.fixture
def alice(root: LocalUser) -> Iterator[LocalUser]:
    user = LocalUser(root.node, "alice")
    user.rules()
    yield user
    user.rules()


def beat(user: LocalUser, group: str, member: str, epoch: int = 0, **fields: Any) -> Any:
    joining = {"rebalance_timeout_ms": 30_000, "topic_partitions": []} if epoch == 0 else {}
    return user.ask(ConsumerGroupHeartbeatRequest(group, member, epoch, **joining, **fields))


def share_beat(user: LocalUser, group: str, member: str, epoch: int = 0, **fields: Any) -> Any:
    return user.ask(ShareGroupHeartbeatRequest(group, member, epoch, **fields))


def names(user: LocalUser, answer: Any) -> set[str]:
    """The assigned topics."""
    ids = {topic.topic_id: name for name, topic in user.node.image.topics.items()}
    return {ids[each.topic_id] for each in answer.assignment.topic_partitions}


@pytest.mark.parametrize("heartbeat", [beat, share_beat])
def test_a_member_names_only_topics_that_it_may_describe(
    alice: LocalUser, heartbeat: Any, request: pytest.FixtureRequest
) -> None:
    group = f"named-{request.node.callspec.id}"
    answer = heartbeat(alice, group, "m", subscribed_topic_names=["t"])
    assert (answer.error_code, answer.member_id) == (GROUP_DENIED, None)
    alice.rules(allow(READ, GROUP, group), allow(DESCRIBE, TOPIC, "t"))
    # One that is missing is answered as one that is hidden.
    for hidden in ("u", "missing"):
        answer = heartbeat(alice, group, "m", subscribed_topic_names=["t", hidden])
        assert (answer.error_code, answer.assignment) == (TOPIC_DENIED, None)
    joined = heartbeat(alice, group, "m", subscribed_topic_names=["t"])
    assert joined.error_code == 0
    # A member that is in the group may not add a topic either, and stays as it is.
    more = heartbeat(alice, group, "m", joined.member_epoch, subscribed_topic_names=["t", "u"])
    assert more.error_code == TOPIC_DENIED
    assert heartbeat(alice, group, "m", joined.member_epoch).error_code == 0


def test_a_regular_expression_matches_only_topics_that_may_be_described(alice: LocalUser) -> None:
    alice.rules(allow(READ, GROUP, "regex"), allow(DESCRIBE, TOPIC, "t"))
    joined = beat(alice, "regex", "m", subscribed_topic_regex="t.*")
    assert joined.error_code == 0
    found: set[str] = set()
    epoch = joined.member_epoch

    def is_assigned() -> bool:
        nonlocal epoch
        answer = beat(alice, "regex", "m", epoch)
        assert answer.error_code == 0
        epoch = answer.member_epoch
        if answer.assignment is not None:
            found.update(names(alice, answer))
        return bool(found)

    wait_until(is_assigned, "nothing is assigned")
    assert found == {"t"}
    alice.rules(
        allow(READ, GROUP, "regex"), allow(DESCRIBE, GROUP, "regex"), allow(DESCRIBE, TOPIC, "t")
    )
    (group,) = alice.ask(ConsumerGroupDescribeRequest(["regex"])).groups
    (member,) = group.members
    assert (group.error_code, member.subscribed_topic_regex) == (0, "t.*")
    assert member.subscribed_topic_names == []
    assert "t-secret" not in repr(group)


@pytest.mark.parametrize(
    ("heartbeat", "request_type"),
    [(beat, ConsumerGroupDescribeRequest), (share_beat, ShareGroupDescribeRequest)],
)
def test_a_group_with_a_hidden_topic_is_not_described(
    root: LocalUser, alice: LocalUser, heartbeat: Any, request_type: Any
) -> None:
    group = f"hidden-{request_type.__name__}"
    joined = heartbeat(root, group, "m", subscribed_topic_names=["t", "u"])
    epoch = joined.member_epoch

    def has_both() -> bool:
        nonlocal epoch
        answer = heartbeat(root, group, "m", epoch)
        epoch = answer.member_epoch
        (described,) = root.ask(request_type([group])).groups
        (member,) = described.members
        assigned = {topic.topic_name for topic in member.assignment.topic_partitions}
        return assigned == {"t", "u"}

    wait_until(has_both, "the topics are not assigned")

    def described(*, operations: bool = False) -> Any:
        asked = request_type([group, group], include_authorized_operations=operations)
        (found,) = alice.ask(asked).groups
        return found

    assert (described().error_code, described().error_message) == (
        GROUP_DENIED,
        "Group authorization failed.",
    )
    for topics in ([], ["t"]):
        rules = [allow(DESCRIBE, TOPIC, name) for name in topics]
        alice.rules(allow(DESCRIBE, GROUP, group), *rules)
        found = described()
        assert (found.error_code, found.error_message) == (TOPIC_DENIED, KAFKAS_WORDS)
        assert (found.members, found.group_state) == ([], "")
    alice.rules(*(allow(DESCRIBE, TOPIC, name) for name in "tu"), allow(READ, GROUP, group))
    found = described(operations=True)
    assert (found.error_code, len(found.members)) == (0, 1)
    assert found.authorized_operations == 1 << READ | 1 << DESCRIBE


def test_leaders_hide_topics_too(alice: LocalUser) -> None:
    alice.rules(allow(DESCRIBE, TOPIC, "t"))
    asked = [DescribeShareGroupOffsetsRequestTopic(name, [0]) for name in ("t", "u", "missing")]

    def ask() -> Any:
        groups = [DescribeShareGroupOffsetsRequestGroup("led", list(asked))]
        (group,) = alice.ask(DescribeShareGroupOffsetsRequest(groups, of_leader=True)).groups
        return group

    assert (ask().error_code, ask().topics) == (GROUP_DENIED, [])
    alice.rules(allow(DESCRIBE, GROUP, "led"), allow(DESCRIBE, TOPIC, "t"))
    errors = {topic.topic_name: topic.partitions[0].error_code for topic in ask().topics}
    assert errors.pop("t") != TOPIC_DENIED
    assert errors == {"u": TOPIC_DENIED, "missing": TOPIC_DENIED}
