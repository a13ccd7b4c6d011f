"""One query, from start to end, restarted after failures."""

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Literal, TypeAlias

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import AnalysisException, IllegalArgumentException, PySparkException
from pyspark.sql.streaming.query import StreamingQuery

from barnabas.errors import BarnabasError, InvalidArgument
from barnabas.spark.pipelines.definition.pipeline import Pipeline
from barnabas.spark.pipelines.errors.failure import reason_of
from barnabas.spark.pipelines.errors.known_causes import known_cause
from barnabas.spark.pipelines.expectations.rule_counts import RuleCount, label_of
from barnabas.spark.pipelines.run.progress import Progress, is_of_a_batch, read_batch
from barnabas.spark.pipelines.run.restart_policy import RestartPolicy
from barnabas.spark.pipelines.traces.batch_span import record_batch_span

Status: TypeAlias = dict[str, Any]
State: TypeAlias = Literal["new", "running", "waiting", "done", "stopped", "failed"]

_NONE = -1


class SupervisedQuery:
    """Starts a query, and restarts it when it fails."""

    def __init__(
        self,
        pipeline: Pipeline,
        start: Callable[[], StreamingQuery],
        max_restarts: int | None = None,
    ) -> None:
        self.pipeline = pipeline
        self.name = pipeline.name
        self.state: State = "new"
        self.progress = Progress()
        self.error: str | None = None
        self.failed_at: float | None = None
        """When it last failed."""
        self.restarts = 0
        self._start = start
        self._query: StreamingQuery | None = None
        self._backoff = RestartPolicy(max_restarts)
        self._last_reported = _NONE
        self._last_report_at: str | None = None
        self._started: float | None = None
        self.next_start: float | None = None
        """When it will be restarted, while it waits."""

    @property
    def is_over(self) -> bool:
        return self.state in ("done", "stopped", "failed")

    @property
    def query_id(self) -> str | None:
        """The id of the query, which its checkpoint keeps; None before its first start."""
        return None if self._query is None else self._query.id

    @property
    def failures_in_a_row(self) -> int:
        """How often it has failed since its last finished batch."""
        return self._backoff.in_a_row

    def start(self, now: float) -> None:
        """Start it; a failure to do so counts as one of the query.

        A query that Spark refuses would be refused again, so it is not retried.
        """
        if self._started is None:
            self._started = now
        self._last_reported = _NONE
        self._last_report_at = None
        self.next_start = None
        try:
            self._query = self._start()
        except (AnalysisException, IllegalArgumentException, InvalidArgument) as error:
            self.error, self.state, self.failed_at = reason_of(error), "failed", now
        except (PySparkException, BarnabasError) as error:
            self._failed(error, now)
        else:
            self.state = "running"

    def poll(self, now: float) -> bool:
        """Update the state, and restart it if that is due; True if the state has changed."""
        before = self.state
        if self.state == "waiting" and self.next_start is not None and now >= self.next_start:
            self.restarts += 1
            self.start(now)
        elif self.state == "running":
            assert self._query is not None
            is_active = self._query.isActive
            self._read_reports(self._query)
            if not is_active:
                error = self._query.exception()
                if error is None:
                    self.state = "done"
                else:
                    self._failed(error, now)
        return self.state != before

    def stop(self) -> None:
        """Stop it, whatever its state."""
        if self.is_over or self.state == "new":
            return
        self.state = "stopped"
        self.next_start = None
        if self._query is not None:
            with suppress(Py4JError, ConnectionError):  # if Spark has ended, so has the query
                self._query.stop()
                self._read_reports(self._query)

    def give_up(self, reason: str) -> None:
        """Mark it as failed, for an external reason."""
        if not self.is_over:
            self.error, self.state, self.next_start = reason, "failed", None

    def status(self, now: float) -> Status:
        """Its status, for people and programs."""
        rate_in, rate_out = self.progress.rates(now)
        last = self.progress.last
        return {
            "pipeline": self.name,
            "state": self.state,
            "started": self._started,
            "batches": self.progress.batches,
            "batch": last and last.number,
            "batch_ended": last and last.ended,
            "batch_duration_ms": last and last.duration_ms,
            "rows_in": self.progress.rows_in,
            "rows_out": self.progress.rows_out,
            "rows_late": self.progress.rows_late,
            "dead_letters": self.progress.dead_letters,
            "expectations": self._expectations(),
            "rows_in_per_s": round(rate_in, 1),
            "rows_out_per_s": round(rate_out, 1),
            "read_per_s": {
                topic: round(rate, 1) for topic, rate in self.progress.topic_rates(now).items()
            },
            "lag": last and last.lag,
            "lag_s": self._lag_s(now),
            "watermark": self.progress.watermark,
            "state_rows": last and last.state_rows,
            "state_bytes": last and last.state_bytes,
            "restarts": self.restarts,
            "error": self.error,
            "failed_at": self.failed_at,
            "next_start": self.next_start,
        }

    def _lag_s(self, now: float) -> float | None:
        """How far it is behind; None where no topics are read."""
        last = self.progress.last
        return None if last is None or last.lag is None else self.progress.lag_time.seconds(now)

    def _expectations(self) -> list[dict[str, Any]]:
        """The rules of sources and result, with how many rows passed and failed each."""
        found = []
        for source, rule in self.pipeline.expectations:
            label = label_of(source, rule.name)
            count = self.progress.expectations.get(label, RuleCount())
            found.append(
                {
                    "rule": label,
                    "condition": rule.condition,
                    "on_failure": rule.on_failure,
                    "passed": count.passed,
                    "failed": count.failed,
                }
            )
        return found

    def _read_reports(self, query: StreamingQuery) -> None:
        """Process the reports since the last call; Spark keeps the last hundred.

        An idle query adds one every ten seconds. The time of the last one is compared first:
        otherwise all of them would be read every time.
        """
        newest = query._jsq.lastProgress()
        newest_at = None if newest is None else newest.timestamp()
        if newest_at == self._last_report_at:
            return
        new = []
        for report in reversed(query._jsq.recentProgress()):
            if (
                report.batchId() <= self._last_reported
                or report.timestamp() == self._last_report_at
            ):
                break
            told = json.loads(report.json())
            if is_of_a_batch(told):
                new.append(read_batch(told))
        self._last_report_at = newest_at
        for batch in reversed(new):
            self._last_reported = batch.number
            self._backoff.reset()
            self.progress.add(batch)
            record_batch_span(
                self.name,
                batch.number,
                batch.began,
                batch.ended,
                (batch.rows_in, batch.rows_out),
                batch.traces,
            )

    def _failed(self, error: BaseException, now: float) -> None:
        self.error, self.failed_at = reason_of(error), now
        cause = known_cause(str(error))
        wait_s = self._backoff.next_s("counted" if cause is None else cause.retry)
        if wait_s is None:
            self.state = "failed"
        else:
            self.state = "waiting"
            self.next_start = now + wait_s


def status_of_bad_definition(name: str, error: str) -> Status:
    """The status of an invalid definition, with the same fields as others."""
    numbers = ("batches", "rows_in", "rows_out", "rows_late", "dead_letters", "restarts")
    unknown = (
        *("started", "batch", "batch_ended", "batch_duration_ms", "lag", "lag_s", "watermark"),
        *("rows_in_per_s", "rows_out_per_s", "state_rows", "state_bytes", "next_start"),
        "failed_at",
    )
    return {
        "pipeline": name,
        "state": "failed",
        **dict.fromkeys(numbers, 0),
        **dict.fromkeys(unknown),
        "expectations": [],
        "read_per_s": {},
        "error": error,
    }
