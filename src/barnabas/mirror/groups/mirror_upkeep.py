"""What a driver does beside the flow: offsets, groups, heartbeats, and hearing of a stop.

Loops run in a thread of their own. The one of the target stores offset syncs and takes anchors, and
goes on while the source is away. One takes groups along, and one sends heartbeats to the source.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from threading import Thread
from time import monotonic, time

from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.errors import BarnabasError
from barnabas.mirror.flow import ClusterEnd, Flow
from barnabas.mirror.formats.heartbeat import HeartbeatRecord
from barnabas.mirror.formats.internal_topics import offset_syncs_topic
from barnabas.mirror.groups.anchors import take_anchors
from barnabas.mirror.groups.backward_route import BackwardRoute, backward_flow
from barnabas.mirror.groups.group_positions import Routes
from barnabas.mirror.groups.group_settings import GroupSettings
from barnabas.mirror.groups.group_sync import GroupSync, SyncedGroup
from barnabas.mirror.groups.internal_writer import InternalWriter
from barnabas.mirror.groups.stop_request import MirrorStopped, StopRequest
from barnabas.mirror.groups.stored_syncs import restore
from barnabas.mirror.groups.topic_records import TopicReader
from barnabas.mirror.offsets.translations import Translations
from barnabas.mirror.round_report import RoundReport

_log = logging.getLogger(__name__)
_PATIENCE_S = 5.0


@dataclass
class UpkeepStatus:
    """What the upkeep has done last; a plain object for whoever shows it."""

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
        self._closing = asyncio.Event()
        self._stops: int | None = None
        self.is_stopped = False
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._run, name=f"mirror {flow.name}", daemon=True)

    def start(self) -> None:
        """Begin, in another thread."""
        self._thread.start()

    def on_round(self, report: RoundReport) -> None:
        """Take what was copied. Raises `MirrorStopped` once somebody has asked for that."""
        self._reports.put(report)
        if self.is_stopped:
            raise MirrorStopped(f"flow {self.flow.name} was stopped")

    def close(self, patience_s: float | None = None) -> None:
        """Store what is left, and end; a cluster that is away is waited for no longer than said."""
        if self._thread.is_alive():
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
        for each in others:
            each.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _repeat(self, name: str, keep: Callable[[], Awaitable[None]]) -> None:
        """Begin again when a cluster is away.

        What no attempt changes is said and tried later too: records flow meanwhile.
        """
        problems = self.status.problems
        while not self._closing.is_set():
            try:
                await keep()
            except BarnabasError as error:
                if problems.get(name) != str(error):
                    _log.warning("flow %s, %s: %s; trying again", self.flow.name, name, error)
                problems[name] = str(error)
                await self._pause()

    async def _with_target(self) -> None:
        """Store syncs, take anchors, send heartbeats, until the end."""
        flow = self.flow
        async with flow.target.client() as target, InternalWriter(flow, target) as writer:
            await writer.make_topics()
            stop = StopRequest(flow, target)
            if self._stops is None:  # not after an outage: this driver knows more by then
                reader = TopicReader(target, offset_syncs_topic(flow.source.name))
                restore(flow, await reader.read_new(), self._translations)
                self._stops = await stop.number()
            while True:
                closing = self._closing.is_set()
                self._take_reports()
                await take_anchors(flow, target, self._translations)
                await writer.write_syncs(self._translations, self._source_ends)
                if self._settings.emit_heartbeats:
                    await writer.write_heartbeat(_heartbeat(flow.source, flow.target))
                self.is_stopped = self.is_stopped or await stop.number() > self._stops
                self.status.problems.pop("target", None)
                if closing:
                    return
                await self._pause()

    async def _with_source(self) -> None:
        """Send heartbeats for the flow to copy, which shows that it does, until cancelled."""
        flow = self.flow
        async with flow.source.client() as source, InternalWriter(flow, source) as writer:
            while True:
                await writer.write_heartbeat(_heartbeat(flow.target, flow.source))
                self.status.problems.pop("source", None)
                await self._pause()

    async def _with_groups(self) -> None:
        """Take groups along, until cancelled."""
        flow = self.flow
        async with (
            flow.source.client() as source,
            flow.target.client() as target,
            InternalWriter(flow, target) as writer,
        ):
            await writer.make_topics()
            other = backward_flow(flow)
            backward = None if other is None else BackwardRoute(other, source)
            routes = Routes(self._translations, None if backward is None else backward.translations)
            groups = GroupSync(self._settings, source, target, routes)
            while True:
                problems = await self._read_source(groups, backward)
                done = await groups.write_target(monotonic())
                if self._settings.emit_checkpoints:
                    await writer.write_checkpoints(done.checkpoints)
                self.status.groups = done.groups
                self.status.group_rounds += 1
                self.status.problems.pop("groups", None)
                for problem in (*done.problems, *problems):
                    self.status.problems["groups"] = problem
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
        while True:
            try:
                report = self._reports.get_nowait()
            except Empty:
                return
            self._translations.add(report.syncs)
            for each in report.states:
                self._source_ends[each.source] = each.position + each.lag

    async def _pause(self) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._closing.wait(), self._settings.interval_s)


def _heartbeat(source: ClusterEnd, target: ClusterEnd) -> HeartbeatRecord:
    return HeartbeatRecord(source.name, target.name, round(time() * 1000))
