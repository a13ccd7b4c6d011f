"""Copies partitions for a while: the work of one task.

A round lasts minutes, because nothing is copied between two of them, and reports every second. It
ends early if it is told to, or if only a new round can go on, as when a topic was created again. It
does not fail because a cluster is away for a while: it reports that, and tries again. What no
attempt will change is raised.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeAlias

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
from barnabas.mirror.flow import Flow
from barnabas.mirror.names import is_heartbeats
from barnabas.mirror.partition_copy import CopiedPartition, PartitionCopy
from barnabas.mirror.partition_writer import PartitionWriter
from barnabas.mirror.positions import SourcePosition, fetch_positions
from barnabas.mirror.provenance import provenance_of
from barnabas.mirror.rate_limit import RateLimit
from barnabas.mirror.round_report import DATA_LOST, PROBLEM, ReportRow
from barnabas.mirror.write_budget import WriteBudget
from barnabas.records.compression import Compression

HELD_BYTES = 32 * 1024 * 1024
"""The source is not read while so much waits to be written, or is under way to the target."""

_TUNING = FetchTuning(max_wait_ms=500, max_bytes=2 * 1024 * 1024, partition_max_bytes=1024 * 1024)
"""An answer of the source comes in time over a link of 100 kB/s."""
REPORT_S = 1.0
"""From one report to the next."""

Hear: TypeAlias = Callable[[list[ReportRow]], Awaitable[bool]]
"""Takes a report; the answer is whether the round goes on."""

_AWAY_S = 5.0
_LOOK_S = 0.2
_ROOM_S = 0.005
_END_S = 30.0
_ISOLATION = IsolationLevel.READ_COMMITTED


class CopyRound:
    """One round. Source and target are clients of the same event loop."""

    def __init__(
        self,
        source: ClusterClient,
        target: ClusterClient,
        flow: Flow,
        partitions: Sequence[CopiedPartition],
        bytes_per_second: float | None = None,
    ) -> None:
        """The rate is the share of this task."""
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
        self._deadline = 0.0

    async def run(self, seconds: float, hear: Hear | None = None) -> list[ReportRow]:
        """Copy for so long, or until `hear` says that it is enough.

        Returns what was copied since the last report, the states, and what went wrong.
        """
        loop = asyncio.get_running_loop()
        self._deadline = loop.time() + seconds
        fetcher = Fetcher(self._source, self._fetched.set, isolation=_ISOLATION, tuning=_TUNING)
        try:
            await self._begin(fetcher)
        except BarnabasError as error:
            if not error.retriable:
                raise
            self._tell(f"flow {self._flow.name}: {error}; trying again")
            await asyncio.sleep(min(_AWAY_S, max(0.0, self._deadline - loop.time())))
            return self._report({})
        running = [asyncio.create_task(self._copy(each, fetcher)) for each in self._copies.values()]
        if hear is not None:
            running.append(asyncio.create_task(self._keep_reporting(fetcher, hear)))
        try:
            await self._dispatch(fetcher, running)
            for each in list(self._copies.values()):
                each.end()
            await asyncio.wait(running, timeout=_END_S)
            _raise_first(running, self._flow)
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
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

        The next round tries again.
        """
        if not is_heartbeats(self._flow, name.topic):
            raise error
        if self._copies.pop(name, None) is not None:
            fetcher.remove([name])
            self._left_out.append(
                f"topic {name.topic} of {self._flow.source.name} is not copied, others are: {error}"
            )

    async def _keep_reporting(self, fetcher: Fetcher, hear: Hear) -> None:
        """Report until the round is over, and end it if that is the answer."""
        loop = asyncio.get_running_loop()
        while (pause_s := min(REPORT_S, self._deadline - loop.time())) > 0:
            await asyncio.sleep(pause_s)
            ends = await self._ends()
            self._look_at_unavailable(fetcher)
            if not await hear(self._report(ends)):
                self._end_soon()

    def _end_soon(self) -> None:
        self._deadline = 0.0
        self._fetched.set()

    def _look_at_unavailable(self, fetcher: Fetcher) -> None:
        for partition, reason in fetcher.unavailable.items():
            self._tell(f"partition {partition} of the source: {reason}; trying again")

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

    def _report(self, ends: Mapping[TopicPartition, int]) -> list[ReportRow]:
        rows = []
        for name, each in self._copies.items():
            rows += [*each.take_rows(), each.state(ends.get(name))]
            if trouble := each.take_trouble():
                self._tell(trouble)
        problems, self._problems = self._problems, {}
        told = (*self._left_out, *problems)
        return [*rows, *(ReportRow(PROBLEM, message=each) for each in told)]

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
        firsts = await self._first_offsets(new)
        progresses = {}
        for each in present:
            topic_id = topics[each.source.topic].topic_id
            offset = firsts[each.source] if each.source in firsts else found[each.target].offset
            self._copies[each.source] = PartitionCopy(
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

    async def _first_offsets(self, partitions: list[CopiedPartition]) -> dict[TopicPartition, int]:
        times = {each.source: LATEST if each.start == "latest" else EARLIEST for each in partitions}
        found = await list_offsets(self._source, times, _ISOLATION)
        return {name: each.offset for name, each in found.items()}

    # -- while it lasts --------------------------------------------------------------------------

    async def _dispatch(self, fetcher: Fetcher, running: list[asyncio.Task[None]]) -> None:
        """Hand fetches to their partitions until the time is over, or a partition has failed."""
        loop = asyncio.get_running_loop()
        while loop.time() < self._deadline:
            if any(each.done() for each in running):
                _raise_first(running, self._flow)
            self._fetched.clear()
            while (fetched := self._take(fetcher)) is not None:
                if (copy := self._copies.get(fetched.state.partition)) is not None:
                    copy.offer(fetched)
            await self._look_at_lost(fetcher)
            is_full = self._held >= HELD_BYTES
            pause_s = min(self._deadline - loop.time(), _ROOM_S if is_full else _LOOK_S)
            try:
                async with asyncio.timeout(max(0.0, pause_s)):
                    await (asyncio.sleep(_ROOM_S) if is_full else self._fetched.wait())
            except TimeoutError:
                continue

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
                self._end_soon()  # the next round begins with the new topic
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
            raise BarnabasError(
                f"flow {flow.name} also runs elsewhere, and that run has taken over: this one "
                "stops. (Or this machine was suspended for longer than a transaction may take.)"
            ) from error
        if error is not None:
            raise error
