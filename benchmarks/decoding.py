"""Decoding values: JSON vs. Spark's own `from_json`, registered Avro vs. a typed schema.

all columns     a nested value of about 320 B, of Nexmark's bids, into typed columns
two fields      the same, of which two fields are used
read            the values as bytes, as both begin
registered      Avro with ids of a schema registry vs. Avro of a given schema

CPU is that of the JVM and of all Python processes, per record, of a batch read into nothing: the
whole of it, reading included. Beside it: the connector reads bytes, and `from_json` decodes them,
without being strict about what follows the object.
"""

import random
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.types import StructType

import barnabas
from barnabas.formats.registered.wire_format import header
from barnabas.spark.decoding.decoding import Decoding
from barnabas.spark.pipelines.formats.avro import AvroValues
from barnabas.spark.source.options import DECODING
from barnabas.spark.source.record_decoding import RecordDecoding
from benchmarks.avro import WRITER, orders
from benchmarks.bench import BASELINE, TOPIC, Bench, Row
from benchmarks.brokers import BARNABAS, Broker, Contender
from benchmarks.spark_side import PARTITIONS, Work, compare, session
from tests.registry.registry_process import registries

SCHEMA = (
    "event_type INT, "
    "person STRUCT<id: BIGINT, name: STRING, emailAddress: STRING, creditCard: STRING, "
    "city: STRING, state: STRING, dateTime: TIMESTAMP, extra: STRING>, "
    "auction STRUCT<id: BIGINT, itemName: STRING, description: STRING, initialBid: BIGINT, "
    "reserve: BIGINT, dateTime: TIMESTAMP, expires: TIMESTAMP, seller: BIGINT, category: BIGINT, "
    "extra: STRING>, "
    "bid STRUCT<auction: BIGINT, bidder: BIGINT, price: BIGINT, channel: STRING, url: STRING, "
    "dateTime: TIMESTAMP, extra: STRING>"
)
_USED = (("bid", "auction"), ("bid", "price"))
_AT_MOST_RATIO = 0.8
_REGISTRY_RATIO = 1.05
_TYPED, _REGISTERED = f"{TOPIC}-typed", f"{TOPIC}-registered"
_FILL_ROWS = 50_000


def measure(bench: Bench) -> list[Row]:
    count = 200_000 if bench.quick else 1_000_000
    rows: list[Row] = []
    with session() as spark, Contender(BARNABAS).running(TOPIC, PARTITIONS) as broker:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
        fill(broker, count)
        schema = StructType.fromDDL(SCHEMA)
        assert isinstance(schema, StructType)
        every: dict[str, Work] = {
            BARNABAS: lambda _: _drain(ours(spark, broker, Decoding("json", schema))),
            BASELINE: lambda _: _drain(by_from_json(spark, broker, schema).select("row.*")),
        }
        rows += _cpu(bench, broker, "all columns", count, every)
        fields = ("row.bid.auction", "row.bid.price")
        some: dict[str, Work] = {
            BARNABAS: lambda _: _drain(
                ours(spark, broker, Decoding("json", schema, used=_USED)).select(
                    "bid.auction", "bid.price"
                )
            ),
            BASELINE: lambda _: _drain(by_from_json(spark, broker, schema).select(*fields)),
        }
        rows += _cpu(bench, broker, "two fields", count, some)
        plain: dict[str, Work] = {BARNABAS: lambda _: _drain(values(spark, broker))}
        rows += _cpu(bench, broker, "read", count, plain)
        rows += registered(bench, broker, spark, count)
    return rows


def registered(bench: Bench, broker: Broker, spark: SparkSession, count: int) -> list[Row]:
    """Two topics with the same values, one of them with the ids of a schema."""
    with TemporaryDirectory() as folder, registries(Path(folder), broker.bootstrap) as make:
        registry = make()
        path = f"/subjects/{_REGISTERED}-value/versions"
        answer: Any = registry.call("POST", path, {"schema": WRITER}).body
        values = orders(_FILL_ROWS)
        with barnabas.Producer(broker.bootstrap) as producer:
            for _ in range(0, count, _FILL_ROWS):
                producer.send_table(pa.table({"value": values}), topic=_TYPED)
                start = header(answer["id"])
                table = pa.table({"value": [start + each for each in values]})
                producer.send_table(table, topic=_REGISTERED)
        typed = AvroValues(WRITER).decoding("UTC")
        reader = spark.read.format("barnabas").option("registry", registry.url)
        works: dict[str, Work] = {
            BARNABAS: lambda _: _drain(
                reader.options(**_options(broker, _REGISTERED)).option("schema", "registry").load()
            ),
            BASELINE: lambda _: _drain(ours(spark, broker, typed, _TYPED)),
        }
        (speed, cpu), _ = compare(bench, broker, "registered", count, works)
        return [speed, Row("registered", "CPU us each", cpu.values, at_most_ratio=_REGISTRY_RATIO)]


def _cpu(bench: Bench, broker: Broker, what: str, count: int, works: dict[str, Work]) -> list[Row]:
    (speed, cpu), _ = compare(bench, broker, what, count, works)
    ratio = _AT_MOST_RATIO if BASELINE in works else None
    return [speed, Row(what, "CPU us each", cpu.values, at_most_ratio=ratio)]


def ours(spark: SparkSession, broker: Broker, values: Decoding, topic: str = TOPIC) -> DataFrame:
    decoding = RecordDecoding(values)
    reader = spark.read.format("barnabas").options(**_options(broker, topic))
    return reader.option(DECODING, decoding.option()).schema(decoding.schema).load()


def values(spark: SparkSession, broker: Broker) -> DataFrame:
    return spark.read.format("barnabas").options(**_options(broker)).schema("value BINARY").load()


def by_from_json(spark: SparkSession, broker: Broker, schema: StructType) -> DataFrame:
    text = F.col("value").cast("string")
    return values(spark, broker).select(F.from_json(text, schema).alias("row"))


def fill(broker: Broker, count: int) -> None:
    """Bids, of Nexmark's shape."""
    chosen = random.Random(1)
    with barnabas.Producer(broker.bootstrap) as producer:
        for start in range(0, count, _FILL_ROWS):
            bids = [bid(chosen) for _ in range(min(_FILL_ROWS, count - start))]
            producer.send_table(pa.table({"value": bids}), topic=TOPIC)


def bid(chosen: random.Random) -> bytes:
    number = chosen.randrange(1_000_000)
    when = f"2026-01-01T{number % 24:02}:{number % 60:02}:{number % 59:02}.{number % 1000:03}Z"
    return (
        f'{{"event_type":2,"person":null,"auction":null,"bid":{{"auction":{number},'
        f'"bidder":{number * 7 % 99_991},"price":{number * 13},"channel":"Google",'
        f'"url":"https://www.nexmark.com/googl/item.htm?query=1&channel_id={number}",'
        f'"dateTime":"{when}","extra":"{"x" * 60}"}}}}'
    ).encode()


def _drain(rows: DataFrame) -> None:
    rows.write.format("noop").mode("overwrite").save()


def _options(broker: Broker, topic: str = TOPIC) -> dict[str, str]:
    return {"kafka.bootstrap.servers": broker.bootstrap, "subscribe": topic}
