"""Copies the partitions that this process has, until others are assigned to it.

It reports every second. It ends early if only a new start can go on, as when a topic was created
again. It does not fail because a cluster is down for a while: it reports that, and tries again.
What no attempt will change is raised.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.connect.connection_pool import Channel
from barnabas.client.consumer.completed_fetch import CompletedFetch
from barnabas.client.consumer.fetch_request import FetchTuning
from barnabas.client.consumer.fetcher import Fetcher
from barnabas.client.consumer.partition_progress import PartitionProgress
from barnabas.client.offsets.isolation import IsolationLevel
from barnabas.client.offsets.list_offsets import EARLIEST, LATEST, beginning_and_end, list_offsets
from barnabas.errors import BarnabasError, DataLost, ProducerFenced, UnknownTopic
from barnabas.mirror.batches import BatchConversion
from barnabas.mirror.copy_report import DATA_LOST, CopyReport
from barnabas.mirror.flow import Flow
from barnabas.mirror.named_client import said_in
from barnabas.mirror.names import is_heartbeats
from barnabas.mirror.partition_copy import CopiedPartition, PartitionCopy
from barnabas.mirror.partition_writer import PartitionWriter
from barnabas.mirror.positions import SourcePosition, fetch_positions
from barnabas.mirror.provenance import provenance_of
from barnabas.mirror.rate_limit import RateLimit
from barnabas.mirror.write_budget import WriteBudget
from barnabas.records.compression import Compression

HELD_BYTES = 32 * 1024 * 1024
"""The source is not read while so much waits to be written, or is under way to the target."""

_TUNING = FetchTuning(max_wait_ms=500, max_bytes=2 * 1024 * 1024, partition_max_bytes=1024 * 1024)
"""An answer of the source comes in time over a link of 100 kB/s."""
REPORT_S = 1.0
"""From one report to the next."""

_AWAY_S = 5.0
_LOOK_S = 0.2
_ROOM_S = 0.005
_END_S = 30.0
_ISOLATION = IsolationLevel.READ_COMMITTED


class AnotherRun(BarnabasError):  # noqa: N818 - says what has happened
    """Another process has taken a partition over."""


class AssignedCopies:
    """Used once. Source and target are clients of the same event loop."""

    def __init__(
        self,
        source: ClusterClient,
        target: ClusterClient,
        flow: Flow,
        partitions: Sequence[CopiedPartition],
        bytes_per_second: float | None = None,
    ) -> None:
        """The rate is the share of this process."""
        self._source = source
        self._target = target
        self._flow = flow
        self._partitions = list(partitions)
        self._limit = RateLimit(bytes_per_second, source.environment.monotonic)
        self._budget = WriteBudget(target.environment.monotonic)
        self._conversion = BatchConversion(
            provenance_of(flow),
            None if flow.compression is None else Compression[flow.compression.upper()],
        )
        self._problems: dict[str, None] = {}  # ordered, each once
        self._left_out: list[str] = []
        self._copies: dict[TopicPartition, PartitionCopy] = {}
        self._fetched = asyncio.Event()
        self._writes = Channel()
        self._over = asyncio.Event()

    def end(self) -> None:
        """Let `run` return as soon as what is being written is written."""
        self._over.set()
        self._fetched.set()

    async def run(self, hear: Callable[[CopyReport], None]) -> CopyReport:
        """Copy until `end`, and say every second what was copied; returns the last report.

        Raises `AnotherRun` if another process has taken a partition over.
        """
        fetcher = Fetcher(self._source, self._fetched.set, isolation=_ISOLATION, tuning=_TUNING)
        try:
            await self._begin(fetcher)
        except BarnabasError as error:
            if not error.retriable:
                raise
            self._tell(f"flow {self._flow.name}: {error}; trying again")
            await self._pause()
            return self._report({})
        running = [asyncio.create_task(self._copy(each, fetcher)) for each in self._copies.values()]
        reporting = asyncio.create_task(self._keep_reporting(fetcher, hear))
        try:
            await self._dispatch(fetcher, [*running, reporting])
            for each in list(self._copies.values()):
                each.end()
            if running:
                await asyncio.wait(running, timeout=_END_S)
            _raise_first(running, self._flow)
        finally:
            for task in (*running, reporting):
                task.cancel()
            await asyncio.gather(*running, reporting, return_exceptions=True)
            self._look_at_unavailable(fetcher)
            await fetcher.close()
            await self._target.close_channel(self._writes)
        return self._report(await self._ends())

    async def _copy(self, copy: PartitionCopy, fetcher: Fetcher) -> None:
        try:
            await copy.run()
        except BarnabasError as error:
            if isinstance(error, ProducerFenced):
                raise
            self._leave_out(copy.partition.source, error, fetcher)

    def _leave_out(self, name: TopicPartition, error: BarnabasError, fetcher: Fetcher) -> None:
        """Copy the rest without heartbeats, if they fail for good. Raises if it is something else.

        The next start tries again.
        """
        if not is_heartbeats(self._flow, name.topic):
            raise error
        if self._copies.pop(name, None) is not None:
            fetcher.remove([name])
            self._left_out.append(
                f"topic {name.topic} of {self._flow.source.name} is not copied, others are: {error}"
            )

    async def _keep_reporting(self, fetcher: Fetcher, hear: Callable[[CopyReport], None]) -> None:
        while True:
            await asyncio.sleep(REPORT_S)
            ends = await self._ends()
            self._look_at_unavailable(fetcher)
            hear(self._report(ends))

    async def _pause(self) -> None:
        """Until a cluster that is down is asked again, or this is over."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_AWAY_S):
                await self._over.wait()

    def _look_at_unavailable(self, fetcher: Fetcher) -> None:
        for partition, reason in fetcher.unavailable.items():
            said = said_in(self._flow.source.name, reason)
            self._tell(f"partition {partition} of {self._flow.source.name}: {said}; trying again")

    async def _ends(self) -> dict[TopicPartition, int]:
        """Where the source ends by now, for the lag; without it, that is not known."""
        try:
            async with asyncio.timeout(_AWAY_S):
                found = await list_offsets(
                    self._source, dict.fromkeys(self._copies, LATEST), _ISOLATION
                )
        except (BarnabasError, TimeoutError):
            return {}
        return {name: each.offset for name, each in found.items()}

    def _report(self, ends: Mapping[TopicPartition, int]) -> CopyReport:
        report = CopyReport()
        for name, each in self._copies.items():
            found = each.take_report(ends.get(name))
            report.recovered += found.recovered
            report.syncs += found.syncs
            report.states += found.states
            if not is_heartbeats(self._flow, name.topic):  # which mirrors write themselves
                report.records += found.records
                report.bytes += found.bytes
            for problem in found.problems:
                self._tell(problem)
        problems, self._problems = self._problems, {}
        report.problems = [*self._left_out, *problems]
        return report

    def _tell(self, problem: str) -> None:
        self._problems[problem] = None

    # -- the beginning ---------------------------------------------------------------------------

    async def _begin(self, fetcher: Fetcher) -> None:
        """Find where to go on, and read from there."""
        topics = await self._source.refresh({each.source.topic for each in self._partitions})
        present = [
            each
            for each in self._partitions
            if each.source.partition < len(topics[each.source.topic].partitions)
        ]
        found = await fetch_positions(self._target, self._flow, [each.target for each in present])
        new = [
            each
            for each in present
            if self._is_new(each, found.get(each.target), topics[each.source.topic].topic_id)
        ]
        await self._tell_lost_positions([each for each in new if each.target not in found])
        firsts = await self._first_offsets(new)
        progresses = {}
        for each in present:
            topic_id = topics[each.source.topic].topic_id
            offset = firsts[each.source] if each.source in firsts else found[each.target].offset
            self._copies[each.source] = PartitionCopy(
                self._flow,
                each,
                SourcePosition(offset, topic_id, self._source.cluster_id or ""),
                PartitionWriter(self._target, self._flow, each.target, self._writes),
                fetcher,
                self._conversion,
                self._limit,
                self._budget,
            )
            progresses[each.source] = PartitionProgress(offset)
            progresses[each.source].topic_id = topic_id
        fetcher.assign(progresses)

    def _is_new(
        self, partition: CopiedPartition, position: SourcePosition | None, topic_id: bytes
    ) -> bool:
        if position is None:
            return True
        if position.is_of(topic_id):
            return False
        topic, index = partition.source
        self._tell(
            f"{DATA_LOST}: topic {topic} of {self._flow.source.name} was deleted and created "
            f"again. Partition {index} had been copied up to offset {position.offset}; what "
            "followed in the old topic is gone, and the new one is copied from its first record on"
        )
        return True

    async def _tell_lost_positions(self, partitions: list[CopiedPartition]) -> None:
        """Say where records are without a position: it was deleted, or has expired.

        Any tool can delete the group. Where both flows share topics, records may be others'.
        """
        flow = self._flow
        if flow.provenance:
            return
        targets = [e.target for e in partitions if not is_heartbeats(flow, e.source.topic)]
        bounds: dict[TopicPartition, tuple[int, int]] = {}
        with suppress(BarnabasError, TimeoutError):  # this is for people only
            async with asyncio.timeout(_AWAY_S):
                bounds = await beginning_and_end(self._target, targets)
        for name, (first, end) in bounds.items():
            if end > first:
                self._tell(
                    f"partition {name} of {flow.target.name} has records, and the flow no position "
                    f"in it: group {flow.group_id} was deleted or has expired, or something else "
                    "writes there. It is copied like a new one, so records may be there twice"
                )

    async def _first_offsets(self, partitions: list[CopiedPartition]) -> dict[TopicPartition, int]:
        times = {each.source: LATEST if each.start == "latest" else EARLIEST for each in partitions}
        found = await list_offsets(self._source, times, _ISOLATION)
        return {name: each.offset for name, each in found.items()}

    # -- while it lasts --------------------------------------------------------------------------

    async def _dispatch(self, fetcher: Fetcher, running: list[asyncio.Task[None]]) -> None:
        """Hand fetches to their partitions until the end, or until a partition has failed."""
        while not self._over.is_set():
            if any(each.done() for each in running):
                _raise_first(running, self._flow)
            self._fetched.clear()
            while (fetched := self._take(fetcher)) is not None:
                if (copy := self._copies.get(fetched.state.partition)) is not None:
                    copy.offer(fetched)
            await self._look_at_lost(fetcher)
            is_full = self._held >= HELD_BYTES
            if is_full:
                await asyncio.sleep(_ROOM_S)
                continue
            with suppress(TimeoutError):
                async with asyncio.timeout(_LOOK_S):
                    await self._fetched.wait()

    @property
    def _held(self) -> int:
        return sum(each.held_bytes for each in self._copies.values())

    def _take(self, fetcher: Fetcher) -> CompletedFetch | None:
        if self._held >= HELD_BYTES:
            return None
        fetched = fetcher.buffer.take()
        if fetched is not None:
            fetched.state.progress.deliver(fetched.next_offset, fetched.next_offset)
        return fetched

    async def _look_at_lost(self, fetcher: Fetcher) -> None:
        """Go on behind what is gone from the source, and say so."""
        for name, error in list(fetcher.unavailable.items()):
            copy = self._copies.get(name)
            if copy is None or error.retriable or isinstance(error, UnknownTopic) or copy.is_busy:
                continue  # what came before is written first
            if not isinstance(error, DataLost):
                copy.end()
                self._leave_out(name, error, fetcher)
                continue
            topic = self._source.known_topic(name.topic)
            if topic is None or not copy.position.is_of(topic.topic_id):
                fetcher.remove([name])
                self.end()  # the next start begins with the new topic
                continue
            first, end = (await beginning_and_end(self._source, [name], _ISOLATION))[name]
            position = copy.position.offset
            where = f"{DATA_LOST}: partition {name} of {self._flow.source.name}"
            if position < first:
                self._tell(
                    f"{where}: offsets {position} to {first - 1} were deleted, by retention or by "
                    f"hand, before they were copied; copying continues at {first}"
                )
            else:
                self._tell(
                    f"{where} was copied up to offset {position} and now ends at {end}: its log "
                    "was truncated. Copying continues at its end"
                )
            copy.jump(max(first, min(position, end)))


def _raise_first(running: list[asyncio.Task[None]], flow: Flow) -> None:
    for task in running:
        error = task.exception() if task.done() and not task.cancelled() else None
        if isinstance(error, ProducerFenced):
            raise AnotherRun(
                f"flow {flow.name} also runs elsewhere, and that run has taken over. (Or this "
                "machine was suspended for longer than a transaction may take.)"
            ) from error
        if error is not None:
            raise error
