"""The common Produce, versions 3-13: one batch for one partition of one topic.

It is read and answered in place, without the request's and the response's objects, which is more
than half of what such a small request costs. Anything out of the ordinary (several partitions,
acks=0, an error of any kind) is left to `produce`, before anything is stored; both meet in
`LeaderAppender.append`, and answer the same bytes. When the other replicas have to be waited for,
the answer is made before, and sent when they have it.
"""

import struct
from asyncio import AbstractEventLoop, Future
from collections.abc import Callable
from typing import Protocol

from barnabas.broker.net.connection import Answer, Connection
from barnabas.broker.net.request_errors import RequestErrors
from barnabas.broker.replica.partition import Partition
from barnabas.broker.replica.partitions import Partitions, Replicas
from barnabas.broker.replica.recompression import Recompression
from barnabas.broker.runtime.clock import Clock
from barnabas.log import AppendInfo, StorageError
from barnabas.metadata.image import INTERNAL_TOPICS
from barnabas.records.decompression_budget import OverBudget
from barnabas.records.errors import InvalidBatch
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.produce import ProduceRequest

_HEADER = struct.Struct(">hhih")  # api_key, api_version, correlation_id, length of client_id
_FLEXIBLE_FROM = 9
_BY_ID_FROM = 13

_REQUEST = struct.Struct(">hhii")  # transactional_id's length, acks, timeout_ms, number of topics
_COMPACT_REQUEST = struct.Struct(">BBhiB")  # tags, transactional_id, acks, timeout_ms, topics
_PARTITION = struct.Struct(">iii")  # number of partitions, index, length of records
_COMPACT_PARTITION = struct.Struct(">Bi")  # number of partitions, index

_ANSWER = struct.Struct(">iii")  # size, correlation_id, number of topics
_COMPACT_ANSWER = struct.Struct(">iiBB")  # size, correlation_id, tags, topics
_ANSWERED = struct.Struct(">iihqqq")  # number of partitions, index, error, offset, time, log start
_COMPACT_ANSWERED = struct.Struct(">Bihqqq")
_OUTCOME = struct.Struct(">hq")  # error, offset
# What follows an answered partition: record_errors, error_message, tags, throttle_time_ms.
_COMPACT_REST = b"\1\0\0" + b"\0" + b"\0\0\0\0" + b"\0"
_REST = {8: b"\0\0\0\0" + b"\xff\xff" + b"\0\0\0\0"}
_THROTTLE = b"\0\0\0\0"

MayWrite = Callable[[Partition, memoryview], bool]
"""Whether the client may store these records in the partition, where access rules are in force."""


class Needs(Protocol):
    """What this handler asks of the node."""

    clock: Clock
    loop: AbstractEventLoop
    partitions: Partitions
    recompression: Recompression
    request_errors: RequestErrors


def handle(
    node: Needs,
    frame: memoryview,
    _: Connection | None = None,
    may_write: MayWrite | None = None,
) -> "Answer | Future[Answer]":
    """The answer, or None when the request has to go the ordinary way."""
    try:
        _, version, correlation_id, client_id_length = _HEADER.unpack_from(frame)
        at = _HEADER.size + max(0, client_id_length)
        if client_id_length < -1 or not bytes(frame[_HEADER.size : at]).isascii():
            return None  # it may be no text at all
        if version >= _FLEXIBLE_FROM:
            return _compact(node, frame, at, version, correlation_id, may_write)
        if version >= 3:
            return _plain(node, frame, at, version, correlation_id, may_write)
    except (struct.error, IndexError):
        return None  # cut off: the ordinary way says where
    return None


