"""A flow in one process, until it is stopped. Several processes share the partitions of a flow.

    look at topics -> join the group -> copy what is assigned -> join again ...

The processes are members of a consumer group in the target, `barnabas-mirror.A->B.members`. It is
there because everything else is that says how far a flow is: a source that is down must not keep
processes from dividing what is left to do. The group's leader is the driver of the flow: it brings
topics in line, and sends heartbeats. All else is done by each process for the partitions it has.

A process that dies is noticed after `SESSION_S`. The next process of a partition fences the one
before it by the transactional id, so membership decides about work, and never about correctness.
"""

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from barnabas.backoff import Backoff
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.group.classic_member import ClassicMember
from barnabas.errors import BarnabasError
from barnabas.mirror.assigned_copies import AnotherRun, AssignedCopies
from barnabas.mirror.configured_flow import ConfiguredFlow
from barnabas.mirror.copy_report import CopyReport, ReportListener
from barnabas.mirror.flow_topics import FlowTopics
from barnabas.mirror.groups.mirror_upkeep import MirrorUpkeep
from barnabas.mirror.groups.stop_request import StopRequest
from barnabas.mirror.partition_copy import COMMIT_POSITION_S, CopiedPartition
from barnabas.mirror.rights_check import check_rights

SESSION_S = 6.0
"""The least that brokers take by default (`group.min.session.timeout.ms`)."""

_HEARTBEAT_S = 0.5
"""So soon a process notices that partitions are shared again."""
_REBALANCE_S = 60.0
"""Longer than a transaction may take: what is under way is finished first."""
_SETTLE_S = 10.0
_LOOK_S = 1.0
_PAUSES_S = Backoff(0.5, 5.0)

_log = logging.getLogger("barnabas.mirror")


