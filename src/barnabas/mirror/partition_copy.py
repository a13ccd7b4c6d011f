"""Copies one partition for as long as this process has it.

    fetches of the source -> queue -> batches of one transaction -> target

While a transaction is written, the next one gathers. A partition that trickles waits a moment
between transactions, because each of them costs the target several requests and flushes, however
small it is.

After an error all that is uncertain is forgotten: the writer starts again, says which position
counts, and the source is read from there.
"""

import asyncio
from collections import deque
from contextlib import suppress
from typing import NamedTuple

from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.connect.environment import RETRY
from barnabas.client.consumer.completed_fetch import CompletedFetch, visible_batches
from barnabas.client.consumer.fetcher import Fetcher
from barnabas.errors import (
    BarnabasError,
    BrokerError,
    CommitUncertain,
    CorruptRecords,
    TransactionAborted,
    UnknownTopic,
)
from barnabas.mirror.batches import BatchConversion, OutgoingBatch
from barnabas.mirror.copy_report import UNKNOWN, CopyReport, PartitionState, RecoveredPartition
from barnabas.mirror.flow import Flow, Start
from barnabas.mirror.named_client import said_in
from barnabas.mirror.offsets.recent_runs import MAX_SEGMENTS, RecentRuns, segments_of
from barnabas.mirror.offsets.segment import Segment
from barnabas.mirror.offsets.translation import Translation
from barnabas.mirror.partition_writer import PartitionWriter
from barnabas.mirror.positions import SourcePosition
from barnabas.mirror.rate_limit import RateLimit
from barnabas.mirror.syncs import OffsetSync, merged
from barnabas.mirror.write_budget import WriteBudget
from barnabas.records.errors import RecordsError

INTERVAL_S = 0.05
"""From the begin of one transaction of a partition to the next, unless there is much to write."""

MUCH_BYTES = 1024 * 1024

IDLE_COMMIT_S = 1.0
"""How long a position may be behind if all there was is not for the target, such as markers."""


COMMIT_POSITION_S = 3600.0
"""How often the position of an idle partition is committed: committed offsets expire."""


class CopiedPartition(NamedTuple):
    """A partition to copy."""

    source: TopicPartition
    target: TopicPartition
    start: Start = "earliest"
    """Where it begins if it was never copied."""
    commits_position: bool = False
    """Whether the position is to be committed at once, even if nothing is copied."""


