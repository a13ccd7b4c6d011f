"""This node's membership: registration with the controller, heartbeats, and controlled shutdown.

The node sends one request after the other to the current controller, and retries each until it is
answered. Without an answer for the session timeout the node is cut off: it keeps retrying, but does
not act as a leader meanwhile.
"""

import logging
from asyncio import AbstractEventLoop, Event, Task, timeout
from collections.abc import Awaitable, Callable
from contextlib import suppress

from barnabas.broker.control.controller_calls import ControllerCalls, ControllerUnavailable
from barnabas.broker.control.disk_trust import UNKNOWN_EPOCH, DiskTrust
from barnabas.broker.quorum.voter_probe import VoterProbe
from barnabas.broker.runtime.clock import Clock
from barnabas.controller.registrations import unvouched
from barnabas.log import StorageError
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.broker_heartbeat import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
)
from barnabas.wire.messages.broker_registration import BrokerRegistrationRequest

logger = logging.getLogger(__name__)

LANE = "heartbeat"
_NOTHING = -1
_RETRY_S = 0.1
_LEAVING_TIMEOUT_MS = 1_000
"""How long a node that shuts down looks for a controller."""
_REGISTER_TIMEOUT_MS = 5_000
"""The interval at which the log repeats what the node is waiting for."""
_REMIND_S = 30.0
_FOREIGN_PROBES_ENOUGH = 3
"""How often in a row all other voters must have been found in another cluster to give up."""

_REFUSALS = {
    ErrorCode.DUPLICATE_BROKER_REGISTRATION: "another node runs under this id, with other data "
    "or a copy of this; stop that one, or give this one another --id",
    ErrorCode.INCONSISTENT_CLUSTER_ID: "the voters belong to another cluster than this node's "
    "data: check --data and --voters",
    ErrorCode.UNSUPPORTED_VERSION: "this release does not support the levels of features that the "
    "cluster has; install the release that the other nodes run",
}


