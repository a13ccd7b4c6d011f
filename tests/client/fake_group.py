"""A coordinator as a Python object: committed offsets, and a group of the consumer protocol."""

from collections.abc import Mapping

from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from barnabas.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)
from tests.client.fake_cluster import FakeCluster
from tests.client.virtual_time import now

TOPIC_ID = bytes(15) + b"t"
INTERVAL_MS = 5_000


def committed(
    request: OffsetFetchRequest, offsets: Mapping[int, int], error_code: int = 0
) -> OffsetFetchResponse:
    """The answer about partitions of topic t, by their offsets."""
    (group,) = request.groups
    answers = [
        OffsetFetchResponsePartitions(index, offsets.get(index, -1), error_code=error_code)
        for topic in group.topics or []
        for index in topic.partition_indexes
    ]
    topics = [OffsetFetchResponseTopics(name="t", partitions=answers)]
    return OffsetFetchResponse(groups=[OffsetFetchResponseGroup(group.group_id, topics)])


class FakeConsumerGroup:
    """Tells its one member what the test wants it to own; an epoch for each change.

    The member stays in its epoch until it has released what is not wanted.
    """

    def __init__(self, fake: FakeCluster, *wanted: TopicPartition) -> None:
        fake.topic_id = TOPIC_ID
        fake.handlers[ConsumerGroupHeartbeatRequest] = self._heartbeat
        self._fake = fake
        self.epoch = 1
        self.wanted = list(wanted)
        self._told: list[TopicPartition] | None = None
        self.heartbeats: list[tuple[float, ConsumerGroupHeartbeatRequest]] = []
        self.owned: list[list[int]] = []
        """What the member said that it owns, each time that it said so."""

    def want(self, *wanted: TopicPartition) -> None:
        """Assign these from now on."""
        self.wanted = list(wanted)
        self.epoch += 1

    def _heartbeat(
        self, _node_id: int, request: ConsumerGroupHeartbeatRequest
    ) -> ConsumerGroupHeartbeatResponse:
        self.heartbeats.append((now(), request))
        errors = self._fake.errors[ConsumerGroupHeartbeatRequest]
        code = errors.popleft() if errors else ErrorCode.NONE
        if code or request.member_epoch < 0:
            self._told = None
            return ConsumerGroupHeartbeatResponse(
                error_code=code, member_epoch=request.member_epoch
            )
        if request.topic_partitions is not None:
            owned = [n for each in request.topic_partitions for n in each.partitions]
            self.owned.append(sorted(owned))
        wanted = [each.partition for each in self.wanted]
        is_revoking = request.member_epoch > 0 and not set(self.owned[-1]) <= set(wanted)
        assignment = None
        if request.member_epoch == 0 or self._told != self.wanted:
            self._told = self.wanted
            assignment = Assignment([TopicPartitions(TOPIC_ID, wanted)] if wanted else [])
        return ConsumerGroupHeartbeatResponse(
            member_id=request.member_id,
            member_epoch=request.member_epoch if is_revoking else self.epoch,
            heartbeat_interval_ms=INTERVAL_MS,
            assignment=assignment,
        )
