"""A topic that is deleted and created again with the same name, over and over.

Each of these topics has an id of its own, which is how its clients name it: it has only the records
that were written to it, and only the offsets that were committed for it.
"""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar

from barnabas.records.decode import decode_records
from barnabas.records.encode import encode_batch
from barnabas.sim.checks.history import Place, Violation
from barnabas.sim.client import Client, ResponseT, TryAgain
from barnabas.sim.cluster import Cluster
from barnabas.wire.errors import ErrorCode
from barnabas.wire.message import Request
from barnabas.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from barnabas.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from barnabas.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from barnabas.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from barnabas.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from barnabas.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from barnabas.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)

_T = TypeVar("_T")

TOPIC = "again"
_GROUP = "again-readers"
_ALL = -1
_TIMEOUT_MS = 1_000
_EPOCH_MS = 1_700_000_000_000
_BUGS = frozenset(
    {
        ErrorCode.UNKNOWN_SERVER_ERROR,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.OFFSET_OUT_OF_RANGE,
        ErrorCode.CORRUPT_MESSAGE,
    }
)


class _Topic:
    """One of those that have had the name."""

    def __init__(self, topic_id: bytes, number: int) -> None:
        self.id = topic_id
        self.place = Place(f"{TOPIC}#{number}", 0)
        """What it is called in the books."""
        self.sent = 0
        self.committed = 0


class _Stopped(Exception):  # noqa: N818 - what to do, not what went wrong
    """The client has to stop."""


class ReusedNameWorkload:
    def __init__(self, cluster: Cluster, configs: dict[str, str]) -> None:
        self._cluster = cluster
        self._configs = configs
        self._client = cluster.client("reuser")
        self._used: set[bytes] = set()
        self._topic: _Topic | None = None
        """The one that exists, as far as is known."""

    def begin(self) -> None:
        self._client.run(self._run())

    async def _run(self) -> None:
        client = self._client
        try:
            while True:
                topic = self._topic = await self._insist(self._create)
                user = _User(client, topic)
                for _ in range(client.random.randint(2, 8)):
                    await self._insist(user.write)
                    await self._insist(user.commit)
                    await client.pause(20, 100)
                await self._insist(user.read_all)
                await self._insist(user.check_commit)
                self._topic = None
                await self._insist(partial(self._delete, topic))
                await client.pause(*client.random.choice(((0, 0), (0, 300), (300, 1_500))))
        except _Stopped:
            return

    async def _insist(self, action: Callable[[], Awaitable[_T]]) -> _T:
        """Until it has worked, or it is time to stop."""
        client = self._client
        while not client.is_stopping:
            try:
                return await action()
            except TryAgain as error:
                client.simulator.remark("%s: %s", TOPIC, error)
                await client.pause(20, 150)
        raise _Stopped

    async def _create(self) -> _Topic:
        """An answer may be lost: then it exists, and some nodes may still know the former one."""
        client = self._client
        configs = [CreatableTopicConfig(key, value) for key, value in self._configs.items()]
        factor = self._cluster.profile.replication_factor
        request = CreateTopicsRequest([CreatableTopic(TOPIC, 1, factor, configs=configs)], 1_000)
        answer = (await client.call(client.any_node(), request)).topics[0]
        code, topic_id = ErrorCode(answer.error_code), answer.topic_id
        if code is ErrorCode.TOPIC_ALREADY_EXISTS or (not code and not any(topic_id)):
            asked = MetadataRequest([MetadataRequestTopic(name=TOPIC)])
            found = (await client.call(client.any_node(), asked)).topics[0]
            code, topic_id = ErrorCode(found.error_code), found.topic_id
        _check(code, "its creation")
        if topic_id in self._used or not any(topic_id):
            raise TryAgain("a node knows only the former topic")
        self._used.add(topic_id)
        topic = _Topic(topic_id, len(self._used))
        self._cluster.watch.topic_ids[topic.place.topic] = topic_id
        client.simulator.say(f"{topic.place} is there, with the id {topic_id.hex()}")
        return topic

    async def _delete(self, topic: _Topic) -> None:
        client = self._client
        request = DeleteTopicsRequest(
            topics=[DeleteTopicState(None, topic.id)], timeout_ms=_TIMEOUT_MS
        )
        answer = (await client.call(client.any_node(), request)).responses[0]
        if answer.error_code != ErrorCode.UNKNOWN_TOPIC_ID:  # a former request has done it
            _check(ErrorCode(answer.error_code), "its deletion")
        client.simulator.say(f"{topic.place} is deleted")

    async def judge(self, judge: Client) -> None:
        """The topic that exists in the end has all that was written and committed."""
        while not self._client.is_done:
            await judge.pause(50, 100)
        if self._topic is None:
            return
        user = _User(judge, self._topic)
        for action in (user.write, user.commit, user.read_all, user.check_commit):
            while True:
                try:
                    await action()
                    break
                except TryAgain as error:
                    judge.simulator.remark("%s: %s", TOPIC, error)
                    await judge.pause(50, 100)


