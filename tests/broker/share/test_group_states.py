"""Beginning the states of a share group's partitions, and the topic that they are stored in."""

from types import SimpleNamespace
from typing import Any, cast

from barnabas.broker.node import Node
from barnabas.broker.share.group_states import GroupStates
from barnabas.groups.share.state import NamedPartitions, TopicStates
from barnabas.metadata.image import SHARE_GROUP_STATE
from barnabas.share.state import SharePartitionKey
from barnabas.share.state_write import NO_START_OFFSET
from barnabas.wire.errors import ErrorCode
from tests.broker.share.share_client import begin, run, topic_id

SETTINGS = {"log.retention.bytes": "1000"}

TOPIC = bytes(range(16))


class Calls:
    """Share coordinators, of which some can't be reached."""

    def __init__(self) -> None:
        self.unreachable: set[int] = set()
        self.started: dict[int, int] = {}

    async def initialize(self, key: SharePartitionKey, _epoch: int, start_offset: int) -> Any:
        if key.partition in self.unreachable:
            return SimpleNamespace(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE)
        self.started.setdefault(key.partition, start_offset)
        return SimpleNamespace(error_code=ErrorCode.NONE)


def test_the_topic_of_states_is_kept_whatever_its_size(local_node: Node) -> None:
    begin(local_node, "kept", 0)
    partition = local_node.partitions.find(SHARE_GROUP_STATE, 0)
    assert not isinstance(partition, ErrorCode)
    assert partition.log.config.retention_bytes == -1
    assert partition.log.config.retention_ms == -1


def test_a_topic_that_begins_in_two_attempts_begins_at_one_place(local_node: Node) -> None:
    known: dict[bytes, NamedPartitions] = {}
    share = SimpleNamespace(initialized_states=lambda _: known)
    shard = SimpleNamespace(groups=SimpleNamespace(share=share))
    groups, calls = SimpleNamespace(find=lambda _: shard), Calls()
    states = GroupStates(local_node.loop, cast("Any", groups), cast("Any", calls))

    def attempt(*indexes: int) -> TopicStates:
        wanted = {TOPIC: NamedPartitions("t", frozenset(indexes))}
        began: TopicStates = run(local_node, states._begin_all("g", wanted))
        for each, (name, found) in began.items():
            before = known.get(each, NamedPartitions(name, frozenset()))
            known[each] = NamedPartitions(name, before.indexes | found)
        return began

    calls.unreachable = {2, 3}
    assert not attempt(0, 1, 2, 3)
    calls.unreachable = set()
    assert attempt(0, 1, 2, 3)
    assert calls.started == {0: -1, 1: -1, 2: -1, 3: -1}
    # Those that are added to the topic later begin with their first records.
    calls.unreachable = {5}
    assert attempt(4, 5)[TOPIC].indexes == {4}
    calls.unreachable = set()
    assert attempt(5)
    assert (calls.started[4], calls.started[5]) == (0, 0)


def test_offsets_of_a_group_that_is_deleted_meanwhile_leave_no_state(local_node: Node) -> None:
    key = SharePartitionKey("gone", topic_id(local_node), 0)
    begin(local_node, "gone", 0)

    async def decide(_: Any) -> Any:
        return SimpleNamespace(error_code=ErrorCode.GROUP_ID_NOT_FOUND)

    groups = SimpleNamespace(find=lambda _: SimpleNamespace(groups=None, decide=decide))
    states = GroupStates(local_node.loop, cast("Any", groups), local_node.share_states)
    assert run(local_node, states.reset(key, "t", 7)) is ErrorCode.GROUP_ID_NOT_FOUND
    assert run(local_node, local_node.share_states.summary(key)).start_offset == NO_START_OFFSET
    begin(local_node, "gone", 0, start=3)
    assert run(local_node, local_node.share_states.summary(key)).start_offset == 3
