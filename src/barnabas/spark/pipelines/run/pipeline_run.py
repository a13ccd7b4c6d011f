"""Running pipelines: a Spark query for each, supervised until it is done or stopped."""

import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self, TypeAlias

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.streaming.query import StreamingQuery

from barnabas.errors import BarnabasError, InvalidArgument
from barnabas.security.secret_settings import without_credentials
from barnabas.spark.cluster.cluster_address import ClusterAddress
from barnabas.spark.dead_letters.letter_writer import LetterTopic
from barnabas.spark.pipelines.definition.pipeline import Pipeline, PipelineError
from barnabas.spark.pipelines.environment import (
    LONG_RUNNING_CONF,
    WAITING_CONF,
    BrokerRecords,
    Environment,
    Records,
    applied,
)
from barnabas.spark.pipelines.errors.error_list import raise_all
from barnabas.spark.pipelines.errors.failure import reason_of
from barnabas.spark.pipelines.run.former_letters import replace_former_letters
from barnabas.spark.pipelines.run.letter_counter import LetterCounter
from barnabas.spark.pipelines.run.progress import OUTPUT_METRIC
from barnabas.spark.pipelines.run.run_folder import RunFolder
from barnabas.spark.pipelines.run.supervised_query import Status, SupervisedQuery

_STATUS_INTERVAL_S = 1.0
_POLL_S = 0.1
_LAST_COUNT_S = 2.0
_IDLE_WAIT_MS = 500
"""How long the sources of a pipeline together wait for rows before Spark asks again."""


Report: TypeAlias = Callable[[list[Status]], None]


class SparkGone(PipelineError):  # noqa: N818 - its name says what is wrong
    """The process that Spark runs in has ended."""

    MESSAGE = "the Spark process has ended, or was killed"


