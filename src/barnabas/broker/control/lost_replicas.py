"""Reports to the controller which replicas of this node lack records, and which can't be used.

The controller removes them from the in-sync set and the eligible leaders. Only then does a node
that has just started report that it has caught up, and only then does a replica truncate its
suspect records, to refetch them. A replica that leads, or that only has a hole, and that no other
can replace, stays as it is; the node asks the controller again, since another may be in sync later.
The same holds for one that can't be opened or synced because of the disk, and for a leader that
can't append: then another replica in sync leads, and this one lags until its disk takes writes.
"""

import logging
from asyncio import AbstractEventLoop, Future, Task, sleep
from collections import defaultdict
from collections.abc import Callable
from itertools import islice
from typing import NamedTuple

from barnabas.broker.control.controller_calls import ControllerCalls, ControllerUnavailable
from barnabas.broker.replica.partition import Partition
from barnabas.broker.replica.replica_doubt import must_lead_in_doubt, settle_doubt
from barnabas.broker.replica.replica_trust import NEW_DIRECTORY
from barnabas.controller.lost_replicas import (
    LOST_DIRECTORY,
    OFFLINE_DIRECTORY,
    UNWRITABLE_DIRECTORY,
)
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
_ASK_AGAIN_S = 5.0
_SAY_AGAIN_S = 60.0

Key = tuple[bytes, int]
"""Topic id and index."""


class _Report(NamedTuple):
    name: str
    partition: Partition | None
    """None if the disk has failed: there is nothing to fetch again."""
    directory: bytes = OFFLINE_DIRECTORY
    """What the controller is told, if there is no partition."""


