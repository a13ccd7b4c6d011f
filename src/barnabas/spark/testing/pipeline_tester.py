"""A pipeline under test: the rows it is fed, and the rows it makes."""

import secrets
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import Row, SparkSession

from barnabas.errors import InvalidArgument
from barnabas.spark.cluster.cluster_address import NO_CLUSTER
from barnabas.spark.pipelines.definition.pipeline import Pipeline, PipelineError
from barnabas.spark.pipelines.environment import Environment, applied
from barnabas.spark.pipelines.errors.failure import reason_of
from barnabas.spark.pipelines.expectations.rule_counts import RuleCount, label_of
from barnabas.spark.pipelines.run.pipeline_run import PipelineRun
from barnabas.spark.pipelines.run.run_folder import RunFolder
from barnabas.spark.pipelines.run.spark_log import silence_query_errors
from barnabas.spark.pipelines.sources.feed import Fed
from barnabas.spark.pipelines.sources.source import Source
from barnabas.spark.sessions.jvm_options import SHORT_LIVED
from barnabas.spark.sessions.tuned_session import session
from barnabas.spark.testing.fed_letters import letters_in
from barnabas.spark.testing.fed_records import FedRecords, aware
from barnabas.spark.testing.stepped_query import SteppedQuery

# A test ends before the JVM's second compiler pays off.
_SHORT_LIVED: dict[str, str | bool] = {
    "spark.driver.extraJavaOptions": SHORT_LIVED,
    "spark.ui.enabled": False,
}

START = datetime(2026, 1, 1, tzinfo=UTC)


class RunningPipeline:
    """A pipeline under test."""

    def __init__(
        self, pipeline: Pipeline, spark: SparkSession, folder: Path, now: datetime
    ) -> None:
        self._pipeline = pipeline
        self._spark = spark
        self._records = FedRecords(folder / "topics", aware(now))
        self._folder = folder
        self.now = aware(now)
        self._seen = 0
        sources = {name: self._in_test(name, each) for name, each in pipeline.sources.items()}
        self._sources = sources
        self._environment = Environment(spark, self._records, NO_CLUSTER)
        self._tested = replace(pipeline, sources=sources)
        self._query = self._start(self._tested)

    def feed(self, source: str, *rows: Fed, key: str | None = None) -> None:
        """Feed rows to a source, and wait until the pipeline has processed them.

        They make one micro-batch. Rows are mappings; what is fed as bytes, text or a `Record` is
        taken as it is. `key` names the column that is the records' key too.
        """
        fed = self._sources.get(source)
        if fed is None:
            raise InvalidArgument(f"no source {source!r}: there are {', '.join(self._sources)}")
        self._records.now = self.now
        fed.feed(self._records, rows, key)
        self._query.settle()

    def advance(self, **time: float) -> None:
        """Advance the clock, as in `advance(minutes=5)`, and wait for the pipeline."""
        self.now += timedelta(**time)
        self._query.advance_to(self.now)
        self._query.settle()

    def rows(self) -> list[dict[str, Any]]:
        """All rows so far, in their order; of output mode complete, those of the last batch.

        Times are aware, in UTC.
        """
        return [_plain(row) for row in self._query.rows()]

    def new_rows(self) -> list[dict[str, Any]]:
        """The rows that have come since this was last called."""
        rows = self.rows()
        new = rows[self._seen :]
        self._seen = len(rows)
        return new

    def dead_letters(self) -> list[dict[str, Any]]:
        """The records that dead-letter topics would have got, with their headers as a dict."""
        return letters_in(self._records.letter_folder)

    def expectations(self) -> dict[str, dict[str, int]]:
        """How many rows passed and failed each rule so far: `{"positive": {"passed": 2, ...}}`.

        A rule of a source is named after it, as in `views.positive`.
        """
        counted = self._query.progress().expectations
        labels = [label_of(source, rule.name) for source, rule in self._pipeline.expectations]
        return {label: counted.get(label, RuleCount())._asdict() for label in labels}

    def check_sink(self) -> None:
        """Raise if the sink can't take rows of these columns; it writes none."""
        rows = self._tested.rows(self._environment)
        self._tested.sink.writer(self._environment, rows, self._tested.output_mode)

    def stop(self) -> None:
        self._query.stop()

    def _start(self, pipeline: Pipeline) -> SteppedQuery:
        try:
            with applied(self._spark, pipeline.conf):
                rows = pipeline.rows(self._environment)
                return SteppedQuery(self._spark, rows, pipeline.output_mode, self.now)
        except PySparkException as error:
            # Spark's message goes on with its plan, and its cause with a stack trace of the JVM.
            raise PipelineError(f"pipeline {pipeline.name}: {reason_of(error)}") from None

    def _in_test(self, name: str, source: Source) -> Source:
        folder = self._folder / "files" / name
        folder.mkdir(parents=True)
        return source.in_test(folder)


def quick_session() -> SparkSession:
    """A session on two cores that starts fast and runs slowly, or the session there is."""
    silence_query_errors()
    return session("tests", "local[2]", **_SHORT_LIVED)


@contextmanager
def running(
    pipeline: Pipeline, *, spark: SparkSession | None = None, now: datetime = START
) -> Iterator[RunningPipeline]:
    """Run a pipeline on what it is fed; the clock begins at `now`.

    Without a session it takes the one there is, or starts one, which the next test then has.
    """
    if pipeline.takes_session and not pipeline.sources:
        raise InvalidArgument(
            f"pipeline {pipeline.name} reads with the session: to feed it, make its input a source"
        )
    folder = Path(tempfile.mkdtemp(prefix=f"barnabas-{secrets.token_hex(4)}-"))
    try:
        run = RunningPipeline(pipeline, spark or quick_session(), folder, now)
        try:
            yield run
        finally:
            run.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run_once(
    *pipelines: Pipeline,
    bootstrap_servers: str,
    checkpoints: str | Path,
    spark: SparkSession | None = None,
    security: Mapping[str, str] | None = None,
) -> None:
    """Let pipelines process what is in their topics, for end-to-end tests.

    Raises `PipelineError` if one fails. The next call with the same checkpoints continues.
    """
    with PipelineRun(
        spark or session("tests", "local[2]"),
        pipelines,
        bootstrap_servers,
        RunFolder(Path(checkpoints)),
        once=True,
        max_restarts=0,
        security=security,
    ) as run:
        run.wait()


def _plain(value: Any) -> Any:
    """Rows as dicts, bytes as bytes, times in UTC."""
    match value:
        case Row():
            return {name: _plain(each) for name, each in value.asDict().items()}
        case list():
            return [_plain(each) for each in value]
        case dict():
            return {_plain(name): _plain(each) for name, each in value.items()}
        case bytearray():
            return bytes(value)
        case datetime():
            return value.astimezone(UTC)  # Spark's are of this machine's zone, and do not say so
        case _:
            return value
