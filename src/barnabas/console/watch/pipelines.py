"""Running pipelines, by what they report to their topic, and how they were in the last minutes."""

from collections import deque
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from urllib.parse import quote

from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.connect.connection_pool import Channel
from barnabas.client.offsets.list_offsets import EARLIEST, list_offsets
from barnabas.console.messages.ranges import RangeReader
from barnabas.console.watch.events import EventLog
from barnabas.console.watch.history import POINTS
from barnabas.diagnosis.facts import Facts
from barnabas.diagnosis.sample import Sample
from barnabas.errors import BarnabasError
from barnabas.flow.lag_time import LagTime
from barnabas.flow.reports import LOST_AFTER_S, TOPIC, Report, decode, key_of

SERIES = (
    *("rows_in_per_s", "rows_out_per_s", "batch_duration_ms", "lag", "lag_s"),
    *("watermark_delay_s", "state_rows", "state_bytes", "dead_letters"),
)
"""What the plots of a pipeline show, in the order of a point, after its time."""
LOST = "lost"
_WORKS = ("running", "waiting")
_MOST = 1_000
_LETTERS = ".dead-letters"
"""How groups end that keep track of dead letters."""
_PARTITION = TopicPartition(TOPIC, 0)
_EVENTS = {
    "failed": ("bad", "has failed"),
    "waiting": ("warning", "has failed and is restarted"),
    "running": ("good", "runs"),
    "stopped": ("info", "was stopped"),
    "done": ("info", "has processed what there was"),
    LOST: ("bad", "no longer reports: its process may have died"),
}


@dataclass(slots=True)
class Followed:
    """A pipeline: its last report, when that came, and points of its plots."""

    report: Report
    heard_ms: int
    state: str
    lag: int | None = None
    """Records that its group has not read, of the last sample: a report is as of its last batch."""
    lag_s: float | None = None
    lag_time: LagTime = field(default_factory=LagTime)
    points: deque[list[float | None]] = field(default_factory=lambda: deque(maxlen=POINTS))


class PipelineWatch:
    """Reads the reports as they come."""

    def __init__(self, client: ClusterClient, events: EventLog) -> None:
        self._client = client
        self._channel = Channel()
        self._events = events
        self._next: int | None = None
        self.followed: dict[str, Followed] = {}
        self.error: str | None = None
        """Why reports can't be read."""

    async def follow(self, sample: Sample, now_ms: int) -> bool:
        """Read what came since the last call; True if it has new pipelines."""
        end = sample.ends.get(_PARTITION)
        if end is None:  # there is no such topic, or it has no leader now
            return False
        known = len(self.followed)
        self._measure(sample, now_ms)
        try:
            await self._read(end)
        except BarnabasError as error:
            self.error = str(error)
            return False
        self.error = None
        for key, each in self.followed.items():
            self._settle(key, each, now_ms)
        if len(self.followed) > known:
            self._measure(sample, now_ms)
        return len(self.followed) > known

    def is_bookkeeping(self, group_id: str) -> bool:
        """Whether a pipeline keeps track of its dead letters in this group."""
        return group_id.endswith(_LETTERS) and any(
            group_id.startswith(f"{each.report['pipeline']}.") for each in self.followed.values()
        )

    def as_members(self, facts: Facts) -> Facts:
        """The same facts, with running pipelines as members of their groups.

        Spark commits offsets without being a member: a group that looks abandoned may be in use.
        """
        works = [each for each in self.followed.values() if each.state in _WORKS]
        running = {each.report["pipeline"] for each in works}
        groups = [
            each._replace(state="Stable") if each.group_id in running else each
            for each in facts.groups
            if not self.is_bookkeeping(each.group_id)
        ]
        return replace(facts, groups=groups)

    async def _read(self, end: int) -> None:
        if self._next is not None and self._next > end:  # it was deleted and created again
            self._next = None
        is_first = self._next is None
        if self._next is None:
            found = await list_offsets(self._client, {_PARTITION: EARLIEST})
            self._next = found[_PARTITION].offset
        reader = RangeReader(self._client, self._channel, _PARTITION, end)
        while self._next < end:
            piece = await reader.read_piece(self._next, end)
            for each in piece.records:
                self._take(each.message.value, each.message.timestamp_ms, is_quiet=is_first)
            self._next = piece.next_offset

    def _take(self, value: bytes | None, at_ms: int, *, is_quiet: bool) -> None:
        report = decode(value)
        if report is None:
            return
        key = key_of(report)
        state = report["state"] or "unknown"
        known = self.followed.get(key)
        if known is None:
            if len(self.followed) >= _MOST:
                del self.followed[min(self.followed, key=lambda one: self.followed[one].heard_ms)]
            known = self.followed[key] = Followed(report, at_ms, "" if not is_quiet else state)
        if not is_quiet and state != known.state:
            self._tell(at_ms, key, report, state)
        known.report, known.heard_ms, known.state = report, at_ms, state
        known.points.append(_point(known, at_ms))

    def _measure(self, sample: Sample, now_ms: int) -> None:
        """How far pipelines are behind now, by what their groups have committed."""
        committed = {each.members.group_id: each.committed for each in sample.groups}
        for one in self.followed.values():
            topics = {name for kind, name in one.report["reads"] if kind == "topic"}
            offsets = {
                name: offset
                for name, offset in committed.get(one.report["pipeline"], {}).items()
                if name.topic in topics and name in sample.partitions
            }
            if not offsets:
                one.lag = one.lag_s = None  # what was reported counts
                continue
            if not offsets.keys() <= sample.ends.keys():
                continue  # a partition without a leader: its end is not known now
            there = sum(sample.ends[name] for name in offsets)
            read = sum(min(offset, sample.ends[name]) for name, offset in offsets.items())
            one.lag_time.add(now_ms / 1000, there, read)
            one.lag, one.lag_s = there - read, one.lag_time.seconds(now_ms / 1000)

    def _settle(self, key: str, one: Followed, now_ms: int) -> None:
        """Notice those that no longer report."""
        if one.state in _WORKS and now_ms - one.heard_ms > LOST_AFTER_S * 1000:
            one.state = LOST
            self._tell(now_ms, key, one.report, LOST)

    def _tell(self, at_ms: int, key: str, report: Report, state: str) -> None:
        if state in _EVENTS:
            severity, what = _EVENTS[state]
            link = f"/pipeline?id={quote(key, safe='')}"
            self._events.add(at_ms, severity, f"Pipeline {report['pipeline']} {what}", link)


def _point(one: Followed, at_ms: int) -> list[float | None]:
    values: dict[str, Any] = {**one.report, "watermark_delay_s": _delay_s(one.report, at_ms)}
    if one.lag is not None:
        values |= {"lag": one.lag, "lag_s": one.lag_s}
    if one.state not in _WORKS:
        values |= {"rows_in_per_s": 0.0, "rows_out_per_s": 0.0}
    return [at_ms, *(values[name] for name in SERIES)]


def _delay_s(report: Report, at_ms: int) -> float | None:
    """How far the watermark is behind the clock."""
    try:
        watermark = datetime.fromisoformat(report["watermark"] or "")
    except ValueError:
        return None
    return round(at_ms / 1000 - watermark.timestamp(), 3)
