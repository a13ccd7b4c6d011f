"""ShareFetch, versions 1-2: records for a member of a share group, locked for it.

It also carries acknowledgements, which are taken first. The answer has records of whole batches of
the log, and the ranges of offsets among them that the member has acquired. About `max_records`, in
whole batches; with `share_acquire_mode` 1 (record_limit, from version 2 on) no more than that.

A fetch that finds nothing waits: for new records, and for records that others release or whose
locks time out. The first fetch that waits gets them, from the one partition that has them. With
acknowledgements it waits only until these are stored.

From version 2 on, `is_renew_ack` says that locks are renewed, and that nothing is fetched.

A session of very many partitions is walked in slices; other requests are served in between.
"""

from asyncio import Future, sleep
from collections.abc import Callable, Iterable
from itertools import groupby
from typing import Protocol

from barnabas.broker.handlers.share_acknowledgements import (
    TELLS_LEADER,
    Outcomes,
    acknowledge,
    find_led,
    leader_of,
    reader_rights,
)
from barnabas.broker.handlers.share_acknowledgements import Needs as AcknowledgementNeeds
from barnabas.broker.net.connection_limits import ConnectionLimits
from barnabas.broker.net.dispatcher import Outcome, RequestContext
from barnabas.broker.runtime.slices import Slicer
from barnabas.broker.settings.config import BrokerConfig
from barnabas.broker.share.led_share_partition import LedSharePartition
from barnabas.broker.share.share_fetch_wait import ShareFetchWait
from barnabas.broker.share.share_reader import Wanted, read_and_acquire
from barnabas.broker.share.share_sessions import FINAL_EPOCH, INITIAL_EPOCH, Place, ShareSession
from barnabas.share.acknowledgement import Refusal
from barnabas.wire.errors import ErrorCode
from barnabas.wire.message import Response
from barnabas.wire.messages.share_fetch import (
    AcquiredRecords,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
    ShareFetchableTopicResponse,
    ShareFetchRequest,
    ShareFetchResponse,
)

_RECORD_LIMIT = 1
_ACQUIRE_MODES = (0, _RECORD_LIMIT)
_NO_LEADER = LeaderIdAndEpoch(0, 0)
_MAX_WAIT_MS = 60_000
_MESSAGES = {
    ErrorCode.CORRUPT_MESSAGE: "the next records were lost to disk damage; set "
    "damaged.records.skip=true for the topic, or alter the offsets of the group"
}
_SLICE = 250
"""Partitions that are looked at in one turn of the event loop."""


class Needs(AcknowledgementNeeds, Protocol):
    """What this handler asks of the node."""

    config: BrokerConfig
    connections: ConnectionLimits


def handle(node: Needs, request: ShareFetchRequest, context: RequestContext) -> Outcome:
    why = _invalid(request)
    if why is not None:
        return ShareFetchResponse(error_code=ErrorCode.INVALID_REQUEST, error_message=why)
    session = _session(node, request, context)
    if isinstance(session, ErrorCode):
        return ShareFetchResponse(error_code=session)
    return _ShareFetch(node, request, context, session).handle()


def _invalid(request: ShareFetchRequest) -> str | None:
    if not request.group_id or not request.member_id:
        return "group id and member id are needed"
    if request.share_acquire_mode not in _ACQUIRE_MODES:
        return f"unknown acquire mode {request.share_acquire_mode}"
    if request.share_session_epoch == INITIAL_EPOCH and any(
        asked.acknowledgement_batches for topic in request.topics for asked in topic.partitions
    ):
        return "the first request of a session can't acknowledge"
    if request.is_renew_ack and (
        request.max_wait_ms or request.min_bytes or request.max_bytes or request.max_records
    ):
        return "a request that renews locks can't fetch"
    return None


def _session(
    node: Needs, request: ShareFetchRequest, context: RequestContext
) -> ShareSession | ErrorCode:
    sessions = node.share_sessions
    group_id, member_id = request.group_id or "", request.member_id or ""
    if request.share_session_epoch == INITIAL_EPOCH:
        session = sessions.open(group_id, member_id, context.connection)
    else:
        session = sessions.use(group_id, member_id, request.share_session_epoch)
    if isinstance(session, ErrorCode) or request.share_session_epoch == FINAL_EPOCH:
        return session
    for topic in request.topics:
        for asked in topic.partitions:
            if not sessions.add(session, (topic.topic_id, asked.partition_index)):
                return ErrorCode.SHARE_SESSION_LIMIT_REACHED
    for forgotten in request.forgotten_topics_data:
        for index in forgotten.partitions:
            sessions.forget(session, (forgotten.topic_id, index))
    return session


