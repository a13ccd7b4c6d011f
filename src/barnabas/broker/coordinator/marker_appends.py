"""Appends the markers that end transactions, to partitions led here, for any coordinator.

A marker counts as written when it is committed. In `__consumer_offsets` the group coordinator is
notified of the append: it applies the marker in log order, when it is committed, and then shows or
drops the transaction's offsets.
"""

from asyncio import AbstractEventLoop, Future
from collections.abc import Callable
from functools import partial

from barnabas.broker.replica.leader_appender import AppendRefused
from barnabas.broker.replica.partition import Partition
from barnabas.broker.replica.partitions import Partitions
from barnabas.broker.runtime.clock import Clock
from barnabas.log import StorageError
from barnabas.metadata.image import CLUSTER_METADATA, TRANSACTION_STATE
from barnabas.records.control import ControlType
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

COMMIT_TIMEOUT_MS = 1_000
"""After a timeout the coordinator retries, and then waits for the marker that is already in the
log. All further markers of that coordinator for this node wait for the answer, so one partition
that lacks replicas would delay the rest."""

NO_MARKERS = frozenset({CLUSTER_METADATA, TRANSACTION_STATE})
"""Topics that can't be part of a transaction."""

OnMarker = Callable[[Partition, int, int, bool], None]


class MarkerAppends:
    def __init__(
        self,
        loop: AbstractEventLoop,
        clock: Clock,
        partitions: Partitions,
    ) -> None:
        self._loop = loop
        self._clock = clock
        self._partitions = partitions
        self.on_marker: list[OnMarker] = []
        """Called for every marker, when it is appended or found in the log, with the partition, an
        offset behind the marker, the producer's id, and whether it is a commit."""

    def write(self, request: WriteTxnMarkersRequest) -> "Future[WriteTxnMarkersResponse]":
        """Append all markers; the response is ready when each is committed or refused."""
        writing = _Writing(self._loop)
        for marker in request.markers:
            result = WritableTxnMarkerResult(marker.producer_id)
            for topic in marker.topics:
                answers = [
                    WritableTxnMarkerPartitionResult(index, ErrorCode.NONE)
                    for index in topic.partition_indexes
                ]
                result.topics.append(WritableTxnMarkerTopicResult(topic.name, answers))
                # Operators, and nodes of earlier versions, do not name the leadership.
                epochs = dict(zip(topic.partition_indexes, topic.leader_epochs, strict=False))
                for answer in answers:
                    epoch = epochs.get(answer.partition_index)
                    self._write(writing, marker, topic.name, answer, epoch)
            writing.response.markers.append(result)
        writing.ended()  # releases the request's initial count
        return writing.answer

    def _write(
        self,
        writing: "_Writing",
        marker: WritableTxnMarker,
        topic: str,
        answer: WritableTxnMarkerPartitionResult,
        leader_epoch: int | None,
    ) -> None:
        if topic in NO_MARKERS:
            answer.error_code = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
            return
        found = self._partitions.find(topic, answer.partition_index)
        if isinstance(found, ErrorCode):
            answer.error_code = found
            return
        if leader_epoch is not None and leader_epoch != found.leader_epoch:
            # Another leader may have written it since, and the producer's next transaction begun.
            answer.error_code = ErrorCode.NOT_LEADER_OR_FOLLOWER
            return
        answer.error_code = self._append(found, marker)
        end_offset = found.log.log_end_offset
        if answer.error_code == ErrorCode.NONE and found.high_watermark < end_offset:
            writing.begun()
            done = partial(_committed, writing, answer)
            found.when_committed(end_offset, COMMIT_TIMEOUT_MS, done)

    def _append(self, partition: Partition, marker: WritableTxnMarker) -> ErrorCode:
        committed = marker.transaction_result
        time_ms = self._clock.now_ms()
        try:
            info = partition.appender.append_marker(
                marker.producer_id,
                marker.producer_epoch,
                marker.coordinator_epoch,
                ControlType.COMMIT if committed else ControlType.ABORT,
                marker.transaction_version,
                time_ms,
            )
        except AppendRefused as error:
            return error.error_code
        except StorageError as error:
            partition.log_refusal(error, time_ms)
            return ErrorCode.KAFKA_STORAGE_ERROR
        end_offset = partition.log.log_end_offset if info is None else info.last_offset + 1
        for told in self.on_marker:
            told(partition, end_offset, marker.producer_id, committed)
        return ErrorCode.NONE


class _Writing:
    """One request, until all its markers are committed or refused."""

    def __init__(self, loop: AbstractEventLoop) -> None:
        self.response = WriteTxnMarkersResponse()
        self.answer: Future[WriteTxnMarkersResponse] = loop.create_future()
        self._under_way = 1

    def begun(self) -> None:
        self._under_way += 1

    def ended(self) -> None:
        self._under_way -= 1
        if self._under_way == 0 and not self.answer.done():
            self.answer.set_result(self.response)


def _committed(
    writing: _Writing, answer: WritableTxnMarkerPartitionResult, error: ErrorCode
) -> None:
    answer.error_code = error
    writing.ended()
