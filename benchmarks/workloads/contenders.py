"""The three ways in which a query is run on the same topic, and what each costs.

pipeline    a pipeline with `from_topic` and `to_topic`, as `barnabas pipeline run --once` runs it
connector   `format("barnabas")`, `from_json` and `to_json`
Spark's     `format("kafka")`, Spark's own connector, with the same

All are in one session, that of `barnabas.spark`, whose settings suit micro-batches: Spark's own 200
shuffle partitions would make a multiple of every query. All keep their state in RocksDB, as
pipelines do by default; with BARNABAS_SPARK_STATE=memory, where Spark does by default.
"""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.streaming.query import StreamingQuery

import barnabas
from barnabas.spark.pipelines import (
    Pipeline,
    PipelineRun,
    RunFolder,
    Source,
    from_table,
    from_topic,
    pipeline,
    to_topic,
)
from barnabas.spark.pipelines.environment import applied
from benchmarks.bench import BASELINE, CONNECTOR
from benchmarks.brokers import BARNABAS, Broker
from benchmarks.spark_side import Cost, timed
from benchmarks.workloads.workload import Query, Table, Workload

FORMATS = {CONNECTOR: "barnabas", BASELINE: "kafka"}

BATCHES = 4
"""Micro-batches in which the events are read."""


@dataclass(frozen=True)
class Filled:
    """A broker with the events of a workload in a topic."""

    broker: Broker
    workload: Workload
    topic: str
    count: int

    @property
    def batch_size(self) -> int:
        """How many records a micro-batch has at most."""
        return -(-self.count // BATCHES)


def fill_tables(broker: Broker, workload: Workload) -> None:
    """Create the tables that streams are joined with."""
    with barnabas.Admin(broker.bootstrap) as admin:
        for name in workload.joined:
            admin.create_topic(name, partitions=1, configs={"cleanup.policy": "compact"})
    with barnabas.Producer(broker.bootstrap) as producer:
        for name, table in workload.joined.items():
            producer.send_table(table.rows(), topic=name)


def fill(broker: Broker, workload: Workload, events: int, partitions: int) -> Filled:
    """Create a topic with so many events."""
    topic = f"{workload.name}-{events}"
    with barnabas.Admin(broker.bootstrap) as admin:
        admin.create_topic(topic, partitions=partitions)
    with barnabas.Producer(broker.bootstrap) as producer:
        tables = workload.tables(events, partitions)
        count = sum(producer.send_table(each, topic=topic) for each in tables)
    return Filled(broker, workload, topic, count)


def run(spark: SparkSession, filled: Filled, query: Query, contender: str, output: str) -> Cost:
    """Run a query to the end of its topic. The seconds are those of its micro-batches."""
    with barnabas.Admin(filled.broker.bootstrap) as admin:
        admin.create_topic(output, partitions=1)
    with tempfile.TemporaryDirectory(prefix="barnabas-bench-") as folder:
        if contender == BARNABAS:
            return timed(
                filled.broker, lambda: _run_pipeline(spark, filled, query, output, Path(folder))
            )
        name = FORMATS[contender]
        return timed(filled.broker, lambda: _run_query(spark, filled, query, name, output, folder))


def _run_pipeline(
    spark: SparkSession, filled: Filled, query: Query, output: str, folder: Path
) -> float:
    defined = as_pipeline(filled, query, output)
    run = PipelineRun(
        spark, [defined], filled.broker.bootstrap, RunFolder(folder), once=True, max_restarts=0
    )
    with run:
        started = next((each for each in spark.streams.active if each.name == defined.name), None)
        run.wait()
    assert started is not None, f"{defined.name} has ended before it could be looked at"
    return _batch_seconds(started)


def as_pipeline(filled: Filled, query: Query, output: str) -> Pipeline:
    workload = filled.workload
    events = from_topic(
        filled.topic,
        workload.schema,
        watermark=" ".join(workload.watermark),
        maxOffsetsPerTrigger=filled.batch_size,
    )
    tables = {
        name: from_table(name, table.schema, key=table.key)
        for name, table in workload.joined.items()
    }
    sources: dict[str, Source] = {"events": events, **tables}
    return pipeline(
        name=output,
        sources={name: sources[name] for name in query.inputs},
        sink=to_topic(output),
        output_mode=query.output_mode,
    )(query.transform)


def _run_query(
    spark: SparkSession, filled: Filled, query: Query, name: str, output: str, checkpoint: str
) -> float:
    broker, workload = filled.broker, filled.workload
    options = {
        "kafka.bootstrap.servers": broker.bootstrap,
        "subscribe": filled.topic,
        "startingOffsets": "earliest",
        "maxOffsetsPerTrigger": str(filled.batch_size),
    }
    records = spark.readStream.format(name).options(**options).load()
    inputs = {"events": decoded(records, workload.schema).withWatermark(*workload.watermark)}
    inputs |= {
        each: last_of_keys(spark, broker, name, each, table)
        for each, table in workload.joined.items()
    }
    rows = query.transform(**{each: inputs[each] for each in query.inputs})
    written = rows.select(F.to_json(F.struct("*")).alias("value"))
    target = {"kafka.bootstrap.servers": broker.bootstrap, "topic": output}
    writing = written.writeStream.outputMode(query.output_mode)
    if name == FORMATS[CONNECTOR] and query.output_mode != "append":  # a Python sink only appends
        writing = writing.foreachBatch(lambda batch, _: _write(batch, name, target))
    else:
        writing = writing.format(name).options(**target)
    writing = writing.option("checkpointLocation", checkpoint).trigger(availableNow=True)
    with applied(spark, {}):  # what pipelines want of Spark
        started = writing.start()
    started.awaitTermination()
    return _batch_seconds(started)


def decoded(records: DataFrame, schema: str, *others: str) -> DataFrame:
    """JSON values as columns, as Spark does it."""
    event = F.from_json(F.col("value").cast("string"), schema).alias("event")
    return records.select(event, *others).select("event.*", *others)


def records_of(spark: SparkSession, broker: Broker, name: str, topic: str) -> DataFrame:
    """A topic as a batch."""
    options = {"kafka.bootstrap.servers": broker.bootstrap, "subscribe": topic}
    return spark.read.format(name).options(**options).load()


def last_of_keys(
    spark: SparkSession, broker: Broker, name: str, topic: str, table: Table
) -> DataFrame:
    """The last row of every key, read again by every micro-batch."""
    records = records_of(spark, broker, name, topic)
    last = records.groupBy("key").agg(F.max_by("value", "offset").alias("value"))
    named = last.withColumn(table.key, F.col("key").cast("string"))
    return decoded(named.where("value IS NOT NULL"), table.schema, table.key)


def _write(rows: DataFrame, name: str, options: Mapping[str, str]) -> None:
    rows.write.format(name).options(**options).mode("append").save()


def _batch_seconds(ended: StreamingQuery) -> float:
    error = ended.exception()
    if error is not None:
        raise error
    return sum(each.durationMs["triggerExecution"] for each in ended.recentProgress) / 1000
