"""Calls of share coordinators, here and on other nodes.

Writes are coalesced: those of one turn of the event loop that go to the same coordinator are one
request for each group, and a share partition has one write under way at a time.

A call is retried while the coordinator moves, for `write_timeout_ms`. To write the same state twice
changes nothing, so a write whose outcome is unknown is retried too.
"""

from asyncio import AbstractEventLoop, Future, sleep
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from barnabas.backoff import Backoff
from barnabas.broker.control.topic_creation import TopicCreation
from barnabas.broker.coordinator.share_coordinator import ShareCoordinator
from barnabas.broker.coordinator.share_coordinator_shard import ShareCoordinatorShard
from barnabas.broker.net.peers import Peers, PeerUnavailable
from barnabas.coordination.coordinator_partition import partition_of
from barnabas.log import StorageError
from barnabas.metadata.image import SHARE_GROUP_STATE, MetadataImage
from barnabas.share.state import SharePartitionKey, ShareStateDecision, coordinator_key
from barnabas.share.state.records import state_of
from barnabas.share.state_write import StateBatch, StateWrite
from barnabas.wire.errors import ErrorCode
from barnabas.wire.message import Request
from barnabas.wire.messages import delete_share_group_state as delete_messages
from barnabas.wire.messages import initialize_share_group_state as initialize_messages
from barnabas.wire.messages import read_share_group_state as read_messages
from barnabas.wire.messages import read_share_group_state_summary as summary_messages
from barnabas.wire.messages import write_share_group_state as write_messages

LANE = "share"
_CALL_TIMEOUT_MS = 5_000
_RETRY_S = 0.01
_MAX_RETRY_S = 0.2
_NO_NODE = -1

ResultT = TypeVar("ResultT")
Done = Callable[[ErrorCode], None]
Decide = Callable[[ShareCoordinatorShard, object], ShareStateDecision]

COORDINATOR_MOVES = frozenset(
    {
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    }
)


@dataclass(slots=True)
class _Write:
    """A write of one share partition, until it has succeeded or failed."""

    key: SharePartitionKey
    data: write_messages.PartitionData
    done: Done
    deadline_s: float
    pause_s: float = _RETRY_S


def state_batches(read: read_messages.PartitionResult) -> list[StateBatch]:
    """What a share coordinator has stored of records from the start offset on."""
    return [
        StateBatch(
            each.first_offset, each.last_offset, state_of(each.delivery_state), each.delivery_count
        )
        for each in read.state_batches
    ]


def _request(group_id: str, writes: list[_Write]) -> write_messages.WriteShareGroupStateRequest:
    by_topic: defaultdict[bytes, list[write_messages.PartitionData]] = defaultdict(list)
    for write in writes:
        by_topic[write.key.topic_id].append(write.data)
    return write_messages.WriteShareGroupStateRequest(
        group_id, [write_messages.WriteStateData(*each) for each in by_topic.items()]
    )


