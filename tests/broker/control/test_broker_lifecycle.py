"""A node's membership: it registers, stays, is shut out, comes back and leaves."""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from barnabas.broker.control.broker_lifecycle import BrokerLifecycle
from barnabas.broker.control.controller_calls import ControllerUnavailable
from barnabas.broker.control.disk_trust import UNKNOWN_EPOCH, DiskTrust
from barnabas.broker.node import Node
from barnabas.broker.quorum import Quorum
from barnabas.broker.quorum.voter_probe import Answer, VoterProbe
from barnabas.log import OsDisk, StorageError
from barnabas.raft import ReplicaKey
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from barnabas.wire.messages.broker_registration import (
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)
from tests.support.wait import wait_until_async

SESSION_MS = 3_000
GRACE_MS = 100


class FakeClock:
    now = 0

    def steady_ms(self) -> int:
        return self.now


class Stage:
    """A lifecycle, and a controller that answers as the test says."""

    def __init__(self, path: Path) -> None:
        self.clock = FakeClock()
        self.registrations: list[int] = []
        self.heartbeats: list[BrokerHeartbeatRequest] = []
        self.epochs = iter(range(10, 100))
        self.refusal = ErrorCode.NONE
        self.unavailable: Exception | None = None
        self.beat = BrokerHeartbeatResponse(is_caught_up=True, is_fenced=False)
        self.foreign = False
        self.cut_off = 0
        self.failures: list[str] = []
        self.trust = DiskTrust(OsDisk(), str(path), "boot")
        self.in_step = True
        self.may_vouch = True
        self.lacks_decisions = False
        self.lifecycle = self.new()

    def new(self) -> BrokerLifecycle:
        return BrokerLifecycle(
            asyncio.get_running_loop(),
            self.clock,  # type: ignore[arg-type]
            self,  # type: ignore[arg-type]
            self.trust,
            node_id=1,
            registration=lambda epoch: BrokerRegistrationRequest(1, previous_broker_epoch=epoch),
            metadata_offset=lambda: 42,
            is_settled=lambda: self.in_step,
            may_vouch=lambda: self.may_vouch,
            heartbeat_interval_ms=10,
            session_timeout_ms=SESSION_MS,
            disconnect_grace_ms=GRACE_MS,
            on_cut_off=self._cut_off,
            on_failure=self.failures.append,
            probe_voters=self.probe_voters,
            lacks_decisions=lambda: self.lacks_decisions,
        )

    async def probe_voters(self) -> VoterProbe:
        foreign = {2: Answer(ReplicaKey(2, b"2"), "other")} if self.foreign else {}
        return VoterProbe(Answer(ReplicaKey(1, b"1"), "own"), {2: "host:9092"}, foreign)

    def _cut_off(self) -> None:
        self.cut_off += 1

    async def call(self, request: Any, *, timeout_ms: int, lane: str) -> Any:
        await asyncio.sleep(0)
        if self.unavailable is not None:
            raise self.unavailable
        if isinstance(request, BrokerRegistrationRequest):
            self.registrations.append(request.previous_broker_epoch)
            if self.refusal:
                return BrokerRegistrationResponse(error_code=self.refusal)
            return BrokerRegistrationResponse(broker_epoch=next(self.epochs))
        self.heartbeats.append(request)
        return self.beat

    async def started(self) -> BrokerLifecycle:
        self.lifecycle.start()
        await wait_until_async(self.lifecycle.unfenced.is_set)
        return self.lifecycle


def play(path: Path, scenario: Callable[[Stage], Coroutine[Any, Any, None]]) -> None:
    async def run() -> None:
        stage = Stage(path)
        await scenario(stage)
        await stage.lifecycle.stop()

    asyncio.run(run())


def test_it_registers_and_goes_on(tmp_path: Path) -> None:
    async def scenario(stage: Stage) -> None:
        assert stage.lifecycle.epoch == UNKNOWN_EPOCH
        lifecycle = await stage.started()
        assert (lifecycle.epoch, lifecycle.is_fenced) == (10, False)
        assert stage.registrations == [UNKNOWN_EPOCH], "a new disk vouches for nothing"
        await wait_until_async(lambda: len(stage.heartbeats) > 3)
        heartbeat = stage.heartbeats[-1]
        assert (heartbeat.broker_id, heartbeat.broker_epoch) == (1, 10)
        assert heartbeat.current_metadata_offset == 42
        assert stage.trust.read() == (10, True), "written before the first record is"
        assert not stage.failures

    play(tmp_path, scenario)


