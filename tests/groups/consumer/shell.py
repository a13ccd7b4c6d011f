"""Plays the broker around the consumer groups of a shard."""

from collections.abc import Collection, Mapping, Sequence

from barnabas.groups.consumer.group import ConsumerGroup
from barnabas.groups.consumer.state import ConsumerState
from barnabas.groups.records import decode_record
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.consumer_group_describe import DescribedGroup
from barnabas.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from tests.groups.shell import GROUP, Shell

REBALANCE_TIMEOUT_MS = 30_000

Owned = Mapping[str, Sequence[int]]


class ConsumerShell(Shell):
    def beat(
        self,
        member_id: str = "",
        epoch: int = 0,
        *,
        topics: Sequence[str] | None = None,
        regex: str | None = None,
        owned: Owned | None = None,
        instance: str | None = None,
        assignor: str | None = None,
        rebalance_ms: int = -1,
        group: str = GROUP,
        version: int = 1,
    ) -> int:
        """Send a heartbeat; returns the token of the answer."""
        token = self.token()
        request = ConsumerGroupHeartbeatRequest(
            group_id=group,
            member_id=member_id,
            member_epoch=epoch,
            instance_id=instance,
            rebalance_timeout_ms=rebalance_ms,
            subscribed_topic_names=None if topics is None else list(topics),
            subscribed_topic_regex=regex,
            server_assignor=assignor,
            topic_partitions=None if owned is None else self._partitions(owned),
        )
        self.carry_out(
            self.shard.consumer.heartbeat(
                request,
                token=token,
                client_id="c",
                client_host="/127.0.0.1",
                new_member_id="new",
                api_version=version,
                now_ms=self.now_ms,
            )
        )
        return token

    def _partitions(self, owned: Owned) -> list[TopicPartitions]:
        named = ((self.topics.by_name(name), indexes) for name, indexes in owned.items())
        return [TopicPartitions(topic.topic_id, list(indexes)) for topic, indexes in named if topic]

    def join_group(
        self, member_id: str, topics: Sequence[str] | None = ("t",), **options: object
    ) -> ConsumerGroupHeartbeatResponse:
        token = self.beat(
            member_id, topics=topics, owned={}, rebalance_ms=REBALANCE_TIMEOUT_MS, **options
        )  # type: ignore[arg-type]
        return self.beaten(token)

    def beaten(self, token: int) -> ConsumerGroupHeartbeatResponse:
        answer = self.answers[token]
        assert isinstance(answer, ConsumerGroupHeartbeatResponse)
        return answer

    def assigned(self, answer: ConsumerGroupHeartbeatResponse) -> dict[str, list[int]]:
        """The assignment by topic name, without deleted topics."""
        assert answer.error_code == ErrorCode.NONE, answer
        assert answer.assignment is not None
        named = (
            (self.topics.by_id(each.topic_id), each.partitions)
            for each in answer.assignment.topic_partitions
        )
        return {topic.name: indexes for topic, indexes in named if topic}

    def resolve(self, *, denied: Collection[str] = ()) -> bool:
        """Do what the broker does after a heartbeat; returns whether there was anything to do."""
        job = self.shard.consumer.next_regex_job(GROUP, self.now_ms)
        if job is None:
            return False
        for _ in job.run(self.topics.names(), lambda name: name not in denied):
            pass
        self.carry_out(self.shard.consumer.regexes_resolved(job, now_ms=self.now_ms))
        return True

    def described(self, group: str = GROUP) -> DescribedGroup:
        return self.shard.consumer.describe(group)

    def consumer_group(self, group: str = GROUP) -> ConsumerGroup:
        found = self.shard._groups.get(group)
        assert isinstance(found, ConsumerGroup)
        return found

    def is_in_step(self) -> bool:
        """Whether what is decided is what is persisted, with what is in flight."""
        found = self.shard._groups.get(GROUP)
        if not isinstance(found, ConsumerGroup):
            return True
        image = found.image.modern
        expected = image.copy() if isinstance(image, ConsumerState) else ConsumerState()
        for decision in self.in_flight:
            for stored in decision.records:
                record = decode_record(*stored)
                if record is not None and record.is_modern and record.group_id == GROUP:
                    expected.replay(record.key, record.value)
        return bool(found.pending == expected)
