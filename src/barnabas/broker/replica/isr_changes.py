"""Asks the controller to change the in-sync sets of partitions that this node leads.

One request is in flight at a time; changes that come up meanwhile go into the next. If the outcome
of a change is unknown, the leader retries it, and until then allows for both outcomes. A change
that was made takes effect when the metadata log brings it.
"""

import logging
from asyncio import AbstractEventLoop, Future, Task, gather, sleep
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection
from itertools import islice
from typing import Any

from barnabas.broker.replica.partition import Partition
from barnabas.log import StorageError
from barnabas.metadata.partition_image import RECOVERED, RECOVERING
from barnabas.replication import IsrChange
from barnabas.wire.errors import ErrorCode
from barnabas.wire.message import Request, Response
from barnabas.wire.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerState,
    PartitionData,
    TopicData,
)

logger = logging.getLogger(__name__)

CallController = Callable[[Request[Any], int], Awaitable[Response]]
"""Raises OSError (so PeerUnavailable, or a timeout) or StorageError if there is no answer."""

_FIRST_BACKOFF_S = 0.05
_MAX_BACKOFF_S = 1.0
_LOOKED_AT_ONCE = 500
_ASKED_AT_ONCE = 500
"""A returning node joins thousands of in-sync sets; a limit keeps each request short for both
sides."""

_OVERTAKEN = frozenset(
    {
        ErrorCode.NONE,
        ErrorCode.NEW_LEADER_ELECTED,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.INVALID_UPDATE_VERSION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
)
"""The proposal is outdated: the metadata log has, or will bring, a newer state."""
_AGAIN = frozenset(
    {ErrorCode.NOT_CONTROLLER, ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.REQUEST_TIMED_OUT}
)
"""The outcome is unknown."""


class IsrChanges:
    """The proposals of one node."""

    def __init__(
        self,
        loop: AbstractEventLoop,
        *,
        node_id: int,
        broker_epoch: Callable[[], int],
        call_controller: CallController,
        replica_lag_time_max_ms: int,
    ) -> None:
        self._loop = loop
        self._node_id = node_id
        self._broker_epoch = broker_epoch
        self._call_controller = call_controller
        self._check_s = replica_lag_time_max_ms / 2000
        self._wanted: dict[Partition, None] = {}
        self._unanswered: dict[Partition, IsrChange] = {}
        self._woken: Future[None] | None = None
        self._tasks: list[Task[None]] = []
        self.shrunk = self.expanded = self.failed = 0
        """Changes of in-sync sets that the controller has made, and requests without an answer."""

    def enqueue(self, partition: Partition) -> None:
        """Queue a partition whose in-sync set may have to change: `on_follower_ready`."""
        self._wanted[partition] = None
        if self._woken is not None and not self._woken.done():
            self._woken.set_result(None)

    def start(self, led: Collection[Partition]) -> None:
        """Start sending requests, and checking `led` regularly for followers that lag."""
        self._tasks = [
            self._loop.create_task(self._ask()),
            self._loop.create_task(self._check(led)),
        ]

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await gather(*self._tasks, return_exceptions=True)

    async def _check(self, led: Collection[Partition]) -> None:
        while True:
            await sleep(self._check_s)
            for number, partition in enumerate(tuple(led)):
                if partition.leading is not None and not partition.leading.is_alone:
                    partition.maybe_advance_high_watermark()
                    if partition.is_isr_change_due:
                        self.enqueue(partition)
                if number % _LOOKED_AT_ONCE == _LOOKED_AT_ONCE - 1:
                    await sleep(0)

    # -- requests ----------------------------------------------------------------------------------

    async def _ask(self) -> None:
        backoff_s = 0.0
        while True:
            if not self._wanted and not self._unanswered:
                self._woken = self._loop.create_future()
                await self._woken
            changes = self._changes()
            if not changes:
                await sleep(0)
                continue
            if await self._ask_for(changes):
                backoff_s = 0.0
            else:
                backoff_s = min(max(2 * backoff_s, _FIRST_BACKOFF_S), _MAX_BACKOFF_S)
                await sleep(backoff_s)

    def _changes(self) -> dict[Partition, IsrChange]:
        changes = {
            partition: change
            for partition, change in self._unanswered.items()
            if partition.leading is not None and partition.leading.pending == change
        }
        self._unanswered = {}
        for partition in tuple(islice(self._wanted, _ASKED_AT_ONCE)):
            del self._wanted[partition]
            change = partition.propose_isr()
            if change is not None:
                changes[partition] = change
        return changes

    async def _ask_for(self, changes: dict[Partition, IsrChange]) -> bool:
        """False if the outcome is unknown, so that the request is retried after a pause."""
        try:
            response = await self._call_controller(
                self._request(changes), AlterPartitionRequest.MAX_VERSION
            )
        except (OSError, StorageError) as error:
            logger.info("the controller can't be asked to change in-sync sets: %s", error)
            self.failed += 1
            self._unanswered = changes
            return False
        assert isinstance(response, AlterPartitionResponse)
        if response.error_code:
            logger.info("in-sync sets: %s", ErrorCode(response.error_code).name)
            self._unanswered = changes
            return False
        results = {
            (topic.topic_id, result.partition_index): result
            for topic in response.topics
            for result in topic.partitions
        }
        for partition, change in changes.items():
            result = results.get((partition.topic_id, partition.index))
            if result is None or result.error_code in _AGAIN:
                self._unanswered[partition] = change
            elif result.error_code not in _OVERTAKEN or (
                result.error_code == ErrorCode.NONE
                and result.partition_epoch <= change.partition_epoch
            ):
                self._refused(partition, change, ErrorCode(result.error_code))
            elif result.error_code == ErrorCode.NONE:
                grown = len(change.isr) - len(partition.isr)
                self.shrunk += grown < 0
                self.expanded += grown > 0
        return not self._unanswered

    @staticmethod
    def _refused(partition: Partition, change: IsrChange, error: ErrorCode) -> None:
        if partition.leading is not None:
            partition.leading.refused(change)
            logger.info(
                "%s-%d: the controller refused the in-sync set %s: %s",
                partition.topic,
                partition.index,
                [member.node_id for member in change.isr],
                error.name,
            )
            partition.maybe_advance_high_watermark()

    def _request(self, changes: dict[Partition, IsrChange]) -> AlterPartitionRequest:
        topics: defaultdict[bytes, list[PartitionData]] = defaultdict(list)
        for partition, change in changes.items():
            topics[partition.topic_id].append(
                PartitionData(
                    partition.index,
                    change.leader_epoch,
                    new_isr_with_epochs=[BrokerState(*member) for member in change.isr],
                    leader_recovery_state=RECOVERING if change.is_recovering else RECOVERED,
                    partition_epoch=change.partition_epoch,
                )
            )
        return AlterPartitionRequest(
            self._node_id,
            self._broker_epoch(),
            [TopicData(topic_id=topic_id, partitions=data) for topic_id, data in topics.items()],
        )
