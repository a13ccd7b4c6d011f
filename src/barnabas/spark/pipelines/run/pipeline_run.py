"""Running pipelines: a Spark query for each, supervised until it is done or stopped."""

import os
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.streaming.query import StreamingQuery

from barnabas.errors import BarnabasError, InvalidArgument
from barnabas.spark.pipelines.definition.pipeline import Pipeline, PipelineError
from barnabas.spark.pipelines.environment import BrokerRecords, Environment, Records, applied
from barnabas.spark.pipelines.errors.error_list import raise_all
from barnabas.spark.pipelines.errors.failure import reason_of
from barnabas.spark.pipelines.run.dead_letters import dead_letter_pipelines
from barnabas.spark.pipelines.run.progress import OUTPUT_METRIC
from barnabas.spark.pipelines.run.run_folder import RunFolder
from barnabas.spark.pipelines.run.supervised_query import SupervisedQuery

_STATUS_INTERVAL_S = 1.0
_POLL_S = 0.1


class SparkGone(PipelineError):  # noqa: N818 - its name says what is wrong
    """The process that Spark runs in has ended."""

    MESSAGE = "the Spark process has ended, or was killed"


class PipelineRun:
    """Pipelines that run together.

        with PipelineRun(spark, [views_per_minute], "localhost:9092", RunFolder(path)) as run:
            run.wait()

    With `once` they process what there is and end. Otherwise they run until `stop`. A pipeline that
    fails is restarted, after a wait that doubles until a batch succeeds; at most `max_restarts`
    times in a row if that is given.
    """

    def __init__(
        self,
        spark: SparkSession,
        pipelines: Iterable[Pipeline],
        bootstrap_servers: str,
        folder: RunFolder,
        *,
        once: bool = False,
        max_restarts: int | None = None,
        records: Records | None = None,
    ) -> None:
        self._spark = spark
        self._folder = folder
        self._once = once
        self._environment = Environment(
            spark, records or BrokerRecords(bootstrap_servers), bootstrap_servers
        )
        self._locks: list[int] = []
        self._status_written = 0.0
        self.queries: list[SupervisedQuery] = []
        for each in pipelines:
            for defined in (each, *dead_letter_pipelines(each)):
                self.queries.append(
                    SupervisedQuery(defined, partial(self._start, defined), max_restarts)
                )

    # -- the whole ------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start all. Mistakes in definitions are raised before any has started."""
        try:
            errors: list[BarnabasError] = []
            for query in self.queries:
                try:
                    self._locks.append(self._folder.lock(query.name))
                    self._check_output(query.pipeline)
                    self._check_rows(query.pipeline)
                except (InvalidArgument, PipelineError) as error:
                    errors.append(error)
            raise_all(errors)
            for query in self.queries:
                query.start(time.time())
        except BaseException:
            self.stop()
            raise

    def poll(self) -> None:
        """Restart what has failed and waited, and write statuses. Call it often."""
        now = time.time()
        try:
            changed = [query.poll(now) for query in self.queries]
        except (Py4JError, ConnectionError) as error:
            for query in self.queries:
                query.give_up(SparkGone.MESSAGE)
            raise SparkGone(SparkGone.MESSAGE) from error
        if any(changed) or now - self._status_written >= _STATUS_INTERVAL_S:
            self._write_status(now)

    @property
    def is_over(self) -> bool:
        """Whether none runs or waits to be started again."""
        return all(query.is_over for query in self.queries)

    def wait(self, until: Callable[[], bool] | None = None) -> None:
        """Look after all until they are over, or something is true. Raises if any has failed.

        With `until`, a failure is raised at once, since the condition may never become true.
        """
        while not self.is_over and not (until is not None and until()):
            self.poll()
            if until is not None:
                self.check()
            time.sleep(_POLL_S)
        self.poll()
        self.check()

    def check(self) -> None:
        """Raise if any has failed for good."""
        failed = [f"{each.name}: {each.error}" for each in self.queries if each.state == "failed"]
        if failed:
            raise PipelineError("; ".join(failed))

    def stop(self) -> None:
        """End all, even in the middle of a batch: the next run repeats that batch."""
        for query in self.queries:
            query.stop()
        if self._locks:
            self._write_status(time.time())
        for descriptor in self._locks:
            os.close(descriptor)
        self._locks.clear()

    # -- each -----------------------------------------------------------------------------------

    def _rows(self, defined: Pipeline) -> DataFrame:
        group_id = defined.name
        return defined.rows(replace(self._environment, group_id=group_id))

    def _check_rows(self, defined: Pipeline) -> None:
        """Build it once, to find wrong names and types before anything starts."""
        try:
            self._rows(defined)
        except PySparkException as error:
            raise PipelineError(f"pipeline {defined.name}: {reason_of(error)}") from error

    def _start(self, defined: Pipeline) -> StreamingQuery:
        self._check_output(defined)  # again: the reason of a failure may be a deleted table
        environment = replace(self._environment, writer=self._folder.writer_of(defined.name))
        with applied(self._spark, defined.conf):
            counted = self._rows(defined).observe(OUTPUT_METRIC, F.count(F.lit(1)).alias("rows"))
            writer = defined.sink.writer(environment, counted, defined.output_mode)
            writer = writer.outputMode(defined.output_mode).queryName(defined.name)
            if self._once:
                writer = writer.trigger(availableNow=True)
            elif defined.trigger is not None:
                writer = writer.trigger(processingTime=defined.trigger)
            if defined.sink.recovers:
                checkpoint = self._folder.checkpoint_of(defined.name)
                writer = writer.option("checkpointLocation", checkpoint)
            return writer.start()

    def _check_output(self, defined: Pipeline) -> None:
        try:
            defined.sink.check(self._folder.writer_of(defined.name), self._spark)
        except InvalidArgument as error:
            raise InvalidArgument(f"pipeline {defined.name}: {error}") from None

    def _write_status(self, now: float) -> None:
        self._status_written = now
        for query in self.queries:
            if query.state == "new":  # the status of an earlier run stays
                continue
            status = {
                **query.status(now),
                "pid": os.getpid(),
                "updated": now,
                "defined_in": str((query.pipeline.defined_in or Path()).resolve()),
                "checkpoint": self._folder.checkpoint_of(query.name),
            }
            self._folder.write_status(query.name, status)
