"""The controller in its place: what is decided, agreed, refused and given up."""

import asyncio
from asyncio import Future
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from barnabas.broker.control.active_controller import ActiveController, NotAgreed, NotController
from barnabas.broker.node import Node
from barnabas.broker.quorum.outcome import NotLeader, OutcomeUnknown
from barnabas.controller.decision import BrokerEvent, BrokerSilent, BrokerUnfenced, Decision
from barnabas.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from barnabas.wire.messages.metadata_records import NoOpRecord

WAIT_MS = 2_000


class FakeClock:
    now = 1_000

    def steady_ms(self) -> int:
        return self.now


class FakeQuorum:
    """Proposals, to be answered by the test."""

    def __init__(self) -> None:
        self.proposals: list[tuple[int, Future[None]]] = []
        self.resigned = 0
        self.no_room: str | None = None
        self.hears_majority = True
        self.refusal: Exception | None = None

    def propose(self, records: list[Any]) -> "Future[None]":
        outcome: Future[None] = asyncio.get_running_loop().create_future()
        if self.refusal is not None:
            outcome.set_exception(self.refusal)
            outcome.exception()
        elif not records and all(done.done() for _, done in self.proposals):
            outcome.set_result(None)
        else:
            self.proposals.append((len(records), outcome))
        return outcome

    def resign(self) -> None:
        self.resigned += 1

    def agree(self) -> None:
        for _, outcome in self.proposals:
            if not outcome.done():
                outcome.set_result(None)

    def fail(self, error: Exception) -> None:
        for _, outcome in self.proposals:
            outcome.set_exception(error)
            outcome.exception()


class FakeController:
    def __init__(self) -> None:
        self.lost: list[tuple[int, int]] = []
        self.deadline_ms: int | None = None
        self.ticks = 0
        self.tick_fails = False

    def disconnected(self, node_id: int, now_ms: int) -> None:
        self.lost.append((node_id, now_ms))

    def next_deadline_ms(self) -> int | None:
        return self.deadline_ms

    def tick(self, now_ms: int) -> Decision[None]:
        self.ticks += 1
        self.deadline_ms = None
        if self.tick_fails:
            raise ValueError("a bug")
        return Decision([NoOpRecord()], None)


class FakeConnection:
    on_lost: Callable[[], None] | None = None


class Stage:
    def __init__(self) -> None:
        self.clock = FakeClock()
        self.quorum = FakeQuorum()
        self.made: list[FakeController] = []
        self.active = ActiveController(
            asyncio.get_running_loop(),
            self.clock,  # type: ignore[arg-type]
            self.quorum,  # type: ignore[arg-type]
            self._new,  # type: ignore[arg-type]
            self._replica_ends,
        )

    async def _replica_ends(self, *_: Any) -> dict[Any, Any]:
        return {}

    def _new(self, now_ms: int) -> FakeController:
        self.made.append(FakeController())
        return self.made[-1]

    def decide(self, answer: str, records: int = 1, **options: Any) -> "asyncio.Task[str]":
        decision = Decision([NoOpRecord()] * records, answer)
        options.setdefault("timeout_ms", WAIT_MS)
        return asyncio.get_running_loop().create_task(
            self.active.decide(lambda *_: decision, **options)
        )


def play(scenario: Callable[[Stage], Coroutine[Any, Any, None]]) -> None:
    async def run() -> None:
        await scenario(Stage())

    asyncio.run(run())