class _User:
    """Writes and commits, and reads both again."""

    def __init__(self, client: Client, topic: _Topic) -> None:
        self._client = client
        self._topic = topic

    async def write(self) -> None:
        """One record, once or more often."""
        client, topic = self._client, self._topic
        value = f"{topic.place.topic}:{topic.sent}".encode()
        topic.sent += 1
        client.history.sending(topic.place, value)
        now_ms = _EPOCH_MS + client.simulator.now_us // 1000
        data = PartitionProduceData(0, bytes(encode_batch([(now_ms, None, value, ())])))
        request = ProduceRequest(
            None, _ALL, 1_000, [TopicProduceData(topic_id=topic.id, partition_data=[data])]
        )
        response = await self._ask(await self._leader(), request)
        answer = response.responses[0].partition_responses[0]
        _check(ErrorCode(answer.error_code), f"a record of {topic.place}")
        client.history.acknowledge(topic.place, answer.base_offset, value)

    async def read_all(self) -> None:
        """From the beginning to the last record that was acknowledged."""
        client, topic = self._client, self._topic
        position, end = 0, max(client.history.acknowledged[topic.place], default=-1)
        while position <= end:
            partition = FetchPartition(0, -1, position, partition_max_bytes=1 << 20)
            request = FetchRequest(
                max_wait_ms=100,
                min_bytes=1,
                topics=[FetchTopic(topic_id=topic.id, partitions=[partition])],
            )
            response = await self._ask(await self._leader(), request)
            _check(ErrorCode(response.error_code), f"a fetch of {topic.place}")
            answer = response.responses[0].partitions[0]
            _check(ErrorCode(answer.error_code), f"a fetch of {topic.place}@{position}")
            for record in decode_records(answer.records or b""):
                if record.offset != position:
                    raise Violation(f"{topic.place}: {record.offset} is read behind {position - 1}")
                client.history.read(topic.place, record.offset, bytes(record.value or b""))
                position += 1

    async def commit(self) -> None:
        """An offset that is greater than those before."""
        client, topic = self._client, self._topic
        topic.committed += 1
        partition = OffsetCommitRequestPartition(0, topic.committed)
        asked = OffsetCommitRequestTopic(topic_id=topic.id, partitions=[partition])
        host = await client.coordinator(_GROUP)
        response = await self._ask(host, OffsetCommitRequest(_GROUP, topics=[asked]))
        answer = response.topics[0].partitions[0]
        _check(ErrorCode(answer.error_code), f"a commit of {topic.place}")
        client.history.commit(_GROUP, topic.place, topic.committed)

    async def check_commit(self) -> None:
        client, topic = self._client, self._topic
        least = client.history.commits.get((_GROUP, topic.place), -1)
        asked = OffsetFetchRequestTopics(topic_id=topic.id, partition_indexes=[0])
        group = OffsetFetchRequestGroup(_GROUP, topics=[asked])
        host = await client.coordinator(_GROUP)
        response = await self._ask(host, OffsetFetchRequest(groups=[group], require_stable=True))
        answer = response.groups[0]
        _check(ErrorCode(answer.error_code), f"the committed offset of {topic.place}")
        partition = answer.topics[0].partitions[0]
        _check(ErrorCode(partition.error_code), f"the committed offset of {topic.place}")
        client.history.committed(_GROUP, topic.place, partition.committed_offset, least)

    async def _leader(self) -> str:
        client, topic = self._client, self._topic
        request = MetadataRequest([MetadataRequestTopic(topic.id, None)])
        answer = await client.call(client.any_node(), request)
        found = answer.topics[0]
        _check(ErrorCode(found.error_code), f"the leader of {topic.place}")
        leader = found.partitions[0].leader_id
        hosts = {broker.node_id: broker.host for broker in answer.brokers}
        if leader not in hosts:
            raise TryAgain(f"{topic.place} has no leader")
        return hosts[leader]

    async def _ask(self, host: str, request: Request[ResponseT]) -> ResponseT:
        """What is given up has no effect any more: a commit would come behind the next one."""
        lane = f"{TOPIC} of {self._client.name}"
        try:
            return await self._client.call(host, request, lane=lane)
        except TryAgain:
            self._client.forget(host, lane)
            raise


def _check(code: ErrorCode, what: str) -> None:
    if code in _BUGS:
        raise Violation(f"{code.name} for {what}")
    if code is not ErrorCode.NONE:
        raise TryAgain(f"{what}: {code.name}")
