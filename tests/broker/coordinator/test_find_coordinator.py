"""Who looks after a group, as any node of a cluster tells it."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from barnabas.broker.handlers import find_coordinator
from barnabas.coordination.coordinator_partition import partition_of
from barnabas.log import StorageError
from barnabas.metadata.image import CONSUMER_OFFSETS, MetadataImage
from barnabas.wire.endpoint import Address
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.find_coordinator import Coordinator, FindCoordinatorRequest
from barnabas.wire.messages.metadata_records import PartitionRecord
from tests.broker.fake_partition import offsets_image

BROKERS = {1: Address("one", 1001), 2: Address("two", 1002)}
NAMES = [f"group-{number}" for number in range(20)]


class FakeNode:
    def __init__(self, image: MetadataImage, *, creates: MetadataImage | None = None) -> None:
        self.image = image
        self._creates = creates
        self.topic_creation = self.cluster = self
        self.departures = SimpleNamespace(settled=lambda _: None)
        self.lifecycle = SimpleNamespace(is_cut_off=False)

    async def ensure(self, _name: str) -> None:
        if self._creates is None:
            raise StorageError("no disk")
        self.image = self._creates

    def endpoint_of(self, node_id: int, connection: object) -> Address | None:
        return BROKERS.get(node_id)


def cluster(*leaders: int) -> MetadataImage:
    image = offsets_image(len(leaders))
    topic_id = image.topics[CONSUMER_OFFSETS].topic_id
    for index, leader in enumerate(leaders):
        image.replay(PartitionRecord(index, topic_id, [1, 2], [1, 2], leader=leader))
    return image


def ask(node: FakeNode, request: FindCoordinatorRequest, version: int = 4) -> Any:
    context = SimpleNamespace(version=version, quota=None, connection=SimpleNamespace(age_s=0))
    return asyncio.run(find_coordinator.handle(node, request, context))  # type: ignore[arg-type]


def found(node: FakeNode, *names: str) -> list[Coordinator]:
    answer = ask(node, FindCoordinatorRequest(coordinator_keys=list(names)))
    coordinators: list[Coordinator] = answer.coordinators
    assert [each.key for each in coordinators] == list(names)
    return coordinators


def test_it_is_the_leader_of_the_groups_partition() -> None:
    leaders = [1, 2, 2]
    answers = found(FakeNode(cluster(*leaders)), *NAMES)
    assert {each.node_id for each in answers} == {1, 2}
    for each in answers:
        assert each.node_id == leaders[partition_of(each.key, len(leaders))]
        assert (each.host, each.port) == (BROKERS[each.node_id].host, BROKERS[each.node_id].port)
        assert each.error_code == ErrorCode.NONE


@pytest.mark.parametrize("leader", [-1, 3], ids=["unknown", "an unknown node"])
def test_a_partition_without_a_leader(leader: int) -> None:
    for each in found(FakeNode(cluster(leader, 1)), *NAMES):
        if partition_of(each.key, 2) == 0:
            assert (each.error_code, each.node_id) == (ErrorCode.COORDINATOR_NOT_AVAILABLE, -1)
            assert each.error_message is not None
            assert f"{CONSUMER_OFFSETS}-0" in each.error_message
        else:
            assert (each.error_code, each.node_id) == (ErrorCode.NONE, 1)


def test_the_first_who_asks_has_the_topic_created() -> None:
    node = FakeNode(MetadataImage(), creates=cluster(2))
    assert [each.node_id for each in found(node, "a", "b")] == [2, 2]


def test_a_topic_that_can_not_be_created() -> None:
    (answer,) = found(FakeNode(MetadataImage()), "a")
    assert answer.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert answer.error_message == "no disk"


def test_a_topic_that_is_created_and_not_heard_of_yet() -> None:
    (answer,) = found(FakeNode(MetadataImage(), creates=MetadataImage()), "a")
    assert answer.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_the_old_shape() -> None:
    answer = ask(FakeNode(cluster(2)), FindCoordinatorRequest("a"), version=3)
    assert (answer.node_id, answer.host, answer.port) == (2, "two", 1002)