async def turns() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def test_the_log_says_who_is_fenced_and_who_is_back(caplog: pytest.LogCaptureFixture) -> None:
    events: list[BrokerEvent] = [
        BrokerSilent(1, 9000, is_disconnected=False, led=18),
        BrokerSilent(2, 150, is_disconnected=True, led=1),
        BrokerUnfenced(1, is_back=True),
        BrokerUnfenced(3, is_back=False),
    ]

    async def scenario(stage: Stage) -> None:
        stage.active.started([])
        decision = Decision([NoOpRecord()], None, broker_events=events)
        deciding = asyncio.ensure_future(stage.active.decide(lambda *_: decision, WAIT_MS))
        await turns()
        stage.quorum.agree()
        await deciding

    with caplog.at_level("INFO"):
        play(scenario)
    said = [(r.levelname, r.getMessage()) for r in caplog.records if "node " in r.getMessage()]
    assert said[1:] == [
        ("WARNING", "node 1 is fenced: no heartbeat for 9 s; it led 18 partitions"),
        (
            "WARNING",
            "node 2 is fenced: its connection broke, no heartbeat for 0.15 s; it led 1 partition",
        ),
        ("INFO", "node 1 is back and no longer fenced"),
        ("INFO", "node 3 has joined and can lead partitions"),
    ]


def test_who_does_not_lead_decides_nothing() -> None:
    async def scenario(stage: Stage) -> None:
        with pytest.raises(NotController):
            await stage.decide("a")
        stage.active.started([])
        assert stage.active.is_active
        stage.active.stopped()
        with pytest.raises(NotController):
            await stage.decide("a")
        assert not stage.quorum.proposals

    play(scenario)


def test_an_answer_is_given_when_it_is_agreed_on() -> None:
    async def scenario(stage: Stage) -> None:
        stage.active.started([])
        answer = stage.decide("a")
        await turns()
        assert not answer.done()
        stage.quorum.agree()
        assert await answer == "a"

    play(scenario)


def test_one_that_changes_nothing_waits_for_what_it_may_have_built_on() -> None:
    async def scenario(stage: Stage) -> None:
        stage.active.started([])
        assert await stage.decide("nothing is under way", 0) == "nothing is under way"
        first, second = stage.decide("a"), stage.decide("b", 0)
        at_once = stage.decide("c", 0, at_once=True)
        await turns()
        assert (first.done(), second.done()) == (False, False)
        assert await at_once == "c"
        stage.quorum.agree()
        assert (await first, await second) == ("a", "b")

    play(scenario)


def test_a_heartbeat_is_not_answered_while_no_majority_is_heard() -> None:
    """Another controller may have been elected, and fences who trusts the answer of this one."""

    async def scenario(stage: Stage) -> None:
        stage.active.started([])
        stage.quorum.hears_majority = False
        with pytest.raises(NotController):
            await stage.decide("alive", 0, at_once=True)
        assert stage.active.is_active
        stage.quorum.hears_majority = True
        assert await stage.decide("alive", 0, at_once=True) == "alive"

    play(scenario)


@pytest.mark.parametrize("error", [NotLeader("no"), OutcomeUnknown("perhaps")])
def test_what_is_not_agreed_on_ends_the_controller(error: Exception) -> None:
    async def scenario(stage: Stage) -> None:
        stage.active.started([])
        answers = [stage.decide("a"), stage.decide("b")]
        await turns()
        stage.quorum.fail(error)
        for answer in answers:
            with pytest.raises(NotController):
                await answer
        assert not stage.active.is_active
        assert stage.quorum.resigned == 1, "its image is ahead of what is agreed"

    play(scenario)


def test_a_proposal_that_is_refused_at_once_ends_the_controller() -> None:
    async def scenario(stage: Stage) -> None:
        stage.active.started([])
        stage.quorum.refusal = NotLeader("leadership is handed over")
        with pytest.raises(NotController):
            await stage.decide("a")
        await turns()
        assert not stage.active.is_active
        assert stage.quorum.resigned == 1

    play(scenario)


def test_a_decision_that_fails_ends_the_controller_and_is_reported() -> None:
    async def scenario(stage: Stage) -> None:
        stage.active.started([])

        def fails(*_: object) -> Decision[None]:
            raise ValueError("a bug")

        with pytest.raises(ValueError, match="a bug"):
            await stage.active.decide(fails, WAIT_MS)
        assert not stage.active.is_active
        assert stage.quorum.resigned == 1
        stage.active.started([])
        assert len(stage.made) == 2

    play(scenario)