class LostReplicas:
    """The replicas in doubt of one node, until the controller knows of them."""

    def __init__(
        self,
        loop: AbstractEventLoop,
        calls: ControllerCalls,
        *,
        node_id: int,
        broker_epoch: Callable[[], int],
        refetch: Callable[[Partition], None],
        reapply: Callable[[Partition], None],
        write_down: Callable[[], None] = lambda: None,
    ) -> None:
        """`refetch` makes a follower fetch again from its current log end, and `reapply` applies
        the image to it once more. `write_down` is called when doubts are settled."""
        self._loop = loop
        self._calls = calls
        self._node_id = node_id
        self._broker_epoch = broker_epoch
        self._refetch = refetch
        self._reapply = reapply
        self._write_down = write_down
        self._reports: dict[Key, _Report] = {}
        self._refused: set[Key] = set()
        """Replicas that no other can replace yet."""
        self._unsettled: set[Key] = set()
        """Replicas whose doubt the disk has refused to write down."""
        self._unwritable: dict[Key, float] = {}
        """Replicas that could not append, and when they were reported last."""
        self._woken: Future[None] | None = None
        self._task: Task[None] | None = None

    @property
    def is_settled(self) -> bool:
        """Whether the controller knows of all replicas in doubt, or has answered that they can
        wait."""
        return not self._reports

    @property
    def has_unsettled(self) -> bool:
        """Whether the next start would take suspect records of a replica for good ones, if it
        trusted the disk.

        Also of one that could only be opened after the controller knew of all others.
        """
        return bool(self._unsettled or self._reports)

    def doubt(self, partition: Partition) -> None:
        """A replica may lack acknowledged records: `PartitionHost.on_doubt`."""
        name = f"{partition.topic}-{partition.index}"
        if partition.doubt.reason != NEW_DIRECTORY:  # `Partitions` reports these, once for all
            logger.error("%s: %s", name, partition.doubt.reason)
        self._report((partition.topic_id, partition.index), _Report(name, partition))

    def offline(self, topic: str, topic_id: bytes, index: int) -> None:
        """A replica's disk has failed: `PartitionHost.on_offline`."""
        self._report((topic_id, index), _Report(f"{topic}-{index}", None))

    def unwritable(self, topic: str, topic_id: bytes, index: int) -> None:
        """A replica can't append: `PartitionHost.on_unwritable`. Producers and followers retry
        often."""
        key = topic_id, index
        since = self._loop.time() - self._unwritable.get(key, -_SAY_AGAIN_S)
        if key in self._reports or since < _ASK_AGAIN_S:
            return
        name = f"{topic}-{index}"
        if since >= _SAY_AGAIN_S:
            logger.error("%s can't be appended to here: asking for another leader", name)
        self._unwritable[key] = self._loop.time()
        self._report(key, _Report(name, None, UNWRITABLE_DIRECTORY))

    def _report(self, key: Key, report: _Report) -> None:
        self._reports[key] = report
        if self._woken is not None and not self._woken.done():
            self._woken.set_result(None)

    def start(self) -> None:
        self._task = self._loop.create_task(self._run())

    def close(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> None:
        while True:
            if not self._reports:
                self._woken = self._loop.create_future()
                await self._woken
            epoch = self._broker_epoch()
            if epoch == _NOT_REGISTERED or not await self._tell(epoch):
                await sleep(_RETRY_S)

    async def _tell(self, broker_epoch: int) -> bool:
        told = dict(islice(self._reports.items(), _TOLD_AT_ONCE))
        try:
            response = await self._calls.call(self._request(broker_epoch, told), lane=LANE)
        except ControllerUnavailable:
            return False
        if response.error_code:  # it registers again
            return False
        self._told(told, response)
        return True

    def _request(self, broker_epoch: int, told: dict[Key, _Report]) -> AssignReplicasToDirsRequest:
        directories: defaultdict[bytes, defaultdict[bytes, list[PartitionData]]] = defaultdict(
            lambda: defaultdict(list)
        )
        for (topic_id, index), report in told.items():
            lacks_end = report.partition is not None and report.partition.doubt.lacks_end
            directory = LOST_DIRECTORY if lacks_end else report.directory
            directories[directory][topic_id].append(PartitionData(index))
        return AssignReplicasToDirsRequest(
            self._node_id,
            broker_epoch,
            [
                DirectoryData(directory, [TopicData(*topic) for topic in topics.items()])
                for directory, topics in directories.items()
            ],
        )

    def _told(self, told: dict[Key, _Report], response: AssignReplicasToDirsResponse) -> None:
        errors = {
            (topic.topic_id, result.partition_index): result.error_code
            for directory in response.directories
            for topic in directory.topics
            for result in topic.partitions
        }
        for key, report in told.items():
            if self._reports.get(key) == report:
                del self._reports[key]
            if errors.get(key) == ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE:
                self._refuse(key, report)
            else:
                self._refused.discard(key)
                self._settle(key, report)
        self._write_down()

    def _refuse(self, key: Key, report: _Report) -> None:
        partition = report.partition
        if key not in self._refused:
            self._refused.add(key)
            stays = "keeps its records"
            if report.directory == UNWRITABLE_DIRECTORY:
                stays = "stays with this leader, which can't append"
            logger.error("%s %s: no other replica is in sync", report.name, stays)
        if partition is None:
            return  # it is reported again if opening it fails again
        if must_lead_in_doubt(partition):
            self._reapply(partition)
        self._keep(key, report.name, partition)
        self._loop.call_later(_ASK_AGAIN_S, self._ask_again, key, report)

    def _keep(self, key: Key, name: str, partition: Partition) -> None:
        """The replica stays in doubt, and the node trusts its disk from now on."""
        self._unsettled.discard(key)
        if partition.deleted:
            return
        try:
            partition.log.suspects.keep()
        except StorageError as error:
            self._unsettled.add(key)
            logger.error("%s: %s", name, error)

    def _ask_again(self, key: Key, report: _Report) -> None:
        partition = report.partition
        if partition is not None and not partition.deleted and partition.doubt:
            self._report(key, report)
        else:
            self._unsettled.discard(key)

    def _settle(self, key: Key, report: _Report) -> None:
        partition = report.partition
        if partition is None:
            return  # that it can't be used says nothing of what it lacks
        self._unsettled.discard(key)
        if partition.deleted:
            return
        try:
            if settle_doubt(partition):
                self._refetch(partition)
        except StorageError as error:  # a full disk, most likely
            self._unsettled.add(key)
            logger.error("%s: %s", report.name, error)
            self._loop.call_later(_ASK_AGAIN_S, self._ask_again, key, report)
