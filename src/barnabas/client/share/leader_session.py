"""The share session with one leader: one request at a time, a fetch or acknowledgements alone.

A leader counts the requests of a session, and refuses the answer to a fetch that another request
has overtaken; so an acknowledgement would wait behind a fetch that waits for records. Therefore:

- A fetch takes along what is to be acknowledged, and then does not wait for records.
- While records are held and no worker is idle, a fetch does not wait either; if it has found less
  than it asked for, the next one goes out with the next acknowledgement.
- With an idle worker, a fetch waits for up to a quarter of the time since the last acknowledgement:
  the answer to a job that took a second is at most so much late.
- While nothing is held, there is nothing to be acknowledged: it waits for `MAX_WAIT_MS`.

When the connection or the session is lost, the leader releases what was locked. Records that the
application does not have yet are dropped, and come again. For those that it has,
acknowledgements are still tried, until their locks expire: the leader decides.
"""

import asyncio
import logging
from typing import Protocol

from barnabas.client.connect.broker_errors import broker_error, check
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.connection_pool import Channel
from barnabas.client.connect.environment import RETRY
from barnabas.client.share.acknowledge_type import AcknowledgeType
from barnabas.client.share.acknowledgements import (
    PendingAcknowledgement,
    PendingAcknowledgements,
    TakenAcknowledgements,
)
from barnabas.client.share.share_requests import acknowledge_request, fetch_request
from barnabas.client.share.share_session import FINAL_EPOCH, SharePartition, ShareSession
from barnabas.errors import BarnabasError, BrokerError
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.share_acknowledge import (
    ShareAcknowledgeRequest,
    ShareAcknowledgeResponse,
)
from barnabas.wire.messages.share_fetch import PartitionData, ShareFetchRequest, ShareFetchResponse

MAX_WAIT_MS = 500
_log = logging.getLogger("barnabas.client")

_MIN_WAIT_MS = 5
_WAIT_SHARE = 0.25
_WAITS_PER_LOCK = 8  # renewals wait behind a fetch
_RENEWALS_SINCE = 2  # the version of ShareAcknowledge


class SessionOwner(Protocol):
    """What a session needs of its queue."""

    pending: PendingAcknowledgements

    @property
    def has_idle_workers(self) -> bool: ...

    def room(self, node_id: int) -> int: ...

    def refill_at(self) -> int:
        """How much room makes another fetch worth while."""

    def is_held(self, node_id: int) -> bool:
        """Whether records of this leader are to be acknowledged some time."""

    def leads(self, node_id: int, partition: SharePartition) -> bool: ...

    def acquired(
        self, session: "LeaderSession", partition: SharePartition, data: PartitionData
    ) -> int:
        """Take in what was locked, and say how many records that are."""

    def answered(
        self,
        session: "LeaderSession",
        partition: SharePartition,
        taken: list[PendingAcknowledgement],
        error: BrokerError | None,
    ) -> None: ...

    def unanswered(self, taken: TakenAcknowledgements) -> None: ...

    def unavailable(
        self, session: "LeaderSession", partitions: set[SharePartition], error: BarnabasError
    ) -> None: ...

    def session_lost(self, session: "LeaderSession") -> None: ...


