"""The statuses of pipelines in Prometheus' text format.

Names, base units and types follow the conventions of Prometheus: seconds and bytes, `_total` for
counters. Counters start at 0 with every run.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias

from barnabas.spark.pipelines.run.batch_durations import BOUNDS_S, BatchDurations

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_PREFIX = "barnabas_pipeline_"
_STATES = ("running", "waiting", "done", "stopped", "failed")

Status: TypeAlias = dict[str, Any]
_Sample: TypeAlias = tuple[dict[str, str], float]


@dataclass(frozen=True)
class _Metric:
    name: str
    type: str
    help: str
    samples: Callable[[Status, float], Iterable[_Sample]]
    """Values, each with its labels in addition to the pipeline's."""


def _field(name: str) -> Callable[[Status, float], Iterator[_Sample]]:
    """A field of the status, if it has a value."""

    def samples(status: Status, _now: float) -> Iterator[_Sample]:
        if status.get(name) is not None:
            yield {}, status[name]

    return samples


def _watermark_delay(status: Status, now: float) -> Iterator[_Sample]:
    if status["watermark"] is not None:
        yield {}, now - datetime.fromisoformat(status["watermark"]).timestamp()


def _expectations(status: Status, _now: float) -> Iterator[_Sample]:
    for each in status["expectations"]:
        for result in ("passed", "failed"):
            yield {"rule": each["rule"], "result": result}, each[result]


def _states(status: Status, _now: float) -> Iterator[_Sample]:
    for state in _STATES:
        yield {"state": state}, int(status["state"] == state)


_METRICS = (
    _Metric("rows_in_total", "counter", "Rows read from the sources.", _field("rows_in")),
    _Metric("rows_out_total", "counter", "Rows given to the sink.", _field("rows_out")),
    _Metric(
        "late_rows_total",
        "counter",
        "Rows dropped because they were later than the watermark.",
        _field("rows_late"),
    ),
    _Metric(
        "dead_letters_total",
        "counter",
        "Records written to dead-letter topics.",
        _field("dead_letters"),
    ),
    _Metric(
        "expectation_rows_total",
        "counter",
        "Rows that passed and failed each rule of expect().",
        _expectations,
    ),
    _Metric("batches_total", "counter", "Finished micro-batches.", _field("batches")),
    _Metric(
        "restarts_total", "counter", "Restarts of the query after a failure.", _field("restarts")
    ),
    _Metric(
        "rows_in_per_second",
        "gauge",
        "Rows read, over the last 10 seconds.",
        _field("rows_in_per_s"),
    ),
    _Metric(
        "rows_out_per_second",
        "gauge",
        "Rows written, over the last 10 seconds.",
        _field("rows_out_per_s"),
    ),
    _Metric(
        "lag_records", "gauge", "Records left in the topics after the last batch.", _field("lag")
    ),
    _Metric(
        "lag_seconds",
        "gauge",
        "Age of the oldest known record that was not read.",
        _field("lag_s"),
    ),
    _Metric("state_rows", "gauge", "Rows in the state stores.", _field("state_rows")),
    _Metric("state_bytes", "gauge", "Memory of the state stores.", _field("state_bytes")),
    _Metric(
        "watermark_delay_seconds",
        "gauge",
        "How far the watermark is behind the clock.",
        _watermark_delay,
    ),
    _Metric(
        "last_batch_timestamp_seconds",
        "gauge",
        "When the last batch ended, in Unix time.",
        _field("batch_ended"),
    ),
    _Metric(
        "start_timestamp_seconds",
        "gauge",
        "When the pipeline was first started in this run, in Unix time.",
        _field("started"),
    ),
    _Metric("state", "gauge", "1 for the state that the query is in.", _states),
)
_DURATION = f"{_PREFIX}batch_duration_seconds"


def exposition(pipelines: Sequence[tuple[Status, BatchDurations]], now: float) -> str:
    """All metrics of all pipelines."""
    lines: list[str] = []
    for metric in _METRICS:
        name = f"{_PREFIX}{metric.name}"
        lines += _head(name, metric.type, metric.help)
        for status, _durations in pipelines:
            of = {"pipeline": status["pipeline"]}
            lines += [
                f"{name}{_labels(of | labels)} {value}"
                for labels, value in metric.samples(status, now)
            ]
    lines += _head(_DURATION, "histogram", "How long micro-batches took.")
    for status, durations in pipelines:
        lines += _histogram(status["pipeline"], durations)
    return "\n".join([*lines, ""])


def _head(name: str, kind: str, text: str) -> list[str]:
    return [f"# HELP {name} {text}", f"# TYPE {name} {kind}"]


def _histogram(pipeline: str, durations: BatchDurations) -> Iterator[str]:
    total = 0
    for bound, count in zip((*BOUNDS_S, "+Inf"), durations.counts, strict=True):
        total += count
        yield f"{_DURATION}_bucket{_labels({'pipeline': pipeline, 'le': str(bound)})} {total}"
    of = _labels({"pipeline": pipeline})
    yield f"{_DURATION}_sum{of} {durations.sum_s}"
    yield f"{_DURATION}_count{of} {total}"


def _labels(labels: dict[str, str]) -> str:
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items()) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