class BrokerLifecycle:
    """Keeps this node registered. `epoch` is -1 until it is."""

    def __init__(
        self,
        loop: AbstractEventLoop,
        clock: Clock,
        calls: ControllerCalls,
        trust: DiskTrust,
        *,
        node_id: int,
        registration: Callable[[int], BrokerRegistrationRequest],
        metadata_offset: Callable[[], int],
        is_settled: Callable[[], bool],
        may_vouch: Callable[[], bool],
        heartbeat_interval_ms: int,
        session_timeout_ms: int,
        disconnect_grace_ms: int,
        on_cut_off: Callable[[], None],
        on_failure: Callable[[str], None],
        probe_voters: Callable[[], Awaitable[VoterProbe]],
        lacks_decisions: Callable[[], bool] = lambda: False,
    ) -> None:
        """`registration` makes the request, given the epoch that the disk is of.

        The controller fences a node that it does not hear of for `session_timeout_ms`, or for
        `disconnect_grace_ms` once the connection has broken.

        `is_settled` once all partitions are open, and the controller knows which of them have lost
        something; `may_vouch`, unless some could not even be opened, or the disk refuses to keep
        what they may have lost.

        `on_cut_off` is called when no controller has answered for the session timeout, and
        `on_failure` when heartbeats end because of a bug, or all other nodes belong to another
        cluster: then the node must end too. `probe_voters` asks the voters why there is no
        controller. `lacks_decisions` while a full disk has kept decisions from this node.
        """
        self._loop = loop
        self._clock = clock
        self._calls = calls
        self._trust = trust
        self._node_id = node_id
        self._registration = registration
        self._metadata_offset = metadata_offset
        self._is_settled = is_settled
        self._may_vouch = may_vouch
        self._interval_s = heartbeat_interval_ms / 1000
        self._session_timeout_ms = session_timeout_ms
        self._disconnect_grace_ms = disconnect_grace_ms
        self._on_cut_off = on_cut_off
        self._on_failure = on_failure
        self._probe_voters = probe_voters
        self._lacks_decisions = lacks_decisions
        self._explaining: Task[None] | None = None
        self._foreign_probes = 0
        self._refused = ErrorCode.NONE
        self._refused_at = 0.0
        self._heard_of_ms = clock.steady_ms()
        self._lost_ms: int | None = None
        """When the connection to the controller broke; reset once the reason is known."""
        self.clock_lead_ms: int | None = None
        """How far this node's clock is ahead of the slowest one of all nodes; None if no controller
        has told it."""
        self.is_directory_new = False
        """Whether this node started without any data."""
        self._previous_epoch = UNKNOWN_EPOCH
        self.is_sure = False
        """Whether the disk still has everything it had when this node last used it, or the
        controller knows what may have been lost."""
        self._counts = False
        """Whether the controller knows everything that this node may have lost."""
        self._task: Task[None] | None = None
        self._wake = Event()
        self.is_leaving = False
        self.epoch = UNKNOWN_EPOCH
        self.is_fenced = True
        self.unfenced = Event()
        self.may_leave = Event()
        """Set when the controller has moved all leadership off this node."""

    @property
    def is_cut_off(self) -> bool:
        """Whether other nodes may by now lead partitions that this node believes it leads.

        The controller fences a node without a heartbeat for the session timeout. The session began
        when the last answered heartbeat was sent, or later. A fenced node leads nothing, though it
        may still have to learn from the metadata which nodes do.
        """
        now_ms = self._clock.steady_ms()
        return (
            self.is_fenced
            or self._lacks_decisions()
            or now_ms - self._heard_of_ms > self._session_timeout_ms
            or (self._lost_ms is not None and now_ms - self._lost_ms > self._disconnect_grace_ms)
        )

    def lost_contact(self) -> None:
        """The controller's node has closed a connection: it may fence this node much sooner."""
        if self._lost_ms is None:
            self._lost_ms = self._clock.steady_ms()
        self.wake()

    def controller_is_gone(self) -> None:
        """The controller itself ended, or another node is it now, which waits for the session
        timeout."""
        self._lost_ms = None

    def start(self) -> None:
        """Start to register. Raises `StorageError`."""
        self.is_directory_new = self._trust.is_directory_new
        self._previous_epoch, self.is_sure = self._trust.read()
        self._task = self._loop.create_task(self._run())
        self._task.add_done_callback(self._ended)

    def _ended(self, task: "Task[None]") -> None:
        if not task.cancelled():
            logger.critical("the task that sends heartbeats has ended", exc_info=task.exception())
            self.may_leave.set()
            self._on_failure("the task that sends heartbeats has ended")

    def wake(self) -> None:
        """Send a heartbeat now: there may be a new controller, or news for it."""
        self._wake.set()

    async def leave(self, max_wait_ms: int) -> None:
        """Ask the controller to move leadership off this node, if there is time for it."""
        self.is_leaving = True
        self.wake()
        try:
            async with timeout(max_wait_ms / 1000):
                await self.may_leave.wait()
        except TimeoutError:
            logger.warning("leaving although the controller has not moved the leaders away")

    async def stop(self) -> None:
        for task in (self._task, self._explaining):
            if task is not None:
                task.cancel()

    def closed_well(self) -> None:
        """Record a clean shutdown: everything is synced. Raises `StorageError`."""
        if self.epoch != UNKNOWN_EPOCH and self.is_sure:
            self._trust.stopped(self.epoch)

    # -- the loop --------------------------------------------------------------------------------

    async def _run(self) -> None:
        while True:
            self._wake.clear()
            try:
                pause = await (
                    self._register() if self.epoch == UNKNOWN_EPOCH else self._heartbeat()
                )
            except ControllerUnavailable:
                pause = _RETRY_S
                if self.is_cut_off:
                    self._on_cut_off()
                if self.is_leaving:  # there is no controller to hand leadership over
                    self.may_leave.set()
            except StorageError as error:  # a full disk, most likely: it stays fenced
                logger.error("this node can't take part: %s", error)
                pause = 1.0
            await self._pause(pause)

    async def _pause(self, seconds: float) -> None:
        # Before Python 3.12 `wait_for` may swallow the cancellation that ends this loop.
        with suppress(TimeoutError):
            async with timeout(seconds):
                await self._wake.wait()

    async def _register(self) -> float:
        previous = self._previous_epoch
        if previous != UNKNOWN_EPOCH and not self.is_sure:
            previous = unvouched(previous)
        request = self._registration(previous)
        try:
            response = await self._calls.call(request, timeout_ms=_REGISTER_TIMEOUT_MS, lane=LANE)
        except ControllerUnavailable as error:
            if self._explaining is None or self._explaining.done():
                # This is not awaited: meanwhile there may be a controller.
                self._explaining = self._loop.create_task(self._explain(str(error)))
            raise
        if response.error_code:
            self._say_refused(ErrorCode(response.error_code))
            return _RETRY_S * 5
        self._refused = ErrorCode.NONE
        # Before anything is written under this epoch.
        self._trust.registered(response.broker_epoch, is_sure=self.is_sure)
        self.epoch = self._previous_epoch = response.broker_epoch
        logger.info("registered with epoch %d", self.epoch)
        return 0

    async def _explain(self, error: str) -> None:
        probe = await self._probe_voters()
        if self.epoch != UNKNOWN_EPOCH:
            return
        logger.warning("waiting to be registered: %s; %s", error, probe)
        self._foreign_probes += 1
        if not probe.is_in_another_cluster:
            self._foreign_probes = 0
        elif self._foreign_probes == _FOREIGN_PROBES_ENOUGH:
            self._on_failure(str(probe))

    def _say_refused(self, error: ErrorCode) -> None:
        if error != self._refused or self._loop.time() > self._refused_at + _REMIND_S:
            self._refused, self._refused_at = error, self._loop.time()
            why = _REFUSALS.get(error, error.name)
            logger.warning("the controller does not register this node: %s", why)

    def _known_offset(self) -> int:
        """The metadata offset that this node reports as applied, which lets the controller unfence
        it.

        It is unfenced when all its partitions are open, and the controller has removed those that
        have lost records from the in-sync sets. Then the disk counts as complete again. Raises
        `StorageError`.
        """
        if not self._counts:
            if not self._is_settled():
                return _NOTHING
            self._counts = True
        if not self.is_sure and self._may_vouch():
            self._trust.registered(self.epoch)
            self.is_sure = True
        return self._metadata_offset()

    @property
    def is_disk_known(self) -> bool:
        """Whether the data from before this node's start is no longer suspect."""
        return self.is_sure or self._counts

    async def _heartbeat(self) -> float:
        request = BrokerHeartbeatRequest(
            self._node_id,
            self.epoch,
            self._known_offset(),
            False,
            self.is_leaving,
            clock_ms=self._clock.steady_ms(),
        )
        timeout_ms = _LEAVING_TIMEOUT_MS if self.is_leaving else self._session_timeout_ms
        sent_ms = self._clock.steady_ms()
        response = await self._calls.call(request, timeout_ms=timeout_ms, lane=LANE)
        self._heard_of_ms = sent_ms
        self._lost_ms = None
        return self._heard(response)

    def _heard(self, response: BrokerHeartbeatResponse) -> float:
        if response.error_code:
            error = ErrorCode(response.error_code)
            if error in (ErrorCode.STALE_BROKER_EPOCH, ErrorCode.BROKER_ID_NOT_REGISTERED):
                logger.warning("registering again: %s", error.name)
                self.epoch = UNKNOWN_EPOCH
                self.is_fenced = True
                self.unfenced.clear()
            return _RETRY_S
        if response.slowest_clock_ms >= 0:
            self.clock_lead_ms = max(0, self._clock.steady_ms() - response.slowest_clock_ms)
        if response.is_fenced != self.is_fenced:
            done = "fenced" if response.is_fenced else "unfenced"
            logger.info("the controller has %s this node", done)
        self.is_fenced = response.is_fenced
        if not response.is_fenced:
            self.unfenced.set()
        if response.should_shut_down:
            self.may_leave.set()
        # A node that waits to be unfenced, or to shut down, sends heartbeats more often.
        return self._interval_s if not (self.is_fenced or self.is_leaving) else 0.02
