"""Tells the controller which replicas of this node lack something they had acknowledged.

The controller takes them out of the in-sync set and of the eligible leaders. Only then does a node
that has just started claim to have caught up, and only then does a replica cut off what it can't
vouch for, to fetch it again. One that serves, and that nobody can stand in for, stays as it is; the
controller is asked again for it, since another may be in sync later.
"""

import logging
from asyncio import AbstractEventLoop, Future, Task, sleep
from collections import defaultdict
from collections.abc import Callable
from itertools import islice

from barnabas.broker.controller_calls import ControllerCalls, ControllerUnavailable
from barnabas.broker.partition import Partition
from barnabas.controller.lost_replicas import LOST_DIRECTORY
from barnabas.log import StorageError
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsResponse,
    DirectoryData,
    PartitionData,
    TopicData,
)

logger = logging.getLogger(__name__)

LANE = "lost"
_NOT_REGISTERED = -1
_TOLD_AT_ONCE = 1_000
_RETRY_S = 0.1
_STILL_NEEDED_RETRY_S = 5.0


class LostReplicas:
    """The doubts of one node, until the controller knows of them."""

    def __init__(
        self,
        loop: AbstractEventLoop,
        calls: ControllerCalls,
        *,
        node_id: int,
        broker_epoch: Callable[[], int],
        refetch: Callable[[Partition], None],
    ) -> None:
        """`refetch` lets a replica that follows begin again where its log ends now."""
        self._loop = loop
        self._calls = calls
        self._node_id = node_id
        self._broker_epoch = broker_epoch
        self._refetch = refetch
        self._doubted: dict[Partition, None] = {}
        self._still_needed: dict[Partition, None] = {}
        """Those that nobody can stand in for yet."""
        self._woken: Future[None] | None = None
        self._task: Task[None] | None = None

    @property
    def is_settled(self) -> bool:
        """Whether the controller knows of all there is to know, or has said that it can wait."""
        return not self._doubted

    def doubt(self, partition: Partition) -> None:
        """A replica can't vouch for what it has acknowledged: `PartitionHost.on_doubt`."""
        logger.error("%s-%d: %s", partition.topic, partition.index, partition.doubt)
        self._doubted[partition] = None
        self._wake()

    def start(self) -> None:
        self._task = self._loop.create_task(self._run())

    def close(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def _wake(self) -> None:
        if self._woken is not None and not self._woken.done():
            self._woken.set_result(None)

    async def _run(self) -> None:
        while True:
            if not self._doubted:
                self._woken = self._loop.create_future()
                await self._woken
            epoch = self._broker_epoch()
            if epoch == _NOT_REGISTERED or not await self._tell(epoch):
                await sleep(_RETRY_S)

    async def _tell(self, broker_epoch: int) -> bool:
        told = tuple(islice(self._doubted, _TOLD_AT_ONCE))
        topics: defaultdict[bytes, list[PartitionData]] = defaultdict(list)
        for partition in told:
            topics[partition.topic_id].append(PartitionData(partition.index))
        request = AssignReplicasToDirsRequest(
            self._node_id,
            broker_epoch,
            [DirectoryData(LOST_DIRECTORY, [TopicData(*topic) for topic in topics.items()])],
        )
        try:
            response = await self._calls.call(request, lane=LANE)
        except ControllerUnavailable:
            return False
        if response.error_code:  # it registers again
            return False
        self._told(told, response)
        return True

    def _told(self, told: tuple[Partition, ...], response: AssignReplicasToDirsResponse) -> None:
        errors = {
            (topic.topic_id, result.partition_index): result.error_code
            for directory in response.directories
            for topic in directory.topics
            for result in topic.partitions
        }
        for partition in told:
            del self._doubted[partition]
            error = errors.get((partition.topic_id, partition.index))
            if error == ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE:
                if partition not in self._still_needed:
                    logger.error(
                        "%s-%d goes on leading, as nobody else is in sync",
                        partition.topic,
                        partition.index,
                    )
                self._still_needed[partition] = None
                self._loop.call_later(_STILL_NEEDED_RETRY_S, self._ask_again, partition)
            else:
                self._still_needed.pop(partition, None)
                self._settle(partition)

    def _ask_again(self, partition: Partition) -> None:
        if not partition.deleted:
            self._doubted[partition] = None
            self._wake()

    def _settle(self, partition: Partition) -> None:
        if partition.deleted:
            return
        try:
            if partition.doubt_settled():
                self._refetch(partition)
        except StorageError as error:
            # It stays as it is, out of the in-sync set, until another epoch begins.
            logger.error("%s-%d: %s", partition.topic, partition.index, error)
