"""A member of a share group that speaks straight to the handlers of a node in this process."""

import asyncio
from asyncio import Future
from collections.abc import Coroutine, Sequence
from typing import Any

from barnabas.broker.handlers import share_acknowledge, share_fetch
from barnabas.broker.net.connection import Connection
from barnabas.broker.net.dispatcher import RequestContext
from barnabas.broker.node import Node
from barnabas.records.batch import parse_header
from barnabas.share.state import SharePartitionKey
from barnabas.wire.framing import RequestHeader
from barnabas.wire.messages import share_acknowledge as acknowledge_messages
from barnabas.wire.messages import share_fetch as fetch_messages
from tests.broker.raw_client import batch

Types = Sequence[int]


def run(node: Node, coroutine: Coroutine[Any, Any, Any]) -> Any:
    return node.loop.run_until_complete(asyncio.wait_for(coroutine, 60))


def topic_id(node: Node, topic: str = "t") -> bytes:
    return node.image.topics[topic].topic_id


def produce(node: Node, *values: bytes, index: int = 0, topic: str = "t") -> int:
    """Store one batch; returns its first offset."""
    partition = node.partitions.find(topic, index)
    records = bytearray(batch(*values))
    info = partition.appender.append_internal(  # type: ignore[union-attr]
        records, parse_header(records), node.clock.now_ms()
    )
    return int(info.base_offset)


def begin(node: Node, group_id: str, *indexes: int, topic: str = "t", start: int = -1) -> None:
    """What a group's coordinator does when a member subscribes to a topic."""
    for index in indexes:
        key = SharePartitionKey(group_id, topic_id(node, topic), index)
        result = run(node, node.share_states.initialize(key, 0, start))
        assert result.error_code == 0


class Member:
    """One consumer with its connection and share session."""

    def __init__(self, node: Node, group_id: str, member_id: str = "m") -> None:
        self.node = node
        self.group_id = group_id
        self.member_id = member_id
        self.connection: Any = Connection(lambda *_: None, node.connections)
        self.epoch = 0

    def _context(self, api_key: int, version: int) -> RequestContext:
        return RequestContext(RequestHeader(api_key, version, 1, "test"), self.connection)

    def start_fetch(
        self,
        *indexes: int,
        acks: Sequence[tuple[int, int, Types]] = (),
        max_records: int = 500,
        max_wait_ms: int = 0,
        mode: int = 0,
        epoch: int | None = None,
        batch_size: int = 500,
        **fields: Any,
    ) -> Any:
        """The response, or a future of it; acknowledgements are for partition 0."""
        epoch = self.epoch if epoch is None else epoch
        batches = [fetch_messages.AcknowledgementBatch(*ack[:2], list(ack[2])) for ack in acks]
        partitions = [fetch_messages.FetchPartition(index) for index in indexes]
        if batches:
            partitions = [fetch_messages.FetchPartition(0, batches)]
        request = fetch_messages.ShareFetchRequest(
            self.group_id,
            self.member_id,
            epoch,
            max_wait_ms,
            fields.pop("min_bytes", 1),
            fields.pop("max_bytes", 1 << 20),
            max_records,
            batch_size,
            mode,
            topics=[fetch_messages.FetchTopic(topic_id(self.node), partitions)],
            **fields,
        )
        outcome = share_fetch.handle(self.node, request, self._context(78, 2))
        self.epoch += 1
        return outcome

    def fetch(self, *indexes: int, **fields: Any) -> Any:
        return self.answer(self.start_fetch(*indexes, **fields))

    def answer(self, outcome: Any) -> Any:
        if isinstance(outcome, Future):
            return run(self.node, _awaited(outcome))
        return outcome

    def acknowledge(
        self, *acks: tuple[int, int, Types], index: int = 0, **fields: Any
    ) -> acknowledge_messages.ShareAcknowledgeResponse:
        batches = [
            acknowledge_messages.AcknowledgementBatch(*ack[:2], list(ack[2])) for ack in acks
        ]
        request = acknowledge_messages.ShareAcknowledgeRequest(
            self.group_id,
            self.member_id,
            fields.pop("epoch", self.epoch),
            topics=[
                acknowledge_messages.AcknowledgeTopic(
                    topic_id(self.node), [acknowledge_messages.AcknowledgePartition(index, batches)]
                )
            ],
            **fields,
        )
        self.epoch += 1
        outcome = share_acknowledge.handle(self.node, request, self._context(79, 2))
        response: acknowledge_messages.ShareAcknowledgeResponse = self.answer(outcome)
        return response

    def leave(self) -> Any:
        return self.answer(self.start_fetch(epoch=-1))

    def disconnect(self) -> None:
        if self.connection.on_lost is not None:
            self.connection.on_lost()


async def _awaited(future: "Future[Any]") -> Any:
    return await future


def acquired(response: Any) -> list[tuple[int, int, int]]:
    """Ranges and delivery counts, of all partitions."""
    assert response.error_code == 0, response
    return [
        (each.first_offset, each.last_offset, each.delivery_count)
        for topic in response.responses
        for data in topic.partitions
        for each in data.acquired_records
    ]


def loaded(member: Member, *indexes: int) -> None:
    """The first fetch opens the session; then the share partitions are loaded."""
    response = member.fetch(*indexes, max_wait_ms=20)
    assert response.error_code == 0, response

    async def wait() -> None:
        for each in member.node.share_partitions.of_group(member.group_id):
            await each.loading

    run(member.node, wait())
