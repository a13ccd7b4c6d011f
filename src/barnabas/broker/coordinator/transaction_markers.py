"""Sends the markers of a transaction to all its partitions, with retries until they are written.

The leaders of the partitions append the markers. All markers for one node go into one request, and
the next request waits for the response to the one before, so that markers are batched. Markers that
a node can't append now are retried, at the partition's leader of that time.

A request that was given up may still arrive when the marker has been written by another leader, and
the producer's next transaction has begun with the same epoch. So each marker names the leadership
that it is for.
"""

import logging
from asyncio import AbstractEventLoop, Future
from collections import defaultdict
from collections.abc import Callable
from typing import NamedTuple

from barnabas.broker.coordinator.transaction_coordinator_shard import TransactionCoordinatorShard
from barnabas.broker.net.peers import Peers
from barnabas.metadata.image import MetadataImage
from barnabas.transactions import MarkersToWrite, TopicPartition
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

logger = logging.getLogger(__name__)

LANE = "markers"
_TIMEOUT_MS = 5_000
"""A node that is frozen or cut off does not answer, while others may lead its partitions by now.
This is longer than `MarkerAppends` waits."""
_RETRY_S = 0.02
_MAX_RETRY_S = 0.5
_GONE_AFTER_TRIES = 25
"""A topic that a node does not know may be one that it has not learned of yet."""
_UNKNOWN_EPOCH = -1
"""Of a topic that has been deleted meanwhile: no leadership has it."""

WriteHere = Callable[[WriteTxnMarkersRequest], "Future[WriteTxnMarkersResponse]"]


class _Ending(NamedTuple):
    """One marker to send: how a transaction ends in one partition."""

    shard: TransactionCoordinatorShard
    markers: MarkersToWrite
    partition: TopicPartition
    tries: int

    @property
    def is_awaited(self) -> bool:
        return self.shard.awaits(self.markers, self.partition)


class TransactionMarkers:
    """The markers that this node sends as a transaction coordinator."""

    def __init__(
        self,
        loop: AbstractEventLoop,
        node_id: int,
        peers: Peers,
        image: MetadataImage,
        write_here: WriteHere,
    ) -> None:
        self._loop = loop
        self._node_id = node_id
        self._peers = peers
        self._image = image
        self._write_here = write_here
        self._waiting: defaultdict[int, list[_Ending]] = defaultdict(list)
        self._busy: set[int] = set()
        """Nodes with a request in flight, or about to be sent."""

    def write(self, shard: TransactionCoordinatorShard, markers: MarkersToWrite) -> None:
        """Send markers; `shard` is notified as they are written."""
        for partition in sorted(markers.partitions):
            self._try(_Ending(shard, markers, partition, 0))

    def _try(self, ending: _Ending) -> None:
        if not ending.is_awaited:
            return  # the transaction is over, or the shard's new leader takes over
        name, index = ending.partition
        topic = self._image.topics.get(name)
        if topic is None or index >= len(topic.partitions):
            if ending.tries >= _GONE_AFTER_TRIES:
                ending.shard.written(ending.markers, [ending.partition])
            else:
                self._try_later(ending)
            return
        leader_id = topic.partitions[index].leader
        if leader_id < 0:
            self._try_later(ending)
            return
        self._waiting[leader_id].append(ending)
        if leader_id not in self._busy:
            self._busy.add(leader_id)
            self._loop.call_soon(self._send, leader_id)

    def _try_later(self, ending: _Ending) -> None:
        tries = ending.tries + 1
        pause = min(_MAX_RETRY_S, _RETRY_S * 2 ** min(tries, 10))
        self._loop.call_later(pause, self._try, ending._replace(tries=tries))

    # -- one node ----------------------------------------------------------------------------------

    def _send(self, node_id: int) -> None:
        endings = [each for each in self._waiting.pop(node_id, ()) if each.is_awaited]
        if not endings:
            self._busy.discard(node_id)
            return
        request = self._request(endings)
        if node_id == self._node_id:
            answer = self._write_here(request)
        else:
            answer = self._peers.call(
                node_id, request, request.MAX_VERSION, timeout_ms=_TIMEOUT_MS, lane=LANE
            )
        answer.add_done_callback(lambda done: self._answered(node_id, endings, done))

    def _request(self, endings: list[_Ending]) -> WriteTxnMarkersRequest:
        indexes: dict[tuple[MarkersToWrite, int], defaultdict[str, list[int]]] = {}
        for ending in endings:
            key = (ending.markers, ending.shard.leader_epoch)
            name, index = ending.partition
            indexes.setdefault(key, defaultdict(list))[name].append(index)
        return WriteTxnMarkersRequest(
            [
                WritableTxnMarker(
                    markers.producer_id,
                    markers.producer_epoch,
                    markers.committed,
                    [
                        WritableTxnMarkerTopic(name, found, self._leader_epochs(name, found))
                        for name, found in topics.items()
                    ],
                    coordinator_epoch,
                    markers.transaction_version,
                )
                for (markers, coordinator_epoch), topics in indexes.items()
            ]
        )

    def _leader_epochs(self, name: str, indexes: list[int]) -> list[int]:
        topic = self._image.topics.get(name)
        known = [] if topic is None else topic.partitions
        return [
            known[index].leader_epoch if index < len(known) else _UNKNOWN_EPOCH for index in indexes
        ]

    def _answered(
        self, node_id: int, endings: list[_Ending], done: "Future[WriteTxnMarkersResponse]"
    ) -> None:
        self._loop.call_soon(self._send, node_id)
        if done.cancelled() or done.exception() is not None:
            for ending in endings:
                self._try_later(ending)
            return
        errors = _errors(done.result())
        written: defaultdict[
            tuple[TransactionCoordinatorShard, MarkersToWrite], list[TopicPartition]
        ]
        written = defaultdict(list)
        for ending in endings:
            error = errors.get((ending.markers.producer_id, *ending.partition))
            if _is_settled(error, ending):
                written[ending.shard, ending.markers].append(ending.partition)
            else:
                self._try_later(ending)
        for (shard, markers), partitions in written.items():
            shard.written(markers, partitions)


def _is_settled(error: int | None, ending: _Ending) -> bool:
    if error == ErrorCode.INVALID_PRODUCER_EPOCH:
        # An operator has ended the transaction, and the producer has continued since.
        logger.warning(
            "%s-%d has seen a later epoch of %r",
            *ending.partition,
            ending.markers.transactional_id,
        )
        return True
    return error == ErrorCode.NONE


def _errors(response: WriteTxnMarkersResponse) -> dict[tuple[int, str, int], int]:
    return {
        (marker.producer_id, topic.name, partition.partition_index): partition.error_code
        for marker in response.markers
        for topic in marker.topics
        for partition in topic.partitions
    }
