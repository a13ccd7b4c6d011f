"""Metrics of mirrors: what `barnabas mirror status` shows, for Prometheus.

Lag and groups are looked up at each scrape, by the code that `status` runs, so that both say the
same. Counters are of this process, from its own reports.
"""

import asyncio
from collections.abc import Iterable
from time import monotonic

from barnabas.errors import BarnabasError
from barnabas.metrics.exposition import Samples, counter, gauge
from barnabas.mirror.copy_report import CopyReport
from barnabas.mirror.flow import Flow
from barnabas.mirror.operations.mirror_clients import connect
from barnabas.mirror.operations.status import MirrorStatus, collect_status

_SOURCE_S = 3.0
_SCRAPE_S = 8.0
_FRESH_S = 1.0

_OF_PARTITION = ("flow", "topic", "partition")
_OF_GROUP = ("flow", "group", "topic", "partition")

RECORDS = counter(
    "barnabas_mirror_records_total", "Records copied by this process, without heartbeats.", "flow"
)
BYTES = counter("barnabas_mirror_bytes_total", "Bytes of batches copied.", "flow")
REPORTS = counter("barnabas_mirror_reports_total", "Reports of this process: one a second.", "flow")
PROBLEMS = gauge("barnabas_mirror_problems", "Current warnings.", "flow", alarm="above 0 for long")
STATUS_KNOWN = gauge(
    "barnabas_mirror_status_known",
    "1 if the target has answered this scrape; otherwise lag and groups are left out.",
    "flow",
    alarm="0 for minutes",
)
SOURCE_REACHABLE = gauge(
    "barnabas_mirror_source_reachable",
    "1 if the source has answered; otherwise its end offsets are the last known ones.",
    "flow",
    alarm="0 for minutes",
)
HEARTBEAT_AGE = gauge(
    "barnabas_mirror_heartbeat_age_seconds",
    "Time since the flow last wrote a heartbeat to the target.",
    "flow",
    alarm="above a minute",
)
LAG = gauge(
    "barnabas_mirror_lag_offsets",
    "Offsets of the source that are not copied, markers of transactions included.",
    *_OF_PARTITION,
    alarm="growing",
)
LAG_SECONDS = gauge(
    "barnabas_mirror_lag_seconds", "Age of the oldest record that is not copied.", *_OF_PARTITION
)
POSITION = gauge(
    "barnabas_mirror_position_offset", "Offset of the source that is copied next.", *_OF_PARTITION
)
GROUP_UPSTREAM = gauge(
    "barnabas_mirror_group_upstream_offset",
    "Committed offset of a group in the source.",
    *_OF_GROUP,
)
GROUP_TRANSLATED = gauge(
    "barnabas_mirror_group_translated_offset", "The same position in the target.", *_OF_GROUP
)
GROUP_COMMITTED = gauge(
    "barnabas_mirror_group_committed_offset",
    "Committed offset of the group in the target.",
    *_OF_GROUP,
)

METRICS = (
    *(RECORDS, BYTES, REPORTS, PROBLEMS, STATUS_KNOWN, SOURCE_REACHABLE, HEARTBEAT_AGE),
    *(LAG, LAG_SECONDS, POSITION, GROUP_UPSTREAM, GROUP_TRANSLATED, GROUP_COMMITTED),
)


class FlowMetrics:
    """Metrics of one flow. A listener of its reports; scrapes may come from another thread."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self._records = 0
        self._bytes = 0
        self._reports = 0
        self._problems: set[str] = set()
        self._status: MirrorStatus | None = None
        self._looked_at = -_FRESH_S

    def on_report(self, report: CopyReport) -> None:
        self._records += report.records
        self._bytes += report.bytes
        self._reports += 1
        self._problems = set(report.problems)

    async def refresh(self) -> None:
        """Look at both clusters, unless that was just done."""
        if monotonic() - self._looked_at < _FRESH_S:
            return
        self._status = None
        try:
            async with asyncio.timeout(_SCRAPE_S), connect(self.flow, _SOURCE_S) as clients:
                self._status = await collect_status(self.flow, clients)
        except (BarnabasError, TimeoutError):
            pass  # which the metrics say
        self._looked_at = monotonic()

    def add_to(self, samples: Samples) -> None:
        flow = self.flow.name
        samples.add(RECORDS, self._records, flow=flow)
        samples.add(BYTES, self._bytes, flow=flow)
        samples.add(REPORTS, self._reports, flow=flow)
        noted = () if self._status is None else self._status.problems
        samples.add(PROBLEMS, len(self._problems.union(noted)), flow=flow)
        samples.add(STATUS_KNOWN, int(self._status is not None), flow=flow)
        if self._status is not None:
            _add_status(samples, self._status)


async def scraped(flows: Iterable[FlowMetrics]) -> list[bytes]:
    """The text of a scrape, in parts."""
    samples = Samples()
    found = list(flows)
    await asyncio.gather(*(each.refresh() for each in found))
    for each in found:
        each.add_to(samples)
    return list(samples.encoded())


def _add_status(samples: Samples, status: MirrorStatus) -> None:
    flow = status.flow
    samples.add(SOURCE_REACHABLE, int(status.is_source_reachable), flow=flow)
    if status.heartbeat_age_seconds is not None:
        samples.add(HEARTBEAT_AGE, round(status.heartbeat_age_seconds, 3), flow=flow)
    for each in status.partitions:
        place: dict[str, str | int] = {
            "flow": flow,
            "topic": each.topic,
            "partition": each.partition,
        }
        samples.add(POSITION, each.position, **place)
        if each.lag is not None:
            samples.add(LAG, each.lag, **place)
        if each.lag_seconds is not None:
            samples.add(LAG_SECONDS, round(each.lag_seconds, 3), **place)
    for group in status.groups:
        where: dict[str, str | int]
        where = {"flow": flow, "group": group.group, "topic": group.topic}
        for metric, value in (
            (GROUP_UPSTREAM, group.upstream),
            (GROUP_TRANSLATED, group.translated),
            (GROUP_COMMITTED, group.committed),
        ):
            if value is not None:
                samples.add(metric, value, **where, partition=group.partition)
