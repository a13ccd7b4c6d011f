"""Takes samples of the cluster and runs the doctor's checks, while somebody looks.

A sample is taken every two seconds, or less often: it may not keep the cluster busy for more than a
tenth of the time. Tables are made in a thread: those of ten thousand topics take a while, in which
pages are answered. Without a viewer it is taken twice a minute, so that plots have a past.
"""

import asyncio
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from time import monotonic, time

from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.console.watch.events import EventLog
from barnabas.console.watch.group_rows import GroupRow, group_rows
from barnabas.console.watch.history import POINTS, LagHistory, Throughput
from barnabas.console.watch.pipelines import PipelineWatch
from barnabas.console.watch.topic_rows import TopicRow, lags_of, topic_rows
from barnabas.coordination.mirror_groups import is_of_mirror
from barnabas.diagnosis.collect.snapshot import take_snapshot
from barnabas.diagnosis.examine import examine
from barnabas.diagnosis.facts import Facts, Limits
from barnabas.diagnosis.finding import Finding
from barnabas.diagnosis.rates import Rates, rates_of
from barnabas.diagnosis.sample import Sample, Sampler
from barnabas.errors import BarnabasError

SAMPLE_S = 2.0
HEALTH_S = 10.0
_IDLE_S = 30.0
_VIEWED_S = 60.0
_SHARE = 10
"""A round may take one part in so many of the time."""


@dataclass(slots=True)
class Looked:
    """What the last sample says, with the lists made from it."""

    at_ms: int
    sample: Sample
    rates: Rates
    lags: dict[str, dict[TopicPartition, int]]
    topics: list[TopicRow]
    groups: list[GroupRow]


@dataclass(slots=True)
class Watch:
    """One user's view of the cluster over time."""

    client: ClusterClient
    events: EventLog = field(default_factory=EventLog)
    throughput: deque[Throughput] = field(default_factory=lambda: deque(maxlen=POINTS))
    lags: LagHistory = field(default_factory=LagHistory)
    pipelines: PipelineWatch = field(init=False)
    last: Looked | None = None
    facts: Facts | None = None
    findings: list[Finding] = field(default_factory=list)
    error: str | None = None
    """Why the last sample failed."""
    failing_since_ms: int | None = None
    _tasks: list[asyncio.Task[None]] = field(default_factory=list)
    _viewed_at: float = 0.0
    _first: asyncio.Event = field(default_factory=asyncio.Event)
    _sample_now: asyncio.Event = field(default_factory=asyncio.Event)
    _examine_now: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.pipelines = PipelineWatch(self.client, self.events)

    def start(self) -> None:
        """Begin, in the running event loop."""
        self._tasks = [asyncio.ensure_future(self._sampling()), asyncio.ensure_future(self._care())]

    async def close(self) -> None:
        for each in self._tasks:
            each.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def look(self) -> Looked | None:
        """What is known now; waits for the first sample, or until that has failed."""
        for each in self._tasks:
            if each.done():
                each.result()  # a defect of the console: say so
        if monotonic() - self._viewed_at > _VIEWED_S:
            self._sample_now.set()
            self._examine_now.set()
        self._viewed_at = monotonic()
        await self._first.wait()
        return self.last

    @property
    def groups_of_readers(self) -> list[GroupRow]:
        """All groups but those in which mirrors record positions, and pipelines dead letters."""
        groups = [] if self.last is None else self.last.groups
        return [
            each
            for each in groups
            if not is_of_mirror(each.id) and not self.pipelines.is_bookkeeping(each.id)
        ]

    def changed(self) -> None:
        """Take the next sample at once: something was changed from here."""
        self._sample_now.set()

    # -- samples -------------------------------------------------------------------------------

    async def _sampling(self) -> None:
        sampler = Sampler(self.client, members=False)
        while True:
            began = monotonic()
            try:
                sample = await sampler.take()
                before = None if self.last is None else self.last.sample
                self._accept(await asyncio.to_thread(_look, before, sample))
                if await self.pipelines.follow(sample, int(time() * 1000)):
                    self._examine_now.set()  # groups of pipelines need no members
            except BarnabasError as error:
                self._fail(error)
            self._first.set()
            await self._pause(self._sample_now, SAMPLE_S, monotonic() - began)

    def _accept(self, looked: Looked) -> None:
        at_ms, sample, lags = looked.at_ms, looked.sample, looked.lags
        before = self.last.sample if self.last is not None else sample
        if self.error is not None:
            self.events.add(at_ms, "good", "The cluster answers again")
            self.error = self.failing_since_ms = None
            self._examine_now.set()
        if before is not sample and self.events.compare(at_ms, before, sample):
            self._examine_now.set()
        self.last = looked
        lag = sum(row.lag or 0 for row in self.groups_of_readers)
        self.throughput.append(_throughput(at_ms, self.last, before, lag))
        if sample.ends:
            self.lags.add(at_ms, lags)

    def _fail(self, error: BarnabasError) -> None:
        at_ms = int(time() * 1000)
        if self.error is None:
            self.failing_since_ms = at_ms
            self.events.add(at_ms, "bad", f"The cluster does not answer: {error}")
        self.error = str(error)
        self.throughput.append(Throughput(at_ms, None, None, None, None))

    # -- health --------------------------------------------------------------------------------

    async def _care(self) -> None:
        await self._first.wait()  # a page that opens waits for the first sample only
        while True:
            began = monotonic()
            with suppress(BarnabasError):  # the samples say so
                facts = self.pipelines.as_members(await take_snapshot(self.client, Limits()))
                self.findings = await asyncio.to_thread(examine, facts)
                if self.facts is not None:
                    before, now = self.facts.status.nodes, facts.status.nodes
                    self.events.compare_nodes(int(time() * 1000), before, now)
                self.facts = facts
            await self._pause(self._examine_now, HEALTH_S, monotonic() - began)

    async def _pause(self, wanted: asyncio.Event, at_least_s: float, took_s: float) -> None:
        is_viewed = monotonic() - self._viewed_at < _VIEWED_S
        pause_s = max(at_least_s if is_viewed else _IDLE_S, took_s * (_SHARE - 1))
        shortest_s = min(pause_s, SAMPLE_S / 4)
        await asyncio.sleep(shortest_s)  # what changes often is not followed step by step
        with suppress(TimeoutError):
            await asyncio.wait_for(wanted.wait(), max(0.0, pause_s - shortest_s))
        wanted.clear()


def _look(before: Sample | None, sample: Sample) -> Looked:
    rates = rates_of(before or sample, sample)
    lags = lags_of(sample)
    return Looked(
        int(time() * 1000),
        sample,
        rates,
        lags,
        topic_rows(sample, rates, lags),
        group_rows(sample, rates, lags),
    )


def _throughput(at_ms: int, looked: Looked, before: Sample, lag: int) -> Throughput:
    if before is looked.sample or not (looked.sample.ends and before.ends):
        return Throughput(at_ms, None, None, None, lag if looked.sample.ends else None)
    rows = [row for row in looked.rates.topics if not row.topic.startswith("__")]
    out = [row.bytes_out_s for row in rows if row.bytes_out_s is not None]
    return Throughput(
        at_ms,
        sum(row.records_s for row in rows),
        sum(row.bytes_in_s for row in rows),
        sum(out) if out or not rows else None,
        lag,
    )