@pytest.mark.parametrize("no_room", [None, "no space left"])
def test_nobody_waits_for_ever(no_room: str | None) -> None:
    async def scenario(stage: Stage) -> None:
        stage.active.started([])
        stage.quorum.no_room = no_room
        with pytest.raises(NotAgreed, match=no_room or "a majority of the voters must be running"):
            await stage.decide("a", timeout_ms=1)
        # It is open what becomes of it, and the controller goes on.
        assert stage.active.is_active
        stage.quorum.agree()
        assert await stage.decide("b", 0) == "b"

    play(scenario)


def test_what_was_decided_for_somebody_who_left_still_counts() -> None:
    async def scenario(stage: Stage) -> None:
        stage.active.started([])
        answer = stage.decide("a")
        await turns()
        answer.cancel()
        await turns()
        ((_, proposal),) = stage.quorum.proposals
        assert not proposal.done()
        stage.quorum.fail(OutcomeUnknown("lost"))
        await turns()
        assert not stage.active.is_active

    play(scenario)


def test_time_passes() -> None:
    async def scenario(stage: Stage) -> None:
        stage.active.started([])
        (controller,) = stage.made
        controller.deadline_ms = stage.clock.now
        await stage.decide("a", 0)
        await asyncio.sleep(0.01)
        assert controller.ticks == 1
        assert len(stage.quorum.proposals) == 1
        controller.deadline_ms = stage.clock.now + 5
        await stage.decide("b", 0, at_once=True)
        stage.active.stopped()
        await asyncio.sleep(0.02)
        assert controller.ticks == 1, "a former controller runs no timers"

    play(scenario)


def test_a_tick_that_fails_ends_the_controller() -> None:
    async def scenario(stage: Stage) -> None:
        reported: list[Any] = []
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: reported.append(context["exception"]))
        stage.active.started([])
        (controller,) = stage.made
        controller.tick_fails = True
        controller.deadline_ms = stage.clock.now
        await stage.decide("a", 0)
        await asyncio.sleep(0.01)
        assert [type(error) for error in reported] == [ValueError]
        assert not stage.active.is_active
        assert stage.quorum.resigned == 1

    play(scenario)


def test_a_broken_connection_counts_if_it_is_the_last_one_of_its_broker() -> None:
    async def scenario(stage: Stage) -> None:
        stage.active.started([7])
        (controller,) = stage.made
        assert controller.lost == [(7, 1_000)], "it was silent when this controller began"
        old, new = FakeConnection(), FakeConnection()
        stage.active.heard_from(2, old)  # type: ignore[arg-type]
        stage.active.heard_from(2, new)  # type: ignore[arg-type]
        assert old.on_lost is not None
        assert new.on_lost is not None
        old.on_lost()
        assert controller.lost == [(7, 1_000)]
        stage.clock.now = 2_000
        new.on_lost()
        assert controller.lost[1:] == [(2, 2_000)]
        # Connections of the time of an earlier controller mean nothing to a later one.
        third = FakeConnection()
        stage.active.heard_from(2, third)  # type: ignore[arg-type]
        stage.active.stopped()
        stage.active.started([])
        assert third.on_lost is not None
        third.on_lost()
        assert stage.made[1].lost == []

    play(scenario)


def test_a_lone_node_gets_over_a_decision_that_failed(
    local_node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = local_node

    def fails(*_: object) -> Decision[None]:
        raise ValueError("a bug")

    async def scenario() -> None:
        with monkeypatch.context() as patch:
            patch.setattr("barnabas.controller.controller.delete_topics", fails)
            with pytest.raises(ValueError, match="a bug"):
                await node.calls.call(DeleteTopicsRequest([DeleteTopicState("nowhere")]))
        assert not node.controller.is_active
        # It is elected again, and its next controller knows what is agreed.
        assert await node.topic_creation.create(["after-a-bug"]) == {"after-a-bug": 0}
        assert not node.lifecycle.is_cut_off

    node.loop.run_until_complete(asyncio.wait_for(scenario(), 60))