class StateCalls:
    def __init__(
        self,
        loop: AbstractEventLoop,
        node_id: int,
        image: MetadataImage,
        peers: Peers,
        coordinator: ShareCoordinator,
        topic_creation: TopicCreation,
        write_timeout_ms: int,
    ) -> None:
        self._loop = loop
        self._node_id = node_id
        self._image = image
        self._peers = peers
        self._coordinator = coordinator
        self._topic_creation = topic_creation
        self._timeout_s = write_timeout_ms / 1000
        self._to_write: list[_Write] = []

    def _node_of(self, key: SharePartitionKey) -> int:
        topic = self._image.topics.get(SHARE_GROUP_STATE)
        if topic is None:
            return _NO_NODE
        index = partition_of(coordinator_key(key), len(topic.partitions))
        return topic.partitions[index].leader

    # -- writes ------------------------------------------------------------------------------------

    def write(
        self,
        key: SharePartitionKey,
        write: StateWrite,
        state_epoch: int,
        leader_epoch: int,
        done: Done,
    ) -> None:
        """Store a change; `done` is called with NONE or why it is not stored."""
        data = write_messages.PartitionData(
            key.partition,
            state_epoch,
            leader_epoch,
            write.start_offset,
            write.delivery_complete_count,
            [write_messages.StateBatch(*batch) for batch in write.batches],
        )
        self._enqueue(_Write(key, data, done, self._loop.time() + self._timeout_s))

    def _enqueue(self, write: _Write) -> None:
        if not self._to_write:
            self._loop.call_soon(self._send_writes)
        self._to_write.append(write)

    def _send_writes(self) -> None:
        writes, self._to_write = self._to_write, []
        together: defaultdict[tuple[int, str], list[_Write]] = defaultdict(list)
        for write in writes:
            together[self._node_of(write.key), write.key.group_id].append(write)
        for (node_id, group_id), group in together.items():
            self._send(node_id, group_id, group)

    def _send(self, node_id: int, group_id: str, writes: list[_Write]) -> None:
        if node_id == _NO_NODE:
            self._heard(writes, ErrorCode.COORDINATOR_NOT_AVAILABLE)
            return
        if node_id == self._node_id:
            self._write_here(group_id, writes)
            return
        request = _request(group_id, writes)
        call = self._peers.call(
            node_id, request, request.MAX_VERSION, timeout_ms=_CALL_TIMEOUT_MS, lane=LANE
        )
        call.add_done_callback(lambda done: self._answered(writes, done))

    def _write_here(self, group_id: str, writes: list[_Write]) -> None:
        by_shard: defaultdict[ShareCoordinatorShard, list[_Write]] = defaultdict(list)
        for write in writes:
            shard = self._coordinator.find(coordinator_key(write.key))
            if isinstance(shard, ErrorCode):
                self._heard([write], shard)
            else:
                by_shard[shard].append(write)
        for shard, together in by_shard.items():
            self._decide(shard, _request(group_id, together), together)

    def _decide(
        self,
        shard: ShareCoordinatorShard,
        request: write_messages.WriteShareGroupStateRequest,
        writes: list[_Write],
    ) -> None:
        """One batch in the log, and one flush, for all of them."""
        answer = shard.decide(
            lambda token: shard.states.write(request, token=token, time_ms=shard.time_ms())
        )
        answer.add_done_callback(lambda done: self._answered(writes, done))

    def _answered(self, writes: list[_Write], answer: "Future[Any]") -> None:
        if answer.cancelled() or isinstance(answer.exception(), PeerUnavailable):
            self._heard(writes, ErrorCode.COORDINATOR_NOT_AVAILABLE)
            return
        errors = {
            (topic.topic_id, each.partition): ErrorCode(each.error_code)
            for topic in answer.result().results
            for each in topic.partitions
        }
        for write in writes:
            key = (write.key.topic_id, write.key.partition)
            self._heard([write], errors.get(key, ErrorCode.UNKNOWN_SERVER_ERROR))

    def _heard(self, writes: list[_Write], error: ErrorCode) -> None:
        for write in writes:
            if error in COORDINATOR_MOVES and self._loop.time() < write.deadline_s:
                self._loop.call_later(write.pause_s, self._enqueue, write)
                write.pause_s = min(2 * write.pause_s, _MAX_RETRY_S)
            else:
                write.done(error)

    # -- other calls -------------------------------------------------------------------------------

    async def read(
        self, key: SharePartitionKey, leader_epoch: int
    ) -> read_messages.PartitionResult:
        request = read_messages.ReadShareGroupStateRequest(
            key.group_id,
            [
                read_messages.ReadStateData(
                    key.topic_id, [read_messages.PartitionData(key.partition, leader_epoch)]
                )
            ],
        )
        return await self._call(
            key,
            request,
            lambda shard, token: shard.states.read(request, token=token, time_ms=shard.time_ms()),
            lambda error: read_messages.PartitionResult(key.partition, error),
        )

    async def initialize(
        self, key: SharePartitionKey, state_epoch: int, start_offset: int
    ) -> initialize_messages.PartitionResult:
        """Begin the state of a share partition. Creates the topic if need be."""
        try:
            await self._topic_creation.ensure(SHARE_GROUP_STATE)
        except StorageError:
            return initialize_messages.PartitionResult(
                key.partition, ErrorCode.COORDINATOR_NOT_AVAILABLE
            )
        request = initialize_messages.InitializeShareGroupStateRequest(
            key.group_id,
            [
                initialize_messages.InitializeStateData(
                    key.topic_id,
                    [initialize_messages.PartitionData(key.partition, state_epoch, start_offset)],
                )
            ],
        )
        return await self._call(
            key,
            request,
            lambda shard, token: shard.states.initialize(
                request, token=token, time_ms=shard.time_ms()
            ),
            lambda error: initialize_messages.PartitionResult(key.partition, error),
        )

    async def delete(self, key: SharePartitionKey) -> delete_messages.PartitionResult:
        request = delete_messages.DeleteShareGroupStateRequest(
            key.group_id,
            [
                delete_messages.DeleteStateData(
                    key.topic_id, [delete_messages.PartitionData(key.partition)]
                )
            ],
        )
        return await self._call(
            key,
            request,
            lambda shard, token: shard.states.delete(request, token=token),
            lambda error: delete_messages.PartitionResult(key.partition, error),
        )

    async def summary(
        self, key: SharePartitionKey, leader_epoch: int = -1
    ) -> summary_messages.PartitionResult:
        request = summary_messages.ReadShareGroupStateSummaryRequest(
            key.group_id,
            [
                summary_messages.ReadStateSummaryData(
                    key.topic_id, [summary_messages.PartitionData(key.partition, leader_epoch)]
                )
            ],
        )

        def summarize(shard: ShareCoordinatorShard, token: object) -> ShareStateDecision:
            decision = ShareStateDecision()
            decision.reply(token, shard.states.summary(request))
            return decision

        return await self._call(
            key,
            request,
            summarize,
            lambda error: summary_messages.PartitionResult(key.partition, error),
        )

    async def _call(
        self,
        key: SharePartitionKey,
        request: Request[Any],
        decide: Decide,
        failed: Callable[[ErrorCode], ResultT],
    ) -> ResultT:
        """The result for the one share partition of a request."""
        deadline_s = self._loop.time() + self._timeout_s
        backoff = Backoff(_RETRY_S, _MAX_RETRY_S)
        pause_s = 0.0
        while True:
            result = await self._try(key, request, decide, failed)
            code = ErrorCode(result.error_code)  # type: ignore[attr-defined]
            if code not in COORDINATOR_MOVES or self._loop.time() >= deadline_s:
                return result
            pause_s = backoff.after(pause_s)
            await sleep(pause_s)

    async def _try(
        self,
        key: SharePartitionKey,
        request: Request[Any],
        decide: Decide,
        failed: Callable[[ErrorCode], ResultT],
    ) -> ResultT:
        node_id = self._node_of(key)
        if node_id == _NO_NODE:
            return failed(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        if node_id == self._node_id:
            shard = self._coordinator.find(coordinator_key(key))
            if isinstance(shard, ErrorCode):
                return failed(shard)
            response = await shard.decide(lambda token: decide(shard, token))
        else:
            try:
                response = await self._peers.call(
                    node_id, request, request.MAX_VERSION, timeout_ms=_CALL_TIMEOUT_MS, lane=LANE
                )
            except PeerUnavailable:
                return failed(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        if len(response.results) == 1 and len(response.results[0].partitions) == 1:
            found: ResultT = response.results[0].partitions[0]
            return found
        return failed(ErrorCode.UNKNOWN_SERVER_ERROR)
