"""A group that commits its offsets again and again, and a broker that starts with what it left."""

import time
from pathlib import Path

from barnabas.wire.errors import ErrorCode
from barnabas.wire.framing import decode_response, encode_request
from barnabas.wire.message import Request, Response
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from barnabas.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestTopic,
    OffsetFetchResponse,
)
from benchmarks.bench import TOPIC
from benchmarks.brokers import BARNABAS, Contender, create_topic
from benchmarks.raw_client import RawConnection

_GROUP = "bench-group"
_UNDER_WAY = 32
_FIND_VERSION = 1
_COMMIT_VERSION = 7
_FETCH_VERSION = 5
_CLEANER_S = 1
_COMPACTED_WITHIN_S = 120
_LEFT_BYTES = 5_000_000
_PARTITIONS = 10
"""Offsets in a commit."""


def committed(directory: str, count: int) -> None:
    """Leave a directory behind in which a group has committed so many offsets."""
    settings = {"log.cleaner.backoff.ms": str(1000 * _CLEANER_S)}
    with Contender(BARNABAS).started(directory=directory, settings=settings) as broker:
        create_topic(broker, TOPIC, _PARTITIONS)
        with RawConnection(broker.host, broker.port) as connection:
            find_coordinator(connection)
            _commit(connection, count // _PARTITIONS)
        _wait_for_compaction(directory)


def _wait_for_compaction(directory: str) -> None:
    """Until hardly more is left than the segment that is written to."""
    deadline = time.monotonic() + _COMPACTED_WITHIN_S
    while True:
        time.sleep(2 * _CLEANER_S)
        files = Path(directory).glob("__consumer_offsets-*/*.log")
        if sum(path.stat().st_size for path in files if path.exists()) < _LEFT_BYTES:
            return
        if time.monotonic() > deadline:
            raise RuntimeError("the offsets are not compacted")


def _commit(connection: RawConnection, count: int) -> None:
    sent = answered = 0
    while answered < count:
        room = min(_UNDER_WAY - (sent - answered), count - sent)
        if room:
            connection.send(b"".join(_commit_frame(sent + number) for number in range(room)))
            sent += room
        answers = connection.receive()
        answered += len(answers)
    response = decode_response(answers[-1], OffsetCommitResponse, _COMMIT_VERSION)
    _check(response.topics[0].partitions[0].error_code)


def _commit_frame(offset: int) -> bytes:
    partitions = [OffsetCommitRequestPartition(i, offset, -1, "") for i in range(_PARTITIONS)]
    topics = [OffsetCommitRequestTopic(TOPIC, partitions=partitions)]
    return _frame(OffsetCommitRequest(_GROUP, topics=topics), _COMMIT_VERSION)


def start_to_offset(directory: str, count: int) -> float:
    """Seconds from the start of a broker until it says what was committed last."""
    began = time.perf_counter()
    with (
        Contender(BARNABAS).started(directory=directory) as broker,
        RawConnection(broker.host, broker.port) as connection,
    ):
        topics = [OffsetFetchRequestTopic(TOPIC, partition_indexes=[0])]
        frame = _frame(OffsetFetchRequest(_GROUP, topics=topics), _FETCH_VERSION)
        while True:
            response = decode_response(connection.ask(frame), OffsetFetchResponse, _FETCH_VERSION)
            if response.error_code == ErrorCode.NONE:
                break
            time.sleep(0.005)
        seconds = time.perf_counter() - began
    if response.topics[0].partitions[0].committed_offset != count // _PARTITIONS - 1:
        raise RuntimeError(f"the offset is {response.topics[0].partitions[0].committed_offset}")
    return seconds


def find_coordinator(connection: RawConnection) -> None:
    """Until there is one: the topic of the offsets may have to be made first."""
    frame = _frame(FindCoordinatorRequest(_GROUP), _FIND_VERSION)
    while connection.ask(frame)[8:10] != b"\0\0":
        time.sleep(0.05)
    time.sleep(0.5)


def _frame(request: Request[Response], version: int) -> bytes:
    return b"".join(encode_request(request, version, 1, "bench"))


def _check(error_code: int) -> None:
    if error_code != ErrorCode.NONE:
        raise RuntimeError(f"the broker answered with error {error_code}")
