"""What a driver does next to the flow: offsets, groups, heartbeats, and hearing of a stop.

Loops run in a thread of their own. The one of the target stores offset syncs and takes anchors, and
goes on while the source is away. One takes groups along, and one sends heartbeats to the source.
What goes wrong is logged once, and noted in the target for `mirror status`.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from queue import SimpleQueue
from threading import Thread
from time import monotonic

from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.errors import BarnabasError
from barnabas.mirror.flow import Flow
from barnabas.mirror.groups.anchors import take_anchors
from barnabas.mirror.groups.backward_route import BackwardRoute, backward_flow
from barnabas.mirror.groups.checkpoints import Checkpoints
from barnabas.mirror.groups.driver_note import DriverNote
from barnabas.mirror.groups.group_positions import Routes
from barnabas.mirror.groups.group_settings import GroupSettings
from barnabas.mirror.groups.group_sync import GroupSync, SyncedGroup
from barnabas.mirror.groups.heartbeats import Heartbeats
from barnabas.mirror.groups.internal_writer import InternalWriter
from barnabas.mirror.groups.reported_problems import ReportedProblems
from barnabas.mirror.groups.stop_request import MirrorStopped, StopRequest
from barnabas.mirror.groups.stored_syncs import restore
from barnabas.mirror.groups.topic_records import TopicReader
from barnabas.mirror.names import syncs_topic_of
from barnabas.mirror.offsets.translations import Translations
from barnabas.mirror.round_report import RoundReport

_log = logging.getLogger(__name__)
_PATIENCE_S = 5.0


@dataclass
class UpkeepStatus:
    """What the upkeep has done last; a plain object, to be shown."""

    groups: list[SyncedGroup] = field(default_factory=list)
    group_rounds: int = 0
    problems: dict[str, str] = field(default_factory=dict)
    """What goes wrong at present, by the loop that says so."""


class MirrorUpkeep:
    """A listener of rounds. `start` and `close` it around the flow."""

    def __init__(self, flow: Flow, settings: GroupSettings | None = None) -> None:
        self.flow = flow
        self.status = UpkeepStatus()
        self._settings = settings or GroupSettings()
        self._translations = Translations()
        self._source_ends: dict[TopicPartition, int] = {}
        self._reports: SimpleQueue[RoundReport] = SimpleQueue()
        self._reported = ReportedProblems()
        self._checkpoints = Checkpoints()
        self._closing = asyncio.Event()
        self._stops: int | None = None
        self.is_stopped = False
        self._was_closed = False
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._run, name=f"mirror {flow.name}", daemon=True)

    def start(self) -> None:
        """Begin, in another thread."""
        self._thread.start()

    def on_report(self, report: RoundReport) -> None:
        """Take what was copied. Raises `MirrorStopped` once somebody has asked for that."""
        self._reports.put(report)
        if self.is_stopped:
            raise MirrorStopped(f"flow {self.flow.name} was stopped")

    def close(self, patience_s: float | None = None) -> None:
        """Store what is left, and end; a cluster that is away is waited for no longer than said."""
        if self._thread.is_alive() and not self._was_closed:
            self._was_closed = True
            self._loop.call_soon_threadsafe(self._closing.set)
            self._thread.join(patience_s)

    # -- in the thread ---------------------------------------------------------------------------

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._keep())

    async def _keep(self) -> None:
        others = [asyncio.create_task(self._repeat("groups", self._with_groups))]
        if self._settings.emit_heartbeats:
            others.append(asyncio.create_task(self._repeat("source", self._with_source)))
        await self._repeat("target", self._with_target)
        # They end by themselves, unless they wait for a cluster that is away.
        for each in others:
            each.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _repeat(self, name: str, keep: Callable[[], Awaitable[None]]) -> None:
        """Begin again when a cluster is away.

        What no attempt changes is said and tried later too: records flow meanwhile.
        """
        while not self._closing.is_set():
            try:
                await keep()
            except BarnabasError as error:
                self._tell(name, f"{name}: {error}; trying again")
                await self._pause()

    def _tell(self, name: str, problem: str) -> None:
        """Say what goes wrong, once while it lasts; empty: nothing does."""
        problems = self.status.problems
        if not problem:
            problems.pop(name, None)
            return
        if problems.get(name) != problem:
            _log.warning("flow %s, %s", self.flow.name, problem)
        problems[name] = problem

    async def _with_target(self) -> None:
        """Store syncs, take anchors, send heartbeats, until the end."""
        flow = self.flow
        async with flow.target.client() as target, InternalWriter(flow, target) as writer:
            await writer.make_syncs_topic()
            stop, note = StopRequest(flow, target), DriverNote(flow, target)
            heartbeats = Heartbeats(writer, flow.source, flow.target)
            if self._stops is None:  # not after an outage: this driver knows more by then
                reader = TopicReader(target, syncs_topic_of(flow))
                restore(flow, await reader.read_new(), self._translations)
                self._stops = await stop.number()
            while True:
                closing = self._closing.is_set()
                self._take_reports()
                # A failover has to be heard, and problems told, whatever is refused after that.
                self.is_stopped = self.is_stopped or await stop.number() > self._stops
                reported = self._reported.lines(monotonic())
                await note.write(() if closing else (*reported, *self.status.problems.values()))
                self._tell("note", note.problem)
                await take_anchors(flow, target, self._translations)
                await writer.write_syncs(self._translations, self._source_ends)
                if self._settings.emit_heartbeats:
                    await heartbeats.send()
                    self._tell("target heartbeats", heartbeats.problem)
                self._tell("target", "")
                if closing:
                    return
                await self._pause()

    async def _with_source(self) -> None:
        """Send heartbeats for the flow to copy, which shows that it does, until the end."""
        flow = self.flow
        async with flow.source.client() as source, InternalWriter(flow, source) as writer:
            heartbeats = Heartbeats(writer, flow.target, flow.source)
            while not self._closing.is_set():
                await heartbeats.send()
                self._tell("source", heartbeats.problem)
                await self._pause()

    async def _with_groups(self) -> None:
        """Take groups along, until the end."""
        flow = self.flow
        async with (
            flow.source.client() as source,
            flow.target.client() as target,
            InternalWriter(flow, target) as writer,
        ):
            other = backward_flow(flow)
            backward = None if other is None else BackwardRoute(other, source)
            routes = Routes(self._translations, None if backward is None else backward.translations)
            groups = GroupSync(self._settings, source, target, routes)
            while not self._closing.is_set():
                problems = await self._read_source(groups, backward)
                done = await groups.write_target(monotonic())
                self.status.groups = done.groups
                self.status.group_rounds += 1
                self._tell("groups", "; ".join((*done.problems, *problems)))
                if self._settings.emit_checkpoints:
                    await self._checkpoints.write(writer, done.checkpoints)
                    self._tell("checkpoints", self._checkpoints.problem)
                await self._pause()

    async def _read_source(self, groups: GroupSync, backward: BackwardRoute | None) -> list[str]:
        """While the source is away, what was seen of it last is still translated, ever better."""
        try:
            async with asyncio.timeout(_PATIENCE_S):
                if backward is not None:
                    await backward.refresh()
                await groups.read_source()
        except TimeoutError:
            return [f"{self.flow.source.name} does not answer in {_PATIENCE_S:g} s"]
        except BarnabasError as error:
            if not error.retriable:
                raise
            return [str(error)]
        return []

    def _take_reports(self) -> None:
        told = []
        while not self._reports.empty():  # this thread alone takes them
            report = self._reports.get_nowait()
            told.append(report.problems)
            self._translations.add(report.syncs)
            for each in report.states:
                self._source_ends[each.source] = each.position + each.lag
        self._reported.take(told, monotonic())

    async def _pause(self) -> None:
        # Not by `wait_for`, which in Python 3.11 forgets that it was cancelled if it is done too.
        with suppress(TimeoutError):
            async with asyncio.timeout(self._settings.interval_s):
                await self._closing.wait()
