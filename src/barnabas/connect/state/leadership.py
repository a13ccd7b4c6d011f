"""Leadership: one instance writes the state and runs connectors, and a dead one is replaced.

The leader is the last one that has opened the service's transactional id. Opening it fences the
one before for good: whatever that still writes, heartbeats included, is refused by the brokers. So
no clock decides who may write the state. Clocks decide only when to try: an instance that has seen
no heartbeat for `takeover_s` takes over, and the drivers of a leader stop by themselves `lease_s`
after the last acknowledged one. Each machine measures these with its own clock (`lease_clock`), so
clocks need not agree.

Two instances may try at the same time. The second one fences a leader whose drivers run: it leads,
and runs nothing until their lease has ended.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from barnabas.aio.producer import Producer
from barnabas.connect.lease_clock import lease_time
from barnabas.connect.settings import ServiceSettings
from barnabas.connect.state.records import LEADER, Leader
from barnabas.connect.state.state_topics import StateTopics
from barnabas.errors import (
    BarnabasError,
    BrokerError,
    ErrorCode,
    ProducerFenced,
    TransactionAborted,
)

_log = logging.getLogger("barnabas.connect")
_LOOK_S = 0.1
_RETRY_S = 1.0
_DELIVERY_MS = 10_000
_Record = tuple[str, str, Mapping[str, Any] | None]
"""Topic, key and value."""
_FENCED = (ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH)


class NotLeader(BarnabasError):  # noqa: N818 - its name says what is wrong
    """Another instance leads, or none does yet."""


class Leadership:
    """Takes part in the choice of the leader, and writes while this instance is the one."""

    def __init__(
        self,
        settings: ServiceSettings,
        topics: StateTopics,
        worker_id: str,
        url: str,
        on_lease: Callable[[float], Awaitable[None]],
    ) -> None:
        """`on_lease` is told until when this instance leads, by `lease_time`."""
        self._settings = settings
        self._timing = settings.timing
        self._topics = topics
        self._worker_id = worker_id
        self.url = url
        """Under which other instances reach this one."""
        self._on_lease = on_lease
        self._producer: Producer | None = None
        """Only while the state is read as far as it was written: after any doubt there is none."""
        self._writing = asyncio.Lock()
        self._epoch = 0
        self._beat = 0
        self._resigns = False

    @property
    def is_leader(self) -> bool:
        return self._producer is not None

    async def run(self, lead: Callable[[], Awaitable[None]]) -> None:
        """Stand by, and lead when it is time; `lead` runs meanwhile and is cancelled in the end."""
        while not self._resigns:
            if not await self._has_to_lead():
                return
            gone = self._topics.leader
            try:
                await self._topics.catch_up()  # what is known here may be old on a busy machine
                if self._topics.leader == gone:
                    await self._lead(gone, lead)
            except ProducerFenced:
                _log.info("another instance leads now")
            except BarnabasError as error:
                _log.warning("leadership lost: %s", error)
                await asyncio.sleep(_RETRY_S)

    async def write(self, records: Mapping[str, Mapping[str, Any] | None], topic: str) -> None:
        """Write records in one transaction, and wait until they can be read here.

        If they can't, this instance leads no longer: requests would be decided by a state that
        lacks them. It leads again once it has read everything.
        """
        producer = self._producer
        await self._send([(topic, key, value) for key, value in records.items()])
        try:
            await self._topics.catch_up()
        except BaseException as error:
            if self._producer is producer:
                self._producer = None
                if isinstance(error, Exception):  # else it resigns
                    _log.warning("leadership given up, the state can't be read: %s", error)
            raise

    def resign(self) -> None:
        """Stop leading, and tell the others that they need not wait; then `run` returns."""
        self._resigns = True

    async def _has_to_lead(self) -> bool:
        """Wait until there is no leader, or none that is heard of; False if it resigns."""
        last, seen = self._topics.leader, lease_time()
        while not self._resigns:
            leader = self._topics.leader
            if leader != last:
                last, seen = leader, lease_time()
            if leader is None or leader.resigned:
                return True
            if lease_time() - seen > self._timing.takeover_s:
                _log.info("no heartbeat of %s: taking over", leader.worker_id)
                return True
            await asyncio.sleep(_LOOK_S)
        return False

    async def _lead(self, gone: Leader | None, lead: Callable[[], Awaitable[None]]) -> None:
        """Lead instead of one that is gone, until this instance resigns or is fenced."""
        producer = Producer(
            self._settings.bootstrap,
            transactional_id=f"{self._settings.group}-leader",
            transaction_timeout_ms=_DELIVERY_MS,
            delivery_timeout_ms=_DELIVERY_MS,
            request_timeout_ms=_DELIVERY_MS // 2,
            linger_ms=0,
            key_format="str",
            value_format="json",
            auto_create=False,
            security=self._settings.security,
        )
        async with producer:
            await self._topics.catch_up()  # all that was written before the fence
            former = self._topics.leader
            self._epoch = 1 if former is None else former.epoch + 1
            self._producer = producer
            try:
                await self._heartbeat()
                _log.info("%s leads, epoch %d", self._worker_id, self._epoch)
                pause_s = 0.0 if _has_stopped(former, gone) else self._timing.takeover_s
                leading = asyncio.ensure_future(_after(pause_s, lead))
                try:
                    await self._beat_until(leading)
                finally:
                    leading.cancel()
                    await asyncio.gather(leading, return_exceptions=True)
                if self._resigns:  # also if a write that was cancelled has given leadership up
                    await self._send([self._next_beat(resigned=True)], producer)
            finally:
                self._producer = None

    async def _beat_until(self, leading: "asyncio.Future[None]") -> None:
        while not self._resigns:
            await asyncio.wait([leading], timeout=self._timing.heartbeat_s)
            if leading.done():
                await leading  # which raises what it has failed of
                return
            await self._heartbeat()

    async def _heartbeat(self) -> None:
        began = lease_time()
        await self._send([self._next_beat(resigned=False)])
        await self._on_lease(began + self._timing.lease_s)

    def _next_beat(self, *, resigned: bool) -> _Record:
        """`resigned` once the drivers have stopped: others run theirs as soon as they read it."""
        self._beat += 1
        leader = Leader(self._worker_id, self.url, self._epoch, self._beat, resigned)
        return self._settings.status_topic, LEADER, leader.__dict__

    async def _send(self, records: list[_Record], producer: Producer | None = None) -> None:
        async with self._writing:
            producer = producer or self._producer
            if producer is None:
                raise NotLeader("this instance does not lead: send the request again")
            try:
                async with producer.transaction():
                    for topic, key, value in records:
                        await producer.send(topic, value, key)
            except (BrokerError, TransactionAborted) as error:
                # The leader of the partition may refuse a fenced producer before its coordinator.
                reason = error.__cause__ if isinstance(error, TransactionAborted) else error
                if isinstance(reason, BrokerError) and reason.code in _FENCED:
                    raise ProducerFenced.of(f"{self._settings.group}-leader") from error
                raise


def _has_stopped(former: Leader | None, gone: Leader | None) -> bool:
    """Whether the drivers of the leader before have stopped, as far as it can be known."""
    return former is None or former.resigned or former == gone


async def _after(pause_s: float, lead: Callable[[], Awaitable[None]]) -> None:
    await asyncio.sleep(pause_s)
    await lead()