def test_a_disk_is_sure_when_what_is_suspect_is_dealt_with(tmp_path: Path) -> None:
    async def scenario(stage: Stage) -> None:
        stage.in_step = False
        stage.lifecycle.start()
        await wait_until_async(lambda: len(stage.heartbeats) > 2)
        assert stage.heartbeats[-1].current_metadata_offset == -1, "so that it is not let in"
        assert stage.trust.read() == (10, False), "should it be killed now"
        stage.in_step, stage.may_vouch = True, False
        await wait_until_async(lambda: stage.heartbeats[-1].current_metadata_offset == 42)
        assert stage.trust.read() == (10, False), "one could not be opened"
        stage.may_vouch = True
        await wait_until_async(lambda: stage.trust.read() == (10, True))

    play(tmp_path, scenario)


def test_it_is_ready_when_it_is_let_in(tmp_path: Path) -> None:
    async def scenario(stage: Stage) -> None:
        stage.beat = BrokerHeartbeatResponse(is_fenced=True)
        stage.lifecycle.start()
        await wait_until_async(lambda: len(stage.heartbeats) > 2)
        assert not stage.lifecycle.unfenced.is_set()
        stage.beat = BrokerHeartbeatResponse(is_fenced=False)
        await wait_until_async(stage.lifecycle.unfenced.is_set)

    play(tmp_path, scenario)


@pytest.mark.parametrize(
    "error", [ErrorCode.STALE_BROKER_EPOCH, ErrorCode.BROKER_ID_NOT_REGISTERED]
)
def test_who_is_not_known_any_more_registers_again(tmp_path: Path, error: ErrorCode) -> None:
    async def scenario(stage: Stage) -> None:
        lifecycle = await stage.started()
        stage.beat = BrokerHeartbeatResponse(error_code=error)
        await wait_until_async(lambda: not lifecycle.unfenced.is_set())
        assert lifecycle.is_fenced
        stage.beat = BrokerHeartbeatResponse(is_fenced=False)
        await wait_until_async(lifecycle.unfenced.is_set)
        assert lifecycle.epoch > 10
        # Its process has not ended: it has all that it had.
        assert stage.registrations[:2] == [UNKNOWN_EPOCH, 10]

    play(tmp_path, scenario)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ErrorCode.DUPLICATE_BROKER_REGISTRATION, "give this one another --id"),
        (ErrorCode.INCONSISTENT_CLUSTER_ID, "belong to another cluster"),
        (ErrorCode.INVALID_REGISTRATION, "INVALID_REGISTRATION"),
    ],
)
def test_a_refusal_is_explained_once_and_not_final(
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    error: ErrorCode,
    said: str,
) -> None:
    monkeypatch.setattr("barnabas.broker.control.broker_lifecycle._RETRY_S", 0.001)

    async def scenario(stage: Stage) -> None:
        stage.refusal = error
        stage.lifecycle.start()
        await wait_until_async(lambda: len(stage.registrations) > 3)
        stage.refusal = ErrorCode.NONE
        await wait_until_async(stage.lifecycle.unfenced.is_set)

    play(tmp_path, scenario)
    warnings = [r.getMessage() for r in caplog.records if r.levelname == "WARNING"]
    assert len(warnings) == 1
    assert said in warnings[0]