def _compact(
    node: Needs,
    frame: memoryview,
    at: int,
    version: int,
    correlation_id: int,
    may_write: MayWrite | None,
) -> "Answer | Future[Answer]":
    tags, transactional_id, acks, timeout_ms, topics = _COMPACT_REQUEST.unpack_from(frame, at)
    if tags or transactional_id or topics != 2 or version > _BY_ID_FROM:
        return None
    topic_at = at + _COMPACT_REQUEST.size
    if version == _BY_ID_FROM:
        at = topic_at + 16
        partitions = node.partitions.by_id.get(bytes(frame[topic_at:at]))
    else:
        # A name of 127 characters and more has a longer length, is then not found, and gets served
        # the ordinary way.
        at = topic_at + frame[topic_at]
        partitions = node.partitions.by_encoded_name.get(bytes(frame[topic_at + 1 : at]))
    topic = bytes(frame[topic_at:at])
    count, index = _COMPACT_PARTITION.unpack_from(frame, at)
    at += _COMPACT_PARTITION.size
    size = frame[at] & 0x7F
    shift = 7
    while frame[at] >= 0x80 and shift < 35:
        at += 1
        size |= (frame[at] & 0x7F) << shift
        shift += 7
    start, stop = at + 1, at + size
    # Behind the records stand the empty tags of partition, topic and request, and nothing else.
    if count != 2 or bytes(frame[stop:]) != b"\0\0\0":
        return None
    partition = _partition(partitions, index, acks)
    info = None if partition is None else _append(node, partition, frame[start:stop], may_write)
    if partition is None or info is None:
        return None
    size = _COMPACT_ANSWER.size - 4 + len(topic) + _COMPACT_ANSWERED.size + len(_COMPACT_REST)
    answer = (
        _COMPACT_ANSWER.pack(size, correlation_id, 0, 2)
        + topic
        + _COMPACT_ANSWERED.pack(
            2, index, 0, info.base_offset, info.log_append_time_ms, info.log_start_offset
        )
        + _COMPACT_REST
    )
    if acks == 1 or partition.high_watermark >= partition.log.log_end_offset:
        return [answer]
    outcome_at = _COMPACT_ANSWER.size + len(topic) + _COMPACT_PARTITION.size
    return _answer_later(node, partition, timeout_ms, answer, outcome_at)


def _plain(
    node: Needs,
    frame: memoryview,
    at: int,
    version: int,
    correlation_id: int,
    may_write: MayWrite | None,
) -> "Answer | Future[Answer]":
    transactional_id_length, acks, timeout_ms, topics = _REQUEST.unpack_from(frame, at)
    if transactional_id_length != -1 or topics != 1:
        return None
    topic_at = at + _REQUEST.size
    at = topic_at + 2 + (frame[topic_at] << 8) + frame[topic_at + 1]
    topic = bytes(frame[topic_at:at])
    count, index, size = _PARTITION.unpack_from(frame, at)
    start = at + _PARTITION.size
    if count != 1 or start + size != len(frame):
        return None
    partition = _partition(node.partitions.by_encoded_name.get(topic[2:]), index, acks)
    info = None if partition is None else _append(node, partition, frame[start:], may_write)
    if partition is None or info is None:
        return None
    answered = _ANSWERED.pack(
        1, index, 0, info.base_offset, info.log_append_time_ms, info.log_start_offset
    )
    if version < 5:
        answered = answered[:-8]  # log_start_offset came with version 5
    answered += _REST.get(version, _THROTTLE)
    size = _ANSWER.size - 4 + len(topic) + len(answered)
    answer = _ANSWER.pack(size, correlation_id, 1) + topic + answered
    if acks == 1 or partition.high_watermark >= partition.log.log_end_offset:
        return [answer]
    return _answer_later(node, partition, timeout_ms, answer, _ANSWER.size + len(topic) + 8)


def _partition(partitions: Replicas | None, index: int, acks: int) -> Partition | None:
    """The partition, if what is asked of it is ordinary."""
    if partitions is None or not 0 <= index < len(partitions) or acks not in (1, -1):
        return None
    partition = partitions[index]
    if partition is None or partition.leading is None or partition.topic in INTERNAL_TOPICS:
        return None
    if acks == -1 and partition.lacks_replicas:
        return None
    return partition if partition.limits.in_place else None


def _append(
    node: Needs, partition: Partition, records: memoryview, may_write: MayWrite | None
) -> AppendInfo | None:
    if may_write is not None and not may_write(partition, records):
        return None
    recompression = node.recompression
    if recompression.queues:
        return None  # others may wait for this partition, and were here first
    # Nothing is stored when it fails: the ordinary way meets the same error and reports it.
    try:
        now_ms = node.clock.now_ms()
        return partition.appender.append(records, now_ms, budget=recompression.budget)
    except (InvalidBatch, OverBudget):
        return None
    except StorageError:
        records[:8] = bytes(8)  # the append had put its offset there already
        return None


def _answer_later(
    node: Needs, partition: Partition, timeout_ms: int, answer: bytes, outcome_at: int
) -> "Future[Answer]":
    """Send `answer` when all that is in the log is committed, or say why it is not."""
    answered: Future[Answer] = node.loop.create_future()

    def done(error: ErrorCode) -> None:
        if answered.done():
            return  # the client has disconnected
        if error is ErrorCode.NONE:
            answered.set_result([answer])
        else:
            node.request_errors.add(ProduceRequest.API_KEY, [error])
            failed = bytearray(answer)
            _OUTCOME.pack_into(failed, outcome_at, error, -1)
            answered.set_result([failed])

    partition.when_committed(partition.log.log_end_offset, timeout_ms, done)
    return answered