class _ShareFetch:
    """One request."""

    def __init__(
        self,
        node: Needs,
        request: ShareFetchRequest,
        context: RequestContext,
        session: ShareSession,
    ) -> None:
        self._node = node
        self._request = request
        self._context = context
        self._session = session
        self._may_read: Callable[[bytes], bool] = reader_rights(node, context, "ShareFetch")
        self._found: dict[Place, LedSharePartition | ErrorCode] = {}
        self._data: dict[Place, PartitionData] = {}
        self._outcomes = Outcomes()
        self._left_records = request.max_records
        self._read_bytes = 0

    def handle(self) -> Outcome:
        node, request, session = self._node, self._request, self._session
        self._outcomes = acknowledge(
            node,
            session.group_id,
            session.member_id,
            (
                ((topic.topic_id, asked.partition_index), asked.acknowledgement_batches)
                for topic in request.topics
                for asked in topic.partitions
                if asked.acknowledgement_batches
            ),
            self._may_read,
            is_renewal=request.is_renew_ack,
        )
        is_final = request.share_session_epoch == FINAL_EPOCH
        if is_final:
            node.share_sessions.end(session)
        if is_final or request.is_renew_ack or self._is_throttled():
            return self._when_stored()
        if len(session.partitions) > _SLICE:
            return node.loop.create_task(self._handle_in_slices())
        self._find(self._places())
        if self._read(is_last=request.max_wait_ms <= 0) or self._outcomes.errors:
            return self._when_stored()
        return self._wait()

    async def _handle_in_slices(self) -> ShareFetchResponse:
        places = self._places()
        for at in range(0, len(places), _SLICE):
            self._find(places[at : at + _SLICE])
            await sleep(0)
        may_wait = self._request.max_wait_ms > 0 and not self._outcomes.errors
        found = list(self._found.items())
        if (
            not may_wait
            or self._request.min_bytes <= 1
            or self._available() >= self._request.min_bytes
        ):
            for at in range(0, len(found), _SLICE):
                if not self._node.share_sessions.is_open(self._session):
                    return _session_ended()
                self._read_some(found[at : at + _SLICE])
                await sleep(0)
        if may_wait and not self._data:
            response = await self._wait()
            assert isinstance(response, ShareFetchResponse)
            return response
        settled = self._outcomes.settled(self._node.loop)
        if settled is not None:
            await settled
        response = self._respond()
        slicer = Slicer(self._context.version)
        for answered in response.responses:
            for at, data in enumerate(answered.partitions):
                if not data.records:  # those are sent as they are, without a copy
                    answered.partitions[at] = slicer.part(data)
                if slicer.is_due():
                    await sleep(0)
        return response

    def _wait(self) -> "Future[Response]":
        wait = ShareFetchWait(
            self._node.loop,
            min(self._request.max_wait_ms, _MAX_WAIT_MS),
            [led for led in self._found.values() if not isinstance(led, ErrorCode)],
            self._attempt,
        )
        return wait.answer

    def _attempt(self, led: LedSharePartition | None) -> ShareFetchResponse | None:
        """The answer, if there is something new of a partition, or if the time is up: None."""
        if not self._node.share_sessions.is_open(self._session):
            return _session_ended()
        if led is None or self._request.min_bytes > 1:
            is_answered = self._read(is_last=led is None)
        else:
            _, topic_id, index = led.key
            self._read_some([((topic_id, index), led)])
            is_answered = bool(self._data)
        return self._respond() if is_answered else None

    def _is_throttled(self) -> bool:
        quota = self._context.quota
        return quota is not None and quota.is_fetch_throttled()

    def _when_stored(self) -> Outcome:
        settled = self._outcomes.settled(self._node.loop)
        if settled is None:
            return self._respond()
        answer: Future[ShareFetchResponse] = self._node.loop.create_future()

        def respond(_: object) -> None:
            if not answer.done():
                answer.set_result(self._respond())

        settled.add_done_callback(respond)
        return answer

    # -- records -----------------------------------------------------------------------------------

    def _places(self) -> list[Place]:
        """The partitions of the session, each time from another one on: none starves."""
        places = list(self._session.partitions)
        turn = self._session.epoch % len(places) if places else 0
        return places[turn:] + places[:turn]

    def _find(self, places: Iterable[Place]) -> None:
        node = self._node
        for place in places:
            partition = find_led(node, place, self._may_read)
            self._found[place] = (
                partition
                if isinstance(partition, ErrorCode)
                else node.share_partitions.find(self._session.group_id, partition)
            )

    def _read(self, *, is_last: bool) -> bool:
        """Acquire what there is. Whether the request can be answered."""
        min_bytes = self._request.min_bytes
        if not is_last and min_bytes > 1 and self._available() < min_bytes:
            self._note_errors(self._found.items())
        else:
            self._read_some(self._found.items())
        return is_last or bool(self._data)

    def _note_errors(self, some: Iterable[tuple[Place, LedSharePartition | ErrorCode]]) -> None:
        cut_off = self._node.lifecycle.is_cut_off
        for place, found in some:
            error = _error(found, cut_off=cut_off)
            if error:
                self._data[place] = PartitionData(place[1], error)

    def _read_some(self, some: Iterable[tuple[Place, LedSharePartition | ErrorCode]]) -> None:
        request, unread = self._request, self._node.connections.unread
        most_bytes = min(request.max_bytes, self._node.config.fetch.max_bytes, unread.room())
        cut_off = self._node.lifecycle.is_cut_off
        for place, found in some:
            error = _error(found, cut_off=cut_off)
            if error:
                self._data[place] = PartitionData(place[1], error)
            if isinstance(found, ErrorCode) or error or not found.state or self._left_records <= 0:
                continue
            wanted = Wanted(
                self._session.member_id,
                most_bytes - self._read_bytes,
                self._left_records,
                request.batch_size,
                request.share_acquire_mode == _RECORD_LIMIT,
            )
            min_one = not unread.is_exceeded and not self._read_bytes
            got = read_and_acquire(found, wanted, min_one=min_one)
            if isinstance(got, ErrorCode):
                self._data[place] = PartitionData(place[1], got, _MESSAGES.get(got))
            elif got.ranges:
                self._read_bytes += len(got.records)
                self._left_records -= sum(each.last - each.first + 1 for each in got.ranges)
                self._data[place] = PartitionData(
                    place[1],
                    records=got.records,
                    acquired_records=[AcquiredRecords(*each) for each in got.ranges],
                )
                found.wake()  # there may be more, for others that wait

    def _available(self) -> int:
        """Bytes that can be acquired, about."""
        available = 0
        for found in self._found.values():
            if isinstance(found, LedSharePartition) and found.error is None:
                available += found.available_bytes()
        return available

    # -- the answer --------------------------------------------------------------------------------

    def _respond(self) -> ShareFetchResponse:
        node = self._node
        leaders: set[int] = set()
        for place, refusal in self._outcomes.errors.items():
            data = self._data.setdefault(place, PartitionData(place[1]))
            data.acknowledge_error_code = refusal.error
            data.acknowledge_error_message = _message(refusal)
        for place, data in self._data.items():
            data.current_leader = _NO_LEADER
            if TELLS_LEADER & {data.error_code, data.acknowledge_error_code}:
                leader = leader_of(node, place)
                if leader is not None:
                    data.current_leader = LeaderIdAndEpoch(*leader)
                    leaders.add(leader[0])
        limits = node.share_partitions.settings.of(self._session.group_id).limits
        response = ShareFetchResponse(
            acquisition_lock_timeout_ms=limits.record_lock_duration_ms,
            responses=[
                ShareFetchableTopicResponse(topic_id, [data for _, data in together])
                for topic_id, together in groupby(
                    sorted(self._data.items(), key=lambda each: each[0]),
                    key=lambda each: each[0][0],
                )
            ],
        )
        for leader_id in sorted(leaders):
            address = node.cluster.endpoint_of(leader_id, self._context.connection)
            if address is not None:
                response.node_endpoints.append(NodeEndpoint(leader_id, address.host, address.port))
        return response


def _error(found: LedSharePartition | ErrorCode, *, cut_off: bool) -> ErrorCode | None:
    """Why nothing can be acquired. A node may have been cut off while a fetch waited: another one
    may lead by now, and may have accepted what is available here."""
    if isinstance(found, ErrorCode):
        return found
    return found.error or (ErrorCode.NOT_LEADER_OR_FOLLOWER if cut_off else None)


def _session_ended() -> ShareFetchResponse:
    """What the member held is released; more must not be locked for it."""
    return ShareFetchResponse(error_code=ErrorCode.SHARE_SESSION_NOT_FOUND)


def _message(refusal: Refusal) -> str | None:
    return refusal.message or None
