"""How a query is doing: what Spark reports of every micro-batch, summed up."""

import json
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from barnabas.flow.lag_time import LagTime
from barnabas.metrics.histogram import Histogram
from barnabas.spark.pipelines.expectations.rule_counts import RuleCount, read_counts
from barnabas.spark.pipelines.run.batch_durations import batch_durations
from barnabas.spark.pipelines.traces.sampled_traces import read_traces

OUTPUT_METRIC = "barnabas_output"
"""The name under which a query counts the rows that it gives to its sink."""

_WINDOW_S = 10.0
_NO_WATERMARK = "1970-01-01T00:00:00.000Z"


@dataclass(frozen=True, slots=True)
class Batch:
    """One micro-batch."""

    number: int
    began: float
    duration_ms: int
    rows_in: int
    rows_out: int
    rows_late: int
    records: tuple[int, int] | None
    """The sums of the last offsets in the topics, and of those that were read."""
    watermark: str | None
    state_rows: int
    state_bytes: int
    read: Mapping[str, int] = field(default_factory=dict)
    """How many records of each topic it included."""
    expectations: Mapping[str, RuleCount] = field(default_factory=dict)
    """Rows that passed and failed each rule, by the rule's label."""
    traces: tuple[str, ...] = ()
    """Some of the traces that its records belong to, as their headers `traceparent` have them."""

    @property
    def ended(self) -> float:
        return self.began + self.duration_ms / 1000

    @property
    def lag(self) -> int | None:
        """How many records of the topics the batch did not include."""
        return None if self.records is None else self.records[0] - self.records[1]


def is_of_a_batch(report: Mapping[str, Any]) -> bool:
    """Spark reports idleness too, under the number of the batch that comes next."""
    return "addBatch" in report.get("durationMs", {})


def read_batch(report: Mapping[str, Any]) -> Batch:
    """The parts of Spark's report that are of interest."""
    operators = report.get("stateOperators", [])
    watermark = report.get("eventTime", {}).get("watermark")
    observed = report.get("observedMetrics", {})
    output = observed.get(OUTPUT_METRIC) or {}
    return Batch(
        number=report["batchId"],
        began=datetime.fromisoformat(report["timestamp"]).timestamp(),
        duration_ms=report.get("batchDuration", 0),
        rows_in=report.get("numInputRows", 0),
        rows_out=output.get("rows", 0),
        rows_late=sum(each.get("numRowsDroppedByWatermark", 0) for each in operators),
        records=_records(report.get("sources", [])),
        watermark=None if watermark == _NO_WATERMARK else watermark,
        state_rows=sum(each.get("numRowsTotal", 0) for each in operators),
        state_bytes=sum(each.get("memoryUsedBytes", 0) for each in operators),
        read=_read(report.get("sources", [])),
        expectations=read_counts(observed),
        traces=read_traces(observed),
    )


def _records(sources: list[Mapping[str, Any]]) -> tuple[int, int] | None:
    """How many records of topics there are, and how many of them were read."""
    there = read = None
    for source in sources:
        latest, end = _offsets(source.get("latestOffset")), _offsets(source.get("endOffset"))
        if latest is not None and end is not None:
            there = (there or 0) + sum(latest.values())
            read = (read or 0) + sum(
                min(end.get(each, 0), offset) for each, offset in latest.items()
            )
    return None if there is None or read is None else (there, read)


def _read(sources: list[Mapping[str, Any]]) -> dict[str, int]:
    """Offsets that a batch went on by, for each topic; two sources may read the same."""
    found: dict[str, int] = {}
    for source in sources:
        began, ended = _offsets(source.get("startOffset")), _offsets(source.get("endOffset"))
        for (topic, partition), end in (ended or {}).items():
            records = max(0, end - (began or {}).get((topic, partition), 0))
            found[topic] = found.get(topic, 0) + records
    return found


def _offsets(value: Any) -> dict[tuple[str, str], int] | None:
    """Offsets as Kafka's sources write them, {topic: {partition: offset}}; None for others.

    Entries that are not topics, such as the topic ids next to the offsets, are left out.
    """
    if isinstance(value, str):
        value = json.loads(value)
    if not isinstance(value, dict):
        return None
    found: dict[tuple[str, str], int] = {}
    for topic, partitions in value.items():
        if not isinstance(partitions, dict):
            return None
        if "@" not in topic:
            found |= {(topic, partition): int(offset) for partition, offset in partitions.items()}
    return found


@dataclass
class Progress:
    """All batches of a query since it was first started in this run."""

    rows_in: int = 0
    rows_out: int = 0
    rows_late: int = 0
    batches: int = 0
    dead_letters: int = 0
    """Records that were written to dead-letter topics."""
    expectations: dict[str, RuleCount] = field(default_factory=dict)
    last: Batch | None = None
    watermark: str | None = None
    durations: Histogram = field(default_factory=batch_durations)
    lag_time: LagTime = field(default_factory=LagTime)
    _recent: deque[Batch] = field(default_factory=deque)

    def add(self, batch: Batch) -> None:
        self.rows_in += batch.rows_in
        self.rows_out += batch.rows_out
        self.rows_late += batch.rows_late
        self.batches += 1
        for label, count in batch.expectations.items():
            self.expectations[label] = self.expectations.get(label, RuleCount()).plus(count)
        self.last = batch
        self.watermark = batch.watermark or self.watermark
        self.durations.observe(batch.duration_ms / 1000)
        if batch.records is not None:
            self.lag_time.add(batch.ended, *batch.records)
        self._recent.append(batch)

    def rates(self, now: float) -> tuple[float, float]:
        """Rows per second, in and out, over the last seconds."""
        recent, span_s = self._of_last_seconds(now)
        rows_in = sum(batch.rows_in for batch in recent)
        return rows_in / span_s, sum(batch.rows_out for batch in recent) / span_s

    def topic_rates(self, now: float) -> dict[str, float]:
        """Records per second that were read of each topic, over the last seconds."""
        recent, span_s = self._of_last_seconds(now)
        read: dict[str, float] = dict.fromkeys(self.last.read if self.last else (), 0.0)
        for batch in recent:
            for topic, records in batch.read.items():
                read[topic] = read.get(topic, 0.0) + records / span_s
        return read

    def _of_last_seconds(self, now: float) -> tuple[list[Batch], float]:
        # Between two long batches the rate is that of the last one, and not 0.
        usual_s = 2 * self.last.duration_ms / 1000 if self.last is not None else 0.0
        while self._recent and self._recent[0].ended < now - max(_WINDOW_S, usual_s):
            self._recent.popleft()
        recent = list(self._recent)
        # After a long time without batches, the next one does not lower the rate.
        return recent, max(now - recent[0].began, 1.0) if recent else 1.0
