"""A query with a manual clock, whose rows can be read: for tests.

Spark's own tests run queries with a clock of theirs; Spark's API in Python does not offer that, its
JVM does. What is used of it is not public, and pinned down by tests: `StreamingQueryManager`'s
`startQuery`, `ManualClock` and `MemorySink`.
"""

import json
import time
from datetime import datetime
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from barnabas.spark.pipelines.definition.pipeline import PipelineError
from barnabas.spark.pipelines.errors.failure import reason_of
from barnabas.spark.pipelines.run.progress import Progress, is_of_a_batch, read_batch

_TIMEOUT_S = 120.0
_POLL_S = 0.02
_MODES = {"append": "Append", "update": "Update", "complete": "Complete"}


class SteppedQuery:
    """Runs as soon as there is something to do, at a time that is set."""

    def __init__(
        self, spark: SparkSession, rows: DataFrame, output_mode: str, now: datetime
    ) -> None:
        jvm: Any = spark._jvm
        self._jvm = jvm
        self._spark = spark
        self._schema = rows._jdf.schema()
        self._clock = jvm.org.apache.spark.util.ManualClock(_ms(now))
        self._sink = jvm.org.apache.spark.sql.execution.streaming.sources.MemorySink()
        modes = jvm.org.apache.spark.sql.streaming.OutputMode
        none = jvm.scala.Option.empty()
        started = spark._jsparkSession.streams().startQuery(
            none,  # name
            none,  # checkpoint
            none,
            rows._jdf,
            jvm.PythonUtils.toScalaMap(jvm.java.util.HashMap()),  # options
            self._sink,
            getattr(modes, _MODES[output_mode])(),
            True,  # a temporary checkpoint is enough
            False,  # and nothing is recovered from it
            jvm.org.apache.spark.sql.streaming.Trigger.ProcessingTime(0),
            self._clock,
            none,
            none,
        )
        self._query = StreamingQuery(started)
        self._progress = Progress()
        self._last_reported = -1
        # Timers of processing time let Spark run one batch after the other, with or without rows.
        self._never_rests = "ProcessingTime" in rows._jdf.queryExecution().analyzed().toString()

    def advance_to(self, now: datetime) -> None:
        self._clock.setTime(_ms(now))

    def settle(self) -> None:
        """Wait until all available rows are processed, and the batches that follow from them."""
        from pyspark.errors import StreamingQueryException

        try:
            if self._never_rests:
                self._wait_for_batches(2)
            else:
                self._query.processAllAvailable()
        except StreamingQueryException as error:
            raise PipelineError(reason_of(error)) from error
        self.progress()  # Spark keeps a hundred reports

    def rows(self) -> list[Row]:
        """The rows that the query has made."""
        converters = self._jvm.scala.jdk.javaapi.CollectionConverters
        found = converters.asJava(self._sink.allData())
        frame = self._spark._jsparkSession.createDataFrame(found, self._schema)
        return DataFrame(frame, self._spark).collect()

    def progress(self) -> Progress:
        """What Spark has reported since it was started."""
        new = []
        for report in reversed(self._query._jsq.recentProgress()):
            if report.batchId() <= self._last_reported:
                break
            told = json.loads(report.json())
            if is_of_a_batch(told):
                new.append(read_batch(told))
        for batch in reversed(new):
            self._last_reported = batch.number
            self._progress.add(batch)
        return self._progress

    def stop(self) -> None:
        self._query.stop()

    def _wait_for_batches(self, count: int) -> None:
        """Wait for `count` more batches: the first may have started before the rows were there."""
        wanted = self._last_batch() + count
        deadline = time.monotonic() + _TIMEOUT_S
        while self._last_batch() < wanted:
            error = self._query.exception()
            if error is not None:
                raise error
            if time.monotonic() > deadline:
                raise PipelineError(f"the pipeline made no progress for {_TIMEOUT_S:.0f} s")
            time.sleep(_POLL_S)

    def _last_batch(self) -> int:
        # Python's own `lastProgress` fails while the clock stands still.
        progress = self._query._jsq.lastProgress()
        return -1 if progress is None else int(progress.batchId())


def _ms(when: datetime) -> int:
    return round(when.timestamp() * 1000)
