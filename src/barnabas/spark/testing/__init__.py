"""Testing pipelines: feed them rows, get their rows, without a broker and in seconds.

    from barnabas.spark.testing import running

    def test_views_are_counted_by_minute():
        with running(views_per_minute) as run:
            run.feed("views", {"page": "/", "at": "2026-01-01T00:00:10Z"})
            run.feed("views", {"page": "/", "at": "2026-01-01T00:12:00Z"})
            assert run.rows() == [{"page": "/", "minute": ..., "views": 1}]

Only the brokers are replaced. Rows are encoded as the topic's values are, and decoded by the
pipeline, in Spark. Event time is what rows say. The time of day, which `current_timestamp()` and
processing-time timers use, stands still until `advance` moves it.

pipeline_tester  `running`, and the pipeline it yields; `run_once`
fed_records      the rows that were fed, as topics
fed_letters      dead letters, as files
stepped_query    a streaming query with a manual clock
"""

from barnabas.spark.pipelines.sources.feed import Fed, Record
from barnabas.spark.testing.pipeline_tester import (
    START,
    RunningPipeline,
    quick_session,
    run_once,
    running,
)

__all__ = [
    "START",
    "Fed",
    "Record",
    "RunningPipeline",
    "quick_session",
    "run_once",
    "running",
]