class FlowRun:
    """Used once. `run` in the loop of the process."""

    def __init__(self, mirrored: ConfiguredFlow, listeners: Sequence[ReportListener] = ()) -> None:
        self.flow = mirrored.flow
        self._mirrored = mirrored
        self._is_checked = False
        self.upkeep = MirrorUpkeep(mirrored.flow, mirrored.groups)
        self.was_stopped = False
        """Whether it was stopped from outside, as `barnabas mirror failover` does."""
        self._stops: int | None = None
        self._listeners = [*listeners, self.upkeep]
        self._topics = FlowTopics(mirrored.flow)
        self._ends = asyncio.Event()
        self._committed_at: dict[TopicPartition, float] = {}
        self._failures = 0
        self._trouble: list[str] = []

    def stop(self) -> None:
        """End soon: what is being written is finished."""
        self._ends.set()

    async def run(self) -> None:
        """Copy until it is stopped. Raises what no attempt will change."""
        upkeep = asyncio.create_task(self.upkeep.run())
        try:
            while not self._ends.is_set():
                try:
                    async with (
                        self.flow.source.client() as source,
                        self.flow.target.client() as target,
                    ):
                        await self._take_part(source, target)
                except BarnabasError as error:
                    if not error.retriable:
                        raise
                    await self._wait_after(f"flow {self.flow.name}: {error}; trying again")
        finally:
            self.upkeep.close()
            # A cluster that is down is not waited for: this is the way out.
            await asyncio.wait([upkeep], timeout=_SETTLE_S)
            upkeep.cancel()
            with suppress(asyncio.CancelledError):
                await upkeep

    async def _take_part(self, source: ClusterClient, target: ClusterClient) -> None:
        """Be a member of the group until the end."""
        flow, topics = self.flow, self._topics
        if not self._is_checked:
            await check_rights(self._mirrored, source, target)
            self._is_checked = True
        await self._look_for_stop(target)
        await topics.look(source, target, drives=True)
        member = ClassicMember(
            target,
            flow.members_group_id,
            [],
            assignors=["roundrobin"],
            session_timeout_ms=round(SESSION_S * 1000),
            rebalance_timeout_ms=round(_REBALANCE_S * 1000),
            heartbeat_interval_ms=round(_HEARTBEAT_S * 1000),
        )
        try:
            while not self._ends.is_set():
                member.subscribe(sorted(topics.flowing.values()))
                joining = asyncio.create_task(member.join())
                if not await self._first_of(joining):
                    return
                await self._look_for_stop(target)
                watches = [
                    asyncio.create_task(self._watch(source, target, member)),
                    asyncio.create_task(self._watch_for_stop(target)),
                ]
                try:
                    await self._copy(source, target, member, joining.result(), watches)
                finally:
                    if not self._ends.is_set():
                        self.upkeep.release()
                    for each in watches:
                        each.cancel()
                    await asyncio.gather(*watches, return_exceptions=True)
        finally:
            await member.leave()

    async def _watch(
        self, source: ClusterClient, target: ClusterClient, member: ClassicMember
    ) -> None:
        """Look at topics, and share partitions again if others flow now."""
        before = self._topics.shape
        while self._topics.shape == before:
            await asyncio.sleep(self.flow.refresh_s)
            await self._topics.look(source, target, drives=member.is_leader)
        member.rejoin_needed.set()

    async def _watch_for_stop(self, target: ClusterClient) -> None:
        while True:
            await asyncio.sleep(_LOOK_S)
            await self._look_for_stop(target)

    async def _look_for_stop(self, target: ClusterClient) -> None:
        """End if somebody has asked for that since this began: nothing may be copied after it."""
        number = await StopRequest(self.flow, target).number()
        if self._stops is None:
            self._stops = number
        elif number > self._stops:
            self.was_stopped = True
            self.stop()

    async def _copy(
        self,
        source: ClusterClient,
        target: ClusterClient,
        member: ClassicMember,
        assigned: list[TopicPartition],
        watches: Sequence["asyncio.Task[None]"],
    ) -> None:
        """Copy these partitions until they are shared again."""
        topics = self._topics
        partitions = [
            found
            for each in assigned
            if (found := topics.copied(each, commits_position=self._commits(each))) is not None
        ]
        self.upkeep.assign(
            {each.source: each.target for each in partitions},
            drives=member.is_leader,
            flowing=topics.flowing,
        )
        rate = self.flow.max_bytes_per_second
        share = None if rate is None else rate * len(partitions) / max(1, topics.partitions)
        while not self._ends.is_set() and not member.rejoin_needed.is_set():
            copies = AssignedCopies(source, target, self.flow, partitions, share)
            over = asyncio.create_task(self._until_over(member, copies, watches))
            try:
                self._hear(await copies.run(self._hear))
                self._failures = 0
            except AnotherRun as error:
                member.rejoin_needed.set()
                await self._wait_after(f"{error} Joining its group again")
            finally:
                over.cancel()
                await asyncio.gather(over, return_exceptions=True)
            for each in watches:
                if each.done():
                    each.result()
            self._note_committed(partitions)
            partitions = [each._replace(commits_position=False) for each in partitions]

    async def _until_over(
        self,
        member: ClassicMember,
        copies: AssignedCopies,
        watches: Sequence["asyncio.Task[None]"],
    ) -> None:
        waits = [
            asyncio.create_task(self._ends.wait()),
            asyncio.create_task(member.rejoin_needed.wait()),
        ]
        try:
            await asyncio.wait((*waits, *watches), return_when=asyncio.FIRST_COMPLETED)
            copies.end()
        finally:
            for each in waits:
                each.cancel()
            await asyncio.gather(*waits, return_exceptions=True)

    async def _first_of(self, task: "asyncio.Task[Any]") -> bool:
        """Wait for a task, or the end of this run; False if it is the end. Raises as the task."""
        ending = asyncio.create_task(self._ends.wait())
        try:
            await asyncio.wait((task, ending), return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                task.result()
                return True
            return False
        finally:
            for each in (task, ending):
                each.cancel()
            await asyncio.gather(task, ending, return_exceptions=True)

    def _hear(self, report: CopyReport) -> None:
        report.problems = [*self._topics.problems, *report.problems, *self._trouble]
        self._trouble.clear()
        for each in self._listeners:
            each.on_report(report)

    async def _wait_after(self, problem: str) -> None:
        """Say what went wrong, and wait a while, longer each time."""
        self._failures += 1
        self._trouble.append(problem)
        self._hear(CopyReport())
        with suppress(TimeoutError):
            async with asyncio.timeout(_PAUSES_S.pause(self._failures)):
                await self._ends.wait()

    def _commits(self, target: TopicPartition) -> bool:
        """Whether a position is to be committed although nothing is copied: those expire."""
        now = asyncio.get_running_loop().time()
        committed_at = self._committed_at.get(target)
        return committed_at is None or now - committed_at > COMMIT_POSITION_S

    def _note_committed(self, partitions: Sequence[CopiedPartition]) -> None:
        now = asyncio.get_running_loop().time()
        self._committed_at.update({each.target: now for each in partitions})