class PartitionCopy:
    """Of one partition; its fetches are offered to it."""

    def __init__(
        self,
        flow: Flow,
        partition: CopiedPartition,
        position: SourcePosition,
        writer: PartitionWriter,
        fetcher: Fetcher,
        conversion: BatchConversion,
        limit: RateLimit,
        budget: WriteBudget,
    ) -> None:
        self.partition = partition
        self.position = position
        self._flow = flow
        self._report = CopyReport()
        self._history: Translation | None = None
        self._after = 0
        self._trouble = ""
        self._writer = writer
        self._fetcher = fetcher
        self._conversion = conversion
        self._limit = limit
        self._budget = budget
        self._queue: deque[CompletedFetch] = deque()
        self._news = asyncio.Event()
        self._is_ending = False
        self._is_owner = False
        self._is_writing = False
        self._failures = 0
        self._timestamp_ms = UNKNOWN
        self._began_at = 0.0
        self._committed_at = 0.0
        self._is_uncommitted = partition.commits_position
        self.queued_bytes = 0
        self._writing_bytes = 0

    # -- what comes in -------------------------------------------------------------------------

    def offer(self, fetched: CompletedFetch) -> None:
        """Take what was fetched next."""
        self._queue.append(fetched)
        self.queued_bytes += len(fetched.data)
        self._news.set()

    def end(self) -> None:
        """Finish the transaction that is being written, and return from `run`."""
        self._is_ending = True
        self._forget()
        self._news.set()

    def jump(self, offset: int) -> None:
        """Go on elsewhere, because there is nothing in between."""
        self.position = self.position._replace(offset=offset)
        self._is_uncommitted = True
        self._fetcher.seek(self.partition.source, offset)

    @property
    def held_bytes(self) -> int:
        """What is queued or under way to the target: all of it is in memory."""
        return self.queued_bytes + self._writing_bytes

    @property
    def is_busy(self) -> bool:
        """Whether something is queued or being written."""
        return bool(self._queue) or self._is_writing

    def take_report(self, end: int | None) -> CopyReport:
        """What was copied since the last call, if the source ends there; None: it is not known."""
        report, self._report = self._report, CopyReport()
        report.syncs = merged(report.syncs)
        report.states.append(
            PartitionState(
                self.partition.source,
                self.partition.target,
                self.position.offset,
                UNKNOWN if end is None else max(0, end - self.position.offset),
                self._timestamp_ms,
            )
        )
        if trouble := self._take_trouble():
            report.problems.append(trouble)
        return report

    def _take_trouble(self) -> str:
        """What keeps it from writing, or has done so since the last call; empty if nothing did."""
        trouble = self._trouble
        if not self._failures:
            self._trouble = ""
        return trouble

    # -- copying -------------------------------------------------------------------------------

    async def run(self) -> None:
        """Copy until `end`. Raises what no attempt will change."""
        try:
            while not (self._is_ending and not self._queue and not self._is_uncommitted):
                await self._wait()
                self._is_writing = True
                try:
                    await self._step()
                except BarnabasError as error:
                    if not _may_pass(error):
                        raise
                    if not await self._start_again(error):
                        return
                finally:
                    self._is_writing = False
        finally:
            await self._writer.close()

    async def _wait(self) -> None:
        """Return when there is something to write, and it is time for that."""
        if not self._queue and not self._is_ending:
            news = await self._hear(IDLE_COMMIT_S if self._is_uncommitted else COMMIT_POSITION_S)
            self._is_uncommitted = self._is_uncommitted or not news
        due = self._began_at + INTERVAL_S
        while self._queue and self.queued_bytes < MUCH_BYTES and not self._is_ending:
            pause_s = due - asyncio.get_running_loop().time()
            if pause_s <= 0:
                return
            await self._hear(pause_s)

    async def _hear(self, timeout_s: float) -> bool:
        """Wait for the next fetch, or for the end; False if neither has come."""
        self._news.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                return await self._news.wait()
        return False

    async def _step(self) -> None:
        """One transaction, if there is something to commit."""
        if not self._is_owner:
            await self._take_over()
        end, size, batches = self._gather()
        if not batches and end == self.position.offset and not self._is_uncommitted:
            return
        is_idle = not batches and not self._is_ending
        now = asyncio.get_running_loop().time()
        if is_idle and self._committed_at and now - self._committed_at < IDLE_COMMIT_S:
            self.position = self.position._replace(offset=end)
            self._is_uncommitted = True
            return
        reached = self.position._replace(offset=end, recent=self._recent(batches))
        self._writing_bytes = size
        try:
            await self._limit.take(size)
            async with self._budget.taken(size):
                self._began_at = asyncio.get_running_loop().time()
                offsets = await self._writer.write(batches, reached)
        finally:
            self._writing_bytes = 0
        self._committed_at = asyncio.get_running_loop().time()
        self.position = reached
        self._is_uncommitted = False
        self._failures = 0
        self._note(batches, offsets)

    async def _take_over(self) -> None:
        """Own the partition, and go on at the position that counts by now."""
        committed = await self._writer.start()
        self._is_owner = True
        if committed is not None and not committed.is_of(self.position.topic_id):
            committed = None
        await self._recover(None if committed is None else committed.recent)
        if committed is None:
            return
        is_jump = self._is_uncommitted and committed.offset < self.position.offset
        if committed.offset != self.position.offset and not is_jump:
            self._forget()
            self.position = self.position._replace(offset=committed.offset)
            self._fetcher.seek(self.partition.source, committed.offset)

    def _gather(self) -> tuple[int, int, list[OutgoingBatch]]:
        """The batches of the next transaction, their size, and the offset behind them."""
        end, size, most = self.position.offset, 0, self._budget.transaction_bytes
        batches: list[OutgoingBatch] = []
        while self._queue and size < most:
            fetched = self._queue[0]
            if fetched.is_current and fetched.next_offset > end:
                end, made = self._converted(fetched, end, most - size)
                batches += made
                size += sum(len(each.buffer) for each in made)
                if end < fetched.next_offset:
                    break  # the rest of it is for the next transaction
            self.queued_bytes -= len(self._queue.popleft().data)
        return end, size, batches

    def _converted(
        self, fetched: CompletedFetch, start: int, most: int
    ) -> tuple[int, list[OutgoingBatch]]:
        """Batches from `start` on, up to the one with which they reach `most`, and their end."""
        end, size = start, 0
        batches: list[OutgoingBatch] = []
        try:
            for header, batch in visible_batches(fetched):
                if size >= most:
                    return end, batches
                for made in self._conversion.outgoing(header, batch, start):
                    batches.append(made)
                    size += len(made.buffer)
                end = max(end, header.next_offset)
        except RecordsError as error:
            raise CorruptRecords(
                f"partition {self.partition.source} of {self._flow.source.name}: a batch after "
                f"offset {start} is damaged ({error}). Repair it there, or move the position of "
                "the flow behind it"
            ) from error
        return fetched.next_offset, batches

    async def _recover(self, recent: RecentRuns | None) -> None:
        """Find out where records are that this process has not written, or does not know of."""
        source, target = self.partition.source, self.partition.target
        found = [] if recent is None else await self._writer.recovered(recent)
        if self._history is None:
            self._history = Translation(found, MAX_SEGMENTS)
            if found:
                self._report.recovered.append(RecoveredPartition(source, target, list(found)))
        else:  # a transaction that was committed after all
            end = self._history.upstream_end or 0
            for each in found:
                if each.since >= end and not each.slack:
                    sync = OffsetSync(source, target, each.upstream, each.downstream, each.length)
                    self._report.syncs.append(sync)
            self._history.extend(found)
        is_whole = recent is not None and (found or not recent.pending)
        self._after = recent.after if recent is not None and is_whole else 0
        if found:
            self._after = max(self._after, found[-1].downstream_end)
        if not is_whole:
            self._after = await self._writer.end_offset()

    def _recent(self, batches: list[OutgoingBatch]) -> RecentRuns:
        """What is to be committed with the next position."""
        runs: list[tuple[int, int, int]] = []
        records = 0
        for batch in batches:
            runs += [(each.upstream, records + each.first, each.records) for each in batch.runs]
            records += batch.records
        known: list[Segment] = [] if self._history is None else self._history.segments
        return RecentRuns(self._writer.producer_id, self._after, known, segments_of(runs))

    def _note(self, batches: list[OutgoingBatch], offsets: list[int]) -> None:
        source, target = self.partition.source, self.partition.target
        for batch, offset in zip(batches, offsets, strict=True):
            self._timestamp_ms = max(self._timestamp_ms, batch.max_timestamp)
            self._report.records += batch.records
            self._report.bytes += len(batch.buffer)
            for upstream, first, records in batch.runs:
                sync = OffsetSync(source, target, upstream, offset + first, records)
                self._report.syncs.append(sync)
                if self._history is not None:
                    self._history.add(sync.upstream, sync.downstream, sync.records)
                self._after = sync.downstream_end

    # -- after errors --------------------------------------------------------------------------

    async def _start_again(self, error: BarnabasError) -> bool:
        """Wait, and forget what is uncertain; False if it is ending."""
        self._failures += 1
        self._is_owner = False
        self._forget()
        where = f"partition {self.partition.target} of {self._flow.target.name}"
        self._trouble = f"{where}: {said_in(self._flow.target.name, error)}; trying again"
        if self._is_ending:
            return False
        self._fetcher.pause(self.partition.source)
        await asyncio.sleep(RETRY.pause(self._failures))
        self._fetcher.seek(self.partition.source, self.position.offset)
        self._fetcher.resume(self.partition.source)
        return True

    def _forget(self) -> None:
        self._queue.clear()
        self.queued_bytes = 0


def _may_pass(error: BarnabasError) -> bool:
    """Whether another attempt may help: a topic that is gone may be created by the next plan."""
    if isinstance(error, UnknownTopic | CommitUncertain):
        return True
    return error.retriable or (
        isinstance(error, BrokerError) and TransactionAborted.because(error).retriable
    )