class LeaderSession:
    """With one leader. `partitions` are those to fetch from; `wake` after any change."""

    def __init__(
        self,
        owner: SessionOwner,
        cluster: ClusterClient,
        node_id: int,
        group_id: str,
        member_id: str,
    ) -> None:
        self.node_id = node_id
        self.partitions: set[SharePartition] = set()
        self.lock_ms = 30_000
        self.asked_at = 0.0
        """When the last request was sent. Locks that its answer tells of began later, so what is
        counted from here on ends before the leader's own time is up, however late the answer is."""
        self.can_renew = False
        self.is_closing = False
        self._owner = owner
        self._cluster = cluster
        self._group_id = group_id
        self._member_id = member_id
        self._session = ShareSession()
        self._monotonic = cluster.environment.monotonic
        self._acknowledged_at = self._monotonic()
        self._is_dry = False
        """Whether the last fetch has found all there was, and nothing has changed since."""
        self._wake = asyncio.Event()
        self._idle = asyncio.Event()
        self._channel = Channel()

    def wake(self) -> None:
        """Something is to be fetched or acknowledged."""
        self._is_dry = False
        self._wake.set()

    async def run(self) -> None:
        """Keep the buffer filled, and acknowledge."""
        failures = 0
        while True:
            self._wake.clear()
            fetches, acknowledges = self._wants_fetch(), self._wants_to_acknowledge()
            if not fetches and not acknowledges:
                self._idle.set()
                await self._wake.wait()
                continue
            self._idle.clear()
            try:
                await (self._acknowledge() if acknowledges else self._fetch())
                failures = 0
            except BarnabasError as error:
                failures += 1
                self._lose(error)
                await asyncio.sleep(RETRY.pause(failures, self._cluster.environment.random))

    # -- fetching ------------------------------------------------------------------------------

    def _wants_fetch(self) -> bool:
        if not self._session.is_open and self._has_pending():
            return True
        if self.is_closing or not self.partitions or self._is_dry:
            return False
        return self._owner.room(self.node_id) >= self._owner.refill_at()

    def _wants_to_acknowledge(self) -> bool:
        """Whether something is to be acknowledged that no fetch takes along."""
        if not self._session.is_open or not self._has_pending():
            return False
        return not self._wants_fetch() or self._owner.pending.has_renewals(self._leads)

    def _max_wait_ms(self) -> int:
        longest_ms = min(MAX_WAIT_MS, self.lock_ms // _WAITS_PER_LOCK)
        if not self._owner.is_held(self.node_id):
            return longest_ms
        if not self._owner.has_idle_workers:
            return 0
        since_ms = (self._monotonic() - self._acknowledged_at) * 1000
        return round(min(longest_ms, max(_MIN_WAIT_MS, since_ms * _WAIT_SHARE)))

    async def _fetch(self) -> None:
        connection = await self._cluster.connection(self.node_id, self._channel)
        self.can_renew = connection.version_for(ShareFetchRequest) >= _RENEWALS_SINCE
        opens = not self._session.is_open
        wanted = self.partitions or self._pending_partitions()
        taken: TakenAcknowledgements = {}
        if not opens:
            taken = self._owner.pending.take(self._leads, renewals=False)
        step = self._session.next_fetch(wanted)
        waits = not taken and not (opens and self._has_pending())
        request = fetch_request(
            self._group_id,
            self._member_id,
            step,
            taken,
            max_records=max(1, self._owner.room(self.node_id)),
            max_wait_ms=self._max_wait_ms() if waits else 0,
        )
        timeout_ms = self._cluster.request_timeout_ms + request.max_wait_ms
        self.asked_at = self._monotonic()
        try:
            response = await self._cluster.while_leading(
                self.node_id,
                {each.name for each in (*wanted, *taken)},
                connection.send(request, timeout_ms=timeout_ms),
                patience_ms=request.max_wait_ms,
            )
            what = f"group {self._group_id}"
            check(response.error_code, what, response.error_message, needs="read")
        except BaseException:
            self._owner.unanswered(taken)
            raise
        if taken:
            self._acknowledged_at = self._monotonic()
        self.lock_ms = response.acquisition_lock_timeout_ms or self.lock_ms
        found = self._handle(response, {*wanted, *taken}, taken)
        # Less than was asked for: there is no more now, and nobody waits for it.
        self._is_dry = found < request.max_records and not self._max_wait_ms()

    def _handle(
        self,
        response: ShareFetchResponse,
        asked: set[SharePartition],
        taken: TakenAcknowledgements,
    ) -> int:
        """Take in an answer; how many records were in it."""
        found = 0
        by_id = {(each.topic_id, each.partition): each for each in asked}
        for topic in response.responses:
            for data in topic.partitions:
                partition = by_id.get((topic.topic_id, data.partition_index))
                if partition is None:
                    continue
                if partition in taken and (data.acknowledge_error_code or not data.error_code):
                    self._answered(
                        partition,
                        taken.pop(partition),
                        data.acknowledge_error_code,
                        data.acknowledge_error_message,
                    )
                if data.error_code:
                    error = broker_error(
                        data.error_code, f"partition {partition}", data.error_message, needs="read"
                    )
                    self._owner.unavailable(self, {partition}, error)
                elif data.acquired_records:
                    found += self._owner.acquired(self, partition, data)
        self._owner.unanswered(taken)
        return found

    # -- acknowledging -------------------------------------------------------------------------

    async def _acknowledge(self) -> None:
        taken = self._owner.pending.take(self._leads, renewals=True)
        if not taken:
            return
        try:
            response = await self._send_acknowledgements(self._session.next_acknowledge(), taken)
            what = f"group {self._group_id}"
            check(response.error_code, what, response.error_message, needs="read")
        except BaseException:
            self._owner.unanswered(taken)
            raise
        self._acknowledged_at = self._monotonic()
        self._tell(response, taken)

    async def _send_acknowledgements(
        self, epoch: int, taken: TakenAcknowledgements
    ) -> ShareAcknowledgeResponse:
        connection = await self._cluster.connection(self.node_id, self._channel)
        if connection.version_for(ShareAcknowledgeRequest) < _RENEWALS_SINCE:
            self._refuse_renewals(taken)
        request = acknowledge_request(self._group_id, self._member_id, epoch, taken)
        self.asked_at = self._monotonic()
        return await self._cluster.while_leading(
            self.node_id, {each.name for each in taken}, connection.send(request)
        )

    def _refuse_renewals(self, taken: TakenAcknowledgements) -> None:
        for partition, all_of in taken.items():
            renewals = [each for each in all_of if each.kind is AcknowledgeType.RENEW]
            taken[partition] = [each for each in all_of if each.kind is not AcknowledgeType.RENEW]
            error = broker_error(ErrorCode.UNSUPPORTED_VERSION, "renewing a lock")
            self._owner.answered(self, partition, renewals, error)

    def _tell(self, response: ShareAcknowledgeResponse, taken: TakenAcknowledgements) -> None:
        by_id = {(each.topic_id, each.partition): each for each in taken}
        for topic in response.responses:
            for data in topic.partitions:
                partition = by_id.get((topic.topic_id, data.partition_index))
                if partition in taken:
                    self._answered(
                        partition, taken.pop(partition), data.error_code, data.error_message
                    )
        self._owner.unanswered(taken)

    def _answered(
        self,
        partition: SharePartition,
        taken: list[PendingAcknowledgement],
        code: int,
        message: str | None,
    ) -> None:
        what = f"partition {partition}"
        error = broker_error(code, what, message, needs="read") if code else None
        self._owner.answered(self, partition, taken, error)
        if error is not None and error.retriable:
            self._owner.unavailable(self, {partition}, error)

    # -- the end -------------------------------------------------------------------------------

    async def finish(self) -> None:
        """Close the session, once no request is under way; the leader releases what is locked."""
        await self._idle.wait()
        if self._session.is_open:
            connection = await self._cluster.connection(self.node_id, self._channel)
            await connection.send(
                acknowledge_request(self._group_id, self._member_id, FINAL_EPOCH, {})
            )

    async def close(self) -> None:
        """Close the connection."""
        await self._cluster.close_channel(self._channel)

    def _lose(self, error: BarnabasError) -> None:
        _log.info("the share session with broker %d is lost: %s", self.node_id, error)
        self._session.reset()
        self._owner.session_lost(self)
        self._owner.unavailable(self, {*self.partitions, *self._pending_partitions()}, error)

    def _leads(self, partition: SharePartition) -> bool:
        return self._owner.leads(self.node_id, partition)

    def _pending_partitions(self) -> set[SharePartition]:
        return {each for each in self._owner.pending.partitions() if self._leads(each)}

    def _has_pending(self) -> bool:
        return any(self._leads(each) for each in self._owner.pending.partitions())