class PipelineRun:
    """Pipelines that run together.

        with PipelineRun(spark, [views_per_minute], "localhost:9092", RunFolder(path)) as run:
            run.wait()

    With `once` they process all existing rows and end. Otherwise they run until `stop`. A pipeline
    that fails is restarted, after a wait that doubles until a batch succeeds, at most
    `max_restarts` times in a row if that is given. With `keep_going`, a pipeline that can't be
    started counts as failed, and the others run; otherwise none is started. `security` has Kafka's
    client settings for encryption and authentication, such as
    {"security.protocol": "SSL", "ssl.ca.location": "ca.pem"}. `report` receives the statuses about
    once a second.
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
        keep_going: bool = False,
        security: Mapping[str, str] | None = None,
        report: Report | None = None,
    ) -> None:
        self._spark = spark
        self._report = report
        self._folder = folder
        self._once = once
        cluster = ClusterAddress(bootstrap_servers, security or {})
        self._environment = Environment(spark, records or BrokerRecords(cluster), cluster)
        self._max_restarts = max_restarts
        self._keep_going = keep_going
        self._locks: dict[str, int] = {}
        self._status_written = 0.0
        self.queries: list[SupervisedQuery] = []
        self._counters: dict[str, LetterCounter] = {}
        for each in pipelines:
            self._add(each)

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
        """Start all pipelines. Errors in definitions are raised before any has started."""
        try:
            errors: list[BarnabasError] = []
            for query in self.queries:
                try:
                    self._prepare(query)
                except (InvalidArgument, PipelineError) as error:
                    errors.append(error)
                    if self._keep_going:
                        query.give_up(_problem_of(query, error))
            if not self._keep_going or len(errors) == len(self.queries):
                raise_all(errors)
            for query in self.queries:
                if not query.is_over:
                    query.start(time.time())
                    self._write_status_if_due()  # many take a while to start: others run by then
        except BaseException:
            self.stop()
            raise

    def start_another(self, defined: Pipeline, max_restarts: int | None = None) -> None:
        """Start one more; raises if it can't be run. One of the same name must be removed first.

        `max_restarts` overrides the limit of the run.
        """
        query = self._add(defined, max_restarts)
        try:
            self._prepare(query)
        except BaseException:
            self.remove(query.name)
            raise
        query.start(time.time())

    def replace(self, defined: Pipeline) -> None:
        """Replace the pipeline of the same name with this definition.

        If it can't be run, the previous one is started again if it was running, and this raises. If
        none was running, the new one counts as failed.
        """
        former = [q.pipeline for q in self.queries if q.name == defined.name and not q.is_over]
        self.remove(defined.name)
        problem = self._start_or_give_up(defined)
        if problem is None:
            return
        if former:
            self.remove(defined.name)
            again = self._start_or_give_up(former[0])
            if again is not None:
                problem = f"{problem}; nor can the former definition be run again: {again}"
        raise PipelineError(f"pipeline {defined.name}: {problem}")

    def check_definition(self, defined: Pipeline) -> None:
        """Raise if Spark refuses it."""
        self._check_rows(defined)

    def remove(self, name: str) -> None:
        """Stop a pipeline and remove it from the run; its status stays on disk."""
        for query in [each for each in self.queries if each.name == name]:
            self._end([query])
            self.queries.remove(query)
            self._counters.pop(name, None)
        descriptor = self._locks.pop(name, None)
        if descriptor is not None:
            os.close(descriptor)

    def end(self, name: str) -> None:
        """Stop a pipeline, and keep it in the run as stopped."""
        self._end([each for each in self.queries if each.name == name])

    def poll(self) -> None:
        """Restart failed pipelines whose wait is over, and write statuses. Call it often."""
        now = time.time()
        try:
            changed = [query.poll(now) for query in self.queries]
        except (Py4JError, ConnectionError) as error:
            for query in self.queries:
                query.give_up(SparkGone.MESSAGE)
            raise SparkGone(SparkGone.MESSAGE) from error
        self._count_letters(over=[q for q, has in zip(self.queries, changed, strict=True) if has])
        if any(changed):
            self._write_status(now)
        self._write_status_if_due()

    @property
    def is_over(self) -> bool:
        """Whether no pipeline runs or waits for a restart."""
        return all(query.is_over for query in self.queries)

    def wait(self, until: Callable[[], bool] | None = None) -> None:
        """Supervise all until they have ended, or `until` is true. Raises if any has failed.

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
        """Stop all, even in the middle of a batch: the next run repeats that batch."""
        self._end(self.queries)
        for descriptor in self._locks.values():
            os.close(descriptor)
        self._locks.clear()

    def _end(self, queries: list[SupervisedQuery]) -> None:
        running = [query for query in queries if query.state == "running"]
        for query in queries:
            query.stop()
        self._count_letters(over=running)
        for query in queries:
            if query.name in self._counters:
                self._counters[query.name].close()
            for source in query.pipeline.sources.values():
                source.close(query.name)
            query.pipeline.sink.close(query.name)
        self._write_status(time.time())

    # -- each -----------------------------------------------------------------------------------

    def _add(self, defined: Pipeline, max_restarts: int | None = None) -> SupervisedQuery:
        limit = self._max_restarts if max_restarts is None else max_restarts
        query = SupervisedQuery(defined, partial(self._start, defined), limit)
        self.queries.append(query)
        topics = self._letter_topics(defined)
        if topics:
            self._counters[defined.name] = LetterCounter(topics)
        return query

    def _start_or_give_up(self, defined: Pipeline) -> str | None:
        """Add it, as one that has failed if it can't be run; returns why."""
        query = self._add(defined)
        try:
            self._prepare(query)
        except (InvalidArgument, PipelineError) as error:
            query.give_up(_problem_of(query, error))
        else:
            query.start(time.time())
        return query.error if query.state == "failed" else None

    def _prepare(self, query: SupervisedQuery) -> None:
        """Lock a pipeline and check its definition."""
        self._locks[query.name] = self._folder.lock(query.name)
        replace_former_letters(query.pipeline, self._folder)
        self._check_output(query.pipeline)
        self._check_rows(query.pipeline)

    def _environment_of(self, defined: Pipeline) -> Environment:
        tables = self._folder.tables_of(defined.name)
        return replace(
            self._environment,
            group_id=defined.name,
            table_folder=tables,
            schemas=self._folder.schemas_of(defined.name),
        )

    def _check_rows(self, defined: Pipeline) -> None:
        """Build the query once, to find wrong names and types before anything starts."""
        try:
            defined.rows(self._environment_of(defined))
        except PySparkException as error:
            raise PipelineError(f"pipeline {defined.name}: {reason_of(error)}") from error

    def _start(self, defined: Pipeline) -> StreamingQuery:
        self._check_output(defined)  # again: the failure may be due to a deleted table
        environment = replace(self._environment, writer=self._folder.writer_of(defined.name))
        waits = any(source.waits_for_rows for source in defined.sources.values())
        with applied(self._spark, defined.conf, WAITING_CONF if waits else LONG_RUNNING_CONF):
            rows = defined.lean_rows(
                replace(self._environment_of(defined), idle_wait_ms=_idle_wait_ms(defined))
            )
            counted = rows.observe(OUTPUT_METRIC, F.count(F.lit(1)).alias("rows"))
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

    def _letter_topics(self, defined: Pipeline) -> list[LetterTopic]:
        """The topics that tasks of a pipeline write dead letters to."""
        return [
            target
            for name, source in defined.sources.items()
            for target in source.letter_targets(defined.environment_of(name, self._environment))
            if isinstance(target, LetterTopic)
        ]

    def _count_letters(self, over: Iterable[SupervisedQuery]) -> None:
        """Count dead letters; for pipelines that have ended, wait for the final count."""
        ended = [query.name for query in over if query.is_over]
        for query in self.queries:
            counter = self._counters.get(query.name)
            if counter is None or query.query_id is None:
                continue
            if query.name in ended:
                counter.settle(query.query_id, _LAST_COUNT_S)
            elif query.state == "running":
                counter.poll(query.query_id)
            query.progress.dead_letters = counter.count

    def _check_output(self, defined: Pipeline) -> None:
        try:
            defined.sink.check(self._folder.writer_of(defined.name), self._spark)
        except InvalidArgument as error:
            raise InvalidArgument(f"pipeline {defined.name}: {error}") from None

    def _write_status_if_due(self) -> None:
        now = time.time()
        if now - self._status_written >= _STATUS_INTERVAL_S:
            self._write_status(now)

    def _write_status(self, now: float) -> None:
        self._status_written = now
        written = []
        for query in self.queries:
            # The status of an earlier run, or of the process that runs it, stays.
            if query.state == "new" or query.name not in self._locks:
                continue
            status = {
                **query.status(now),
                "pid": os.getpid(),
                "updated": now,
                "defined_in": str((query.pipeline.defined_in or Path()).resolve()),
                "folder": str(self._folder.folder),
                "checkpoint": self._folder.checkpoint_of(query.name),
                **_places(query.pipeline),
            }
            self._folder.write_status(query.name, status)
            written.append(status)
        if self._report is not None:
            self._report(written)


def _problem_of(query: SupervisedQuery, error: BarnabasError) -> str:
    return str(error).removeprefix(f"pipeline {query.name}: ")


def _places(defined: Pipeline) -> Status:
    """What a pipeline reads and writes, for those who draw it."""
    reads = dict.fromkeys(place for each in defined.sources.values() for place in each.places)
    letters = [each.dead_letter_topic for each in defined.sources.values()]
    return {
        "reads": [(kind, without_credentials(name)) for kind, name in reads],
        "writes": [(kind, without_credentials(name)) for kind, name in defined.sink.places],
        "dead_letter_topics": sorted({each for each in letters if each is not None}),
    }


def _idle_wait_ms(defined: Pipeline) -> int:
    """How long each source waits: Spark asks one after the other."""
    waiting = sum(source.waits_for_rows for source in defined.sources.values())
    return _IDLE_WAIT_MS // waiting if waiting else 0