def test_without_a_controller_it_says_whom_it_waits_for(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(stage: Stage) -> None:
        stage.unavailable = ControllerUnavailable("no controller")
        stage.lifecycle.start()
        await wait_until_async(lambda: caplog.records)
        assert "no controller; waiting for node 2 (host:9092)" in caplog.records[0].getMessage()
        stage.unavailable = None
        await wait_until_async(stage.lifecycle.unfenced.is_set)

    play(tmp_path, scenario)


def test_a_node_of_another_cluster_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("barnabas.broker.control.broker_lifecycle._RETRY_S", 0.001)

    async def scenario(stage: Stage) -> None:
        stage.unavailable = ControllerUnavailable("no controller")
        stage.lifecycle.start()
        await asyncio.sleep(0.03)
        assert not stage.failures, "who waits for others does not give up"
        stage.foreign = True
        await wait_until_async(lambda: stage.failures)
        await asyncio.sleep(0.03)
        (failure,) = stage.failures
        assert failure.startswith("node 2 (host:9092) belongs to another cluster")
        assert failure.endswith("check --data and --voters")

    play(tmp_path, scenario)


def test_a_node_that_hears_nothing_for_a_session_is_cut_off(tmp_path: Path) -> None:
    async def scenario(stage: Stage) -> None:
        lifecycle = await stage.started()
        stage.unavailable = ControllerUnavailable("no controller")
        stage.clock.now += SESSION_MS
        await asyncio.sleep(0.03)
        assert not lifecycle.is_cut_off
        assert stage.cut_off == 0
        stage.clock.now += 1
        assert lifecycle.is_cut_off
        lifecycle.wake()
        await wait_until_async(lambda: stage.cut_off)
        stage.unavailable = None
        lifecycle.wake()
        await wait_until_async(lambda: not lifecycle.is_cut_off)

    play(tmp_path, scenario)


def test_a_node_that_lacks_decisions_answers_for_no_partition(tmp_path: Path) -> None:
    """Others may lead what it led: it would show offsets that were committed before."""

    async def scenario(stage: Stage) -> None:
        lifecycle = await stage.started()
        assert not lifecycle.is_cut_off
        stage.lacks_decisions = True
        assert lifecycle.is_cut_off, "although the controller answers its heartbeats"
        stage.lacks_decisions = False
        assert not lifecycle.is_cut_off

    play(tmp_path, scenario)


def test_a_node_knows_how_far_its_clock_is_ahead_of_the_slowest(tmp_path: Path) -> None:
    """Also that of the controller, which stamps the metadata log, and of the only voter."""

    async def scenario(stage: Stage) -> None:
        stage.clock.now = 50_000
        lifecycle = await stage.started()
        assert lifecycle.clock_lead_ms is None, "the controller is of an earlier release"
        assert stage.heartbeats[-1].clock_ms == 50_000
        stage.beat = BrokerHeartbeatResponse(is_fenced=False, slowest_clock_ms=20_000)
        await wait_until_async(lambda: lifecycle.clock_lead_ms == 30_000)
        stage.beat = BrokerHeartbeatResponse(is_fenced=False, slowest_clock_ms=50_001)
        await wait_until_async(lambda: lifecycle.clock_lead_ms == 0)
        stage.beat = BrokerHeartbeatResponse(error_code=ErrorCode.NOT_CONTROLLER)
        beats = len(stage.heartbeats)
        await wait_until_async(lambda: len(stage.heartbeats) > beats + 1)
        assert lifecycle.clock_lead_ms == 0
        stage.beat = BrokerHeartbeatResponse(is_fenced=False, slowest_clock_ms=0)
        await wait_until_async(lambda: lifecycle.clock_lead_ms == 50_000)

    play(tmp_path, scenario)


def test_a_full_disk_that_keeps_decisions_from_a_node_cuts_it_off(
    local_node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not local_node.lifecycle.is_cut_off
    monkeypatch.setattr(Quorum, "lacks_decisions", property(lambda _: True))
    assert local_node.lifecycle.is_cut_off


def test_a_fenced_node_is_cut_off_although_the_controller_answers(tmp_path: Path) -> None:
    """Others lead what it led. It may learn from the metadata much later who does."""

    async def scenario(stage: Stage) -> None:
        assert stage.lifecycle.is_cut_off, "it is not let in yet"
        lifecycle = await stage.started()
        assert not lifecycle.is_cut_off
        stage.beat = BrokerHeartbeatResponse(is_fenced=True)
        await wait_until_async(lambda: lifecycle.is_fenced)
        assert lifecycle.is_cut_off
        beats = len(stage.heartbeats)
        await wait_until_async(lambda: len(stage.heartbeats) > beats + 2)
        assert lifecycle.is_cut_off, "however often it is answered"
        stage.beat = BrokerHeartbeatResponse(is_fenced=False)
        await wait_until_async(lambda: not lifecycle.is_cut_off)

    play(tmp_path, scenario)


def test_a_node_whose_connection_broke_is_cut_off_when_the_controller_fences_it(
    tmp_path: Path,
) -> None:
    async def scenario(stage: Stage) -> None:
        lifecycle = await stage.started()
        lifecycle._interval_s = 60
        stage.unavailable = ControllerUnavailable("no controller")
        lifecycle.lost_contact()
        assert not lifecycle.is_cut_off
        stage.clock.now += GRACE_MS + 1
        assert lifecycle.is_cut_off, "the controller does not wait for a session"
        stage.unavailable = None
        await wait_until_async(lambda: not lifecycle.is_cut_off)

    play(tmp_path, scenario)


def test_a_node_whose_controller_died_is_not_cut_off(tmp_path: Path) -> None:
    """A dead controller fences no node, and the next one waits for a session."""

    async def scenario(stage: Stage) -> None:
        lifecycle = await stage.started()
        stage.unavailable = ControllerUnavailable("no controller")
        lifecycle.lost_contact()
        lifecycle.controller_is_gone()
        stage.clock.now += SESSION_MS - 1
        assert not lifecycle.is_cut_off

    play(tmp_path, scenario)


def test_an_answer_counts_from_when_it_was_asked_for(tmp_path: Path) -> None:
    async def scenario(stage: Stage) -> None:
        lifecycle = await stage.started()
        call = stage.call

        async def slow(request: Any, **options: Any) -> Any:
            stage.clock.now += SESSION_MS + 1
            return await call(request, **options)

        stage.call = slow  # type: ignore[method-assign]
        beats = len(stage.heartbeats)
        lifecycle.wake()
        await wait_until_async(lambda: len(stage.heartbeats) > beats + 1)
        assert lifecycle.is_cut_off, "the controller may have given up after it answered"

    play(tmp_path, scenario)


def test_news_do_not_wait_for_the_next_heartbeat(tmp_path: Path) -> None:
    async def scenario(stage: Stage) -> None:
        lifecycle = await stage.started()
        lifecycle._interval_s = 60
        await asyncio.sleep(0.03)
        beats = len(stage.heartbeats)
        lifecycle.wake()
        await wait_until_async(lambda: len(stage.heartbeats) > beats)

    play(tmp_path, scenario)


def test_a_disk_that_can_not_remember_the_epoch_keeps_the_node_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario(stage: Stage) -> None:
        def full(*_: object, **_options: object) -> None:
            raise StorageError("no space left")

        with monkeypatch.context() as patch:
            patch.setattr(DiskTrust, "registered", full)
            stage.lifecycle.start()
            await wait_until_async(lambda: stage.registrations)
            await asyncio.sleep(0.01)
            assert stage.lifecycle.epoch == UNKNOWN_EPOCH
            assert not stage.heartbeats
        stage.lifecycle.wake()
        await wait_until_async(stage.lifecycle.unfenced.is_set)
        assert stage.trust.read() == (stage.lifecycle.epoch, True) == (11, True)

    play(tmp_path, scenario)


def test_a_node_leaves_when_it_may(tmp_path: Path) -> None:
    async def scenario(stage: Stage) -> None:
        lifecycle = await stage.started()
        leaving = asyncio.ensure_future(lifecycle.leave(60_000))
        await wait_until_async(lambda: stage.heartbeats[-1].want_shut_down)
        assert not leaving.done()
        stage.beat = BrokerHeartbeatResponse(is_fenced=True, should_shut_down=True)
        await asyncio.wait_for(leaving, 60)
        lifecycle.closed_well()
        assert DiskTrust(OsDisk(), str(tmp_path), "another boot").read() == (10, True)

    play(tmp_path, scenario)


def test_a_node_leaves_when_nobody_is_there_or_nobody_hurries(tmp_path: Path) -> None:
    async def scenario(stage: Stage) -> None:
        lifecycle = await stage.started()
        await asyncio.wait_for(lifecycle.leave(20), 60)
        assert not lifecycle.may_leave.is_set()
        stage.unavailable = ControllerUnavailable("no controller")
        lifecycle.wake()
        await asyncio.wait_for(lifecycle.leave(60_000), 60)

    play(tmp_path, scenario)


def test_who_was_never_registered_vouches_for_nothing(tmp_path: Path) -> None:
    async def scenario(stage: Stage) -> None:
        stage.lifecycle.closed_well()
        assert not list(tmp_path.iterdir())

    play(tmp_path, scenario)


def test_a_bug_that_ends_the_heartbeats_ends_the_node(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(stage: Stage) -> None:
        lifecycle = await stage.started()
        stage.unavailable = ValueError("a bug")
        await wait_until_async(lambda: stage.failures)
        assert stage.failures == ["the task that sends heartbeats has ended"]
        await asyncio.wait_for(lifecycle.leave(60_000), 60)

    play(tmp_path, scenario)
    assert "CRITICAL" in [record.levelname for record in caplog.records]
