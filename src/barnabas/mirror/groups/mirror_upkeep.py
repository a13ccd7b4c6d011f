"""What a process does next to copying: offsets, groups, heartbeats, and saying what goes wrong.

All of it is about the partitions that the process has; one of the processes, the driver, also sends
heartbeats. The loop of the target stores offset syncs and takes anchors, and goes on while the
source is down. One takes groups along, and one sends heartbeats to the source. What goes wrong is
logged once, and noted in the target for `mirror status`.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from time import monotonic

from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.errors import BarnabasError
from barnabas.mirror.copy_report import UNKNOWN, CopyReport
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
from barnabas.mirror.groups.stored_syncs import restore
from barnabas.mirror.groups.topic_records import TopicReader
from barnabas.mirror.names import syncs_topic_of
from barnabas.mirror.offsets.translations import Translations

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
    """A listener of what is copied. `run` it next to that, and say which partitions there are."""

    def __init__(self, flow: Flow, settings: GroupSettings | None = None) -> None:
        self.flow = flow
        self.status = UpkeepStatus()
        self._settings = settings or GroupSettings()
        self._translations = Translations()
        self._source_ends: dict[TopicPartition, int] = {}
        self._positions: dict[TopicPartition, int] = {}
        self._reports: list[CopyReport] = []
        self._reported = ReportedProblems()
        self._checkpoints = Checkpoints()
        self._closing = asyncio.Event()
        self._targets: Mapping[TopicPartition, TopicPartition] = {}
        """The partitions of this process: those of the target by those of the source."""
        self._restored: set[TopicPartition] = set()
        """Those whose stored syncs were read."""
        self._drives = False
        self._flowing: Collection[str] = ()

    def assign(
        self,
        partitions: Mapping[TopicPartition, TopicPartition],
        *,
        drives: bool,
        flowing: Collection[str] = (),
    ) -> None:
        """Do it for these partitions of the source, which are copied to those of the target.

        `flowing` are all topics of the flow: the driver takes care of groups in other topics too,
        which may go back to the target with the flow in the other direction.
        """
        self._take_reports()
        self._targets, self._drives, self._flowing = partitions, drives, flowing
        self._translations.keep(partitions)
        self._restored.intersection_update(partitions)
        for known in (self._source_ends, self._positions):
            for each in [each for each in known if each not in partitions]:
                del known[each]

    def release(self) -> None:
        """Leave groups alone until the next `assign`; what is known is stored still, and kept."""
        self._targets, self._drives = {}, False

    def on_report(self, report: CopyReport) -> None:
        """Take what was copied."""
        self._reports.append(report)
        self._reported.take([report.problems], monotonic())

    def close(self) -> None:
        """Let `run` store what is left, and end."""
        self._closing.set()

    async def run(self) -> None:
        """Go on until it is closed."""
        others = [asyncio.create_task(self._repeat("groups", self._with_groups))]
        if self._settings.emit_heartbeats:
            others.append(asyncio.create_task(self._repeat("source", self._with_source)))
        try:
            await self._repeat("target", self._with_target)
        finally:
            # They end by themselves, unless they wait for a cluster that is down.
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
            note = DriverNote(flow, target)
            heartbeats = Heartbeats(writer, flow.source, flow.target)
            while True:
                closing = self._closing.is_set()
                await self._restore(target)
                self._take_reports()
                reported = self._reported.lines(monotonic())
                problems = () if closing else (*reported, *self.status.problems.values())
                await note.write(problems, self._note_places())
                self._tell("note", note.problem)
                await take_anchors(flow, target, self._translations, self._moved())
                await writer.write_syncs(self._translations, self._source_ends)
                if self._settings.emit_heartbeats and self._drives:
                    await heartbeats.send()
                    self._tell("target heartbeats", heartbeats.problem)
                self._tell("target", "")
                if closing:
                    return
                await self._pause()

    async def _restore(self, target: ClusterClient) -> None:
        """Read what the processes have stored that had the partitions before.

        This process knows more of those that it has kept.
        """
        while new := self._targets.keys() - self._restored:
            assigned = self._targets
            stored = await TopicReader(target, syncs_topic_of(self.flow)).read_new()
            if self._targets is assigned:
                restore(self.flow, stored, self._translations, new)
                self._restored |= new

    async def _with_source(self) -> None:
        """Send heartbeats for the flow to copy, which shows that it does, until the end."""
        flow = self.flow
        async with flow.source.client() as source, InternalWriter(flow, source) as writer:
            heartbeats = Heartbeats(writer, flow.target, flow.source)
            while not self._closing.is_set():
                if self._drives:
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
            groups = GroupSync(self._settings, source, target, routes, self._takes_along)
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

    def _takes_along(self, partition: TopicPartition) -> bool:
        """Whether groups in a partition of the source are up to this process."""
        if partition in self._targets:
            return partition in self._restored
        return self._drives and partition.topic not in self._flowing

    def _note_places(self) -> list[TopicPartition]:
        """Where this process notes its problems: at a partition that no other process has."""
        driver = [TopicPartition(syncs_topic_of(self.flow), 0)] if self._drives else []
        return [*driver, *sorted(self._targets.values())]

    def _moved(self) -> dict[TopicPartition, int]:
        """Positions by partitions of the target, as last reported."""
        return {
            self._targets[each]: offset
            for each, offset in self._positions.items()
            if each in self._targets
        }

    def _take_reports(self) -> None:
        reports, self._reports = self._reports, []
        for report in reports:
            for each in report.recovered:
                self._translations.extend(*each)
            self._translations.add(report.syncs)
            for state in report.states:
                self._positions[state.source] = state.position
                if state.lag != UNKNOWN:
                    self._source_ends[state.source] = state.position + state.lag

    async def _pause(self) -> None:
        # Not by `wait_for`, which in Python 3.11 forgets that it was cancelled if it is done too.
        with suppress(TimeoutError):
            async with asyncio.timeout(self._settings.interval_s):
                await self._closing.wait()
