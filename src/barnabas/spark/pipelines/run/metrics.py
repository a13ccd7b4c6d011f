"""The statuses of pipelines in Prometheus' text format.

Names, base units and types follow the conventions of Prometheus: seconds and bytes, `_total` for
counters. Counters start at 0 with every run.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, TypeAlias

from barnabas.metrics.exposition import Samples, counter, gauge
from barnabas.metrics.histogram import Histogram
from barnabas.metrics.metric import Kind, Metric

_PREFIX = "barnabas_pipeline_"
_STATES = ("running", "waiting", "done", "stopped", "failed")

Status: TypeAlias = dict[str, Any]
_Values: TypeAlias = Callable[[Status, float], Iterable[tuple[dict[str, str], float]]]
"""Of a status and the time: values, each with its labels in addition to the pipeline's."""


def _field(name: str) -> _Values:
    """A field of the status, if it has a value."""

    def values(status: Status, _now: float) -> Iterator[tuple[dict[str, str], float]]:
        if status.get(name) is not None:
            yield {}, status[name]

    return values


def _watermark_delay(status: Status, now: float) -> Iterator[tuple[dict[str, str], float]]:
    if status["watermark"] is not None:
        yield {}, now - datetime.fromisoformat(status["watermark"]).timestamp()


def _expectations(status: Status, _now: float) -> Iterator[tuple[dict[str, str], float]]:
    for each in status["expectations"]:
        for result in ("passed", "failed"):
            yield {"rule": each["rule"], "result": result}, each[result]


def _states(status: Status, _now: float) -> Iterator[tuple[dict[str, str], float]]:
    for state in _STATES:
        yield {"state": state}, int(status["state"] == state)


_METRICS: tuple[tuple[Metric, _Values], ...] = (
    (
        counter(f"{_PREFIX}rows_in_total", "Rows read from the sources.", "pipeline"),
        _field("rows_in"),
    ),
    (
        counter(f"{_PREFIX}rows_out_total", "Rows given to the sink.", "pipeline"),
        _field("rows_out"),
    ),
    (
        counter(
            f"{_PREFIX}late_rows_total",
            "Rows dropped because they were later than the watermark.",
            "pipeline",
        ),
        _field("rows_late"),
    ),
    (
        counter(
            f"{_PREFIX}dead_letters_total", "Records written to dead-letter topics.", "pipeline"
        ),
        _field("dead_letters"),
    ),
    (
        counter(
            f"{_PREFIX}expectation_rows_total",
            "Rows that passed and failed each rule of expect().",
            "pipeline",
            "rule",
            "result",
        ),
        _expectations,
    ),
    (counter(f"{_PREFIX}batches_total", "Finished micro-batches.", "pipeline"), _field("batches")),
    (
        counter(f"{_PREFIX}restarts_total", "Restarts of the query after a failure.", "pipeline"),
        _field("restarts"),
    ),
    (
        gauge(f"{_PREFIX}rows_in_per_second", "Rows read, over the last 10 seconds.", "pipeline"),
        _field("rows_in_per_s"),
    ),
    (
        gauge(
            f"{_PREFIX}rows_out_per_second", "Rows written, over the last 10 seconds.", "pipeline"
        ),
        _field("rows_out_per_s"),
    ),
    (
        gauge(
            f"{_PREFIX}lag_records", "Records left in the topics after the last batch.", "pipeline"
        ),
        _field("lag"),
    ),
    (
        gauge(
            f"{_PREFIX}lag_seconds", "Age of the oldest known record that was not read.", "pipeline"
        ),
        _field("lag_s"),
    ),
    (gauge(f"{_PREFIX}state_rows", "Rows in the state stores.", "pipeline"), _field("state_rows")),
    (
        gauge(f"{_PREFIX}state_bytes", "Memory of the state stores.", "pipeline"),
        _field("state_bytes"),
    ),
    (
        gauge(
            f"{_PREFIX}watermark_delay_seconds",
            "How far the watermark is behind the clock.",
            "pipeline",
        ),
        _watermark_delay,
    ),
    (
        gauge(
            f"{_PREFIX}last_batch_timestamp_seconds",
            "When the last batch ended, in Unix time.",
            "pipeline",
        ),
        _field("batch_ended"),
    ),
    (
        gauge(
            f"{_PREFIX}start_timestamp_seconds",
            "When the pipeline was first started in this run, in Unix time.",
            "pipeline",
        ),
        _field("started"),
    ),
    (
        gauge(f"{_PREFIX}state", "1 for the state that the query is in.", "pipeline", "state"),
        _states,
    ),
)
_DURATION = Metric(
    f"{_PREFIX}batch_duration_seconds",
    Kind.HISTOGRAM,
    "How long micro-batches took.",
    ("pipeline",),
)


def exposition(pipelines: Sequence[tuple[Status, Histogram]], now: float) -> str:
    """All metrics of all pipelines."""
    samples = Samples()
    for metric, values in _METRICS:
        samples.of(metric)  # a metric without a value is shown, too
        for status, _ in pipelines:
            for labels, value in values(status, now):
                samples.add(metric, value, pipeline=status["pipeline"], **labels)
    samples.of(_DURATION)
    for status, durations in pipelines:
        samples.add_histogram(_DURATION, durations, pipeline=status["pipeline"])
    return b"".join(samples.encoded()).decode()
