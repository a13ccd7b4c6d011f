"""Pipelines: streams that are processed continuously.

    from barnabas.spark.pipelines import from_topic, pipeline, to_topic

    @pipeline(
        sources={"views": from_topic("page-views", "page STRING, at TIMESTAMP")},
        sink=to_topic("views-per-minute", key="page"),
    )
    def views_per_minute(views):
        ...

A pipeline is a function of DataFrames, decorated with its sources and its sink, or a query in a
`.sql` file. `barnabas pipeline run` runs them (docs/running-pipelines.md), `barnabas.spark.testing`
tests them without a broker.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from barnabas.spark.connector.connector import Connector, WrittenBatch
    from barnabas.spark.pipelines.dataframes.postgres_reader import read_postgres
    from barnabas.spark.pipelines.dataframes.topic_reader import (
        read_table,
        read_topic,
        read_undecodable,
    )
    from barnabas.spark.pipelines.dataframes.topic_writer import write_topic
    from barnabas.spark.pipelines.definition.loader import load
    from barnabas.spark.pipelines.definition.pipeline import Pipeline, PipelineError, pipeline
    from barnabas.spark.pipelines.expectations.expectation import Expectation, expect
    from barnabas.spark.pipelines.operations.replay import replay_dead_letters
    from barnabas.spark.pipelines.operations.state import read_state
    from barnabas.spark.pipelines.operations.state_tables import state_tables
    from barnabas.spark.pipelines.operations.versions import as_version, make_topics
    from barnabas.spark.pipelines.parquet.compaction import compact_parquet
    from barnabas.spark.pipelines.run.pipeline_run import PipelineRun
    from barnabas.spark.pipelines.run.run_folder import RunFolder
    from barnabas.spark.pipelines.sinks.connector import to_connector
    from barnabas.spark.pipelines.sinks.console import to_console
    from barnabas.spark.pipelines.sinks.database import to_duckdb, to_mysql, to_sqlite
    from barnabas.spark.pipelines.sinks.files import to_files
    from barnabas.spark.pipelines.sinks.function import for_each_batch
    from barnabas.spark.pipelines.sinks.http import to_http
    from barnabas.spark.pipelines.sinks.memory import to_memory
    from barnabas.spark.pipelines.sinks.opensearch import to_opensearch
    from barnabas.spark.pipelines.sinks.parquet import to_parquet
    from barnabas.spark.pipelines.sinks.postgres import to_postgres
    from barnabas.spark.pipelines.sinks.redis import to_redis
    from barnabas.spark.pipelines.sinks.sink import Sink
    from barnabas.spark.pipelines.sinks.topic import to_topic
    from barnabas.spark.pipelines.sources.connector import from_connector
    from barnabas.spark.pipelines.sources.files import from_files
    from barnabas.spark.pipelines.sources.generator import from_generator
    from barnabas.spark.pipelines.sources.http import from_http
    from barnabas.spark.pipelines.sources.log_files import from_log_files
    from barnabas.spark.pipelines.sources.mysql_changes import from_mysql_changes
    from barnabas.spark.pipelines.sources.postgres_changes import from_postgres_changes
    from barnabas.spark.pipelines.sources.query import from_query
    from barnabas.spark.pipelines.sources.source import Source
    from barnabas.spark.pipelines.sources.table import from_table, newest_per_key
    from barnabas.spark.pipelines.sources.topic import from_topic
    from barnabas.spark.pipelines.transforms.connect_transforms import connect_transforms

__all__ = [
    "Connector",
    "Expectation",
    "Pipeline",
    "PipelineError",
    "PipelineRun",
    "RunFolder",
    "Sink",
    "Source",
    "WrittenBatch",
    "as_version",
    "compact_parquet",
    "connect_transforms",
    "expect",
    "for_each_batch",
    "from_connector",
    "from_files",
    "from_generator",
    "from_http",
    "from_log_files",
    "from_mysql_changes",
    "from_postgres_changes",
    "from_query",
    "from_table",
    "from_topic",
    "load",
    "make_topics",
    "newest_per_key",
    "pipeline",
    "read_postgres",
    "read_state",
    "read_table",
    "read_topic",
    "read_undecodable",
    "replay_dead_letters",
    "state_tables",
    "to_connector",
    "to_console",
    "to_duckdb",
    "to_files",
    "to_http",
    "to_memory",
    "to_mysql",
    "to_opensearch",
    "to_parquet",
    "to_postgres",
    "to_redis",
    "to_sqlite",
    "to_topic",
    "write_topic",
]

_HOMES = {
    "connect_transforms": "barnabas.spark.pipelines.transforms.connect_transforms",
    "to_opensearch": "barnabas.spark.pipelines.sinks.opensearch",
    "to_redis": "barnabas.spark.pipelines.sinks.redis",
    "from_http": "barnabas.spark.pipelines.sources.http",
    "to_http": "barnabas.spark.pipelines.sinks.http",
    "from_log_files": "barnabas.spark.pipelines.sources.log_files",
    "to_files": "barnabas.spark.pipelines.sinks.files",
    "from_query": "barnabas.spark.pipelines.sources.query",
    "to_mysql": "barnabas.spark.pipelines.sinks.database",
    "to_duckdb": "barnabas.spark.pipelines.sinks.database",
    "to_sqlite": "barnabas.spark.pipelines.sinks.database",
    "WrittenBatch": "barnabas.spark.connector.connector",
    "Connector": "barnabas.spark.connector.connector",
    "to_connector": "barnabas.spark.pipelines.sinks.connector",
    "from_connector": "barnabas.spark.pipelines.sources.connector",
    "from_generator": "barnabas.spark.pipelines.sources.generator",
    "Expectation": "barnabas.spark.pipelines.expectations.expectation",
    "Pipeline": "barnabas.spark.pipelines.definition.pipeline",
    "PipelineError": "barnabas.spark.pipelines.definition.pipeline",
    "PipelineRun": "barnabas.spark.pipelines.run.pipeline_run",
    "RunFolder": "barnabas.spark.pipelines.run.run_folder",
    "Sink": "barnabas.spark.pipelines.sinks.sink",
    "Source": "barnabas.spark.pipelines.sources.source",
    "as_version": "barnabas.spark.pipelines.operations.versions",
    "compact_parquet": "barnabas.spark.pipelines.parquet.compaction",
    "expect": "barnabas.spark.pipelines.expectations.expectation",
    "for_each_batch": "barnabas.spark.pipelines.sinks.function",
    "from_files": "barnabas.spark.pipelines.sources.files",
    "from_mysql_changes": "barnabas.spark.pipelines.sources.mysql_changes",
    "from_postgres_changes": "barnabas.spark.pipelines.sources.postgres_changes",
    "from_table": "barnabas.spark.pipelines.sources.table",
    "from_topic": "barnabas.spark.pipelines.sources.topic",
    "load": "barnabas.spark.pipelines.definition.loader",
    "make_topics": "barnabas.spark.pipelines.operations.versions",
    "newest_per_key": "barnabas.spark.pipelines.sources.table",
    "pipeline": "barnabas.spark.pipelines.definition.pipeline",
    "read_postgres": "barnabas.spark.pipelines.dataframes.postgres_reader",
    "read_state": "barnabas.spark.pipelines.operations.state",
    "read_table": "barnabas.spark.pipelines.dataframes.topic_reader",
    "read_topic": "barnabas.spark.pipelines.dataframes.topic_reader",
    "read_undecodable": "barnabas.spark.pipelines.dataframes.topic_reader",
    "replay_dead_letters": "barnabas.spark.pipelines.operations.replay",
    "state_tables": "barnabas.spark.pipelines.operations.state_tables",
    "to_console": "barnabas.spark.pipelines.sinks.console",
    "to_memory": "barnabas.spark.pipelines.sinks.memory",
    "to_parquet": "barnabas.spark.pipelines.sinks.parquet",
    "to_postgres": "barnabas.spark.pipelines.sinks.postgres",
    "to_topic": "barnabas.spark.pipelines.sinks.topic",
    "write_topic": "barnabas.spark.pipelines.dataframes.topic_writer",
}
"""Where these names live. They are imported when they are first used: see `barnabas.spark`."""

if not TYPE_CHECKING:  # type checkers know only the names above

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
