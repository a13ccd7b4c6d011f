"""A client of Spark Connect, run by `test_spark_connect`: SERVER BOOTSTRAP FOLDER.

It is a process of its own, because one process has either a classic session or remote ones.
"""

import sys
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

import barnabas
import barnabas.spark
from barnabas.errors import InvalidArgument
from barnabas.spark.pipelines import read_table, read_topic


def main(server: str, bootstrap: str, folder: Path) -> None:
    with barnabas.Admin(bootstrap) as admin:
        for topic in ("numbers", "copied", "once", "by-hand"):
            admin.create_topic(topic, partitions=2)
    with barnabas.Producer(bootstrap) as producer:
        for number in range(100):
            producer.send("numbers", b'{"number": %d}' % number, key=b"%d" % (number % 10))
    spark = barnabas.spark.session("test", server, **{"spark.sql.shuffle.partitions": 2})
    assert type(spark).__module__.startswith("pyspark.sql.connect")
    job = Job(spark, bootstrap, folder)

    print("batch reads and writes")
    assert job.read("numbers").count() == 100
    assert job.read("numbers").where("partition = 0 AND offset < 5").count() == 5
    job.read("numbers").write.format("barnabas").options(**job.to("copied")).mode("append").save()
    assert job.read("copied").count() == 100

    print("exactly once")
    job.write_stream(deliveryGuarantee="exactly-once", topic="once")
    assert job.read("once").selectExpr("count(DISTINCT value)", "count(*)").first() == (100, 100)

    print("foreachBatch")
    options = job.to("by-hand")

    def by_hand(rows: DataFrame, _: int) -> None:
        rows.write.format("barnabas").options(**options).mode("append").save()

    job.run_stream(job.stream().writeStream.foreachBatch(by_hand), "by-hand")
    assert job.read("by-hand").count() == 100

    print("read_table, read_topic")
    table = read_table(spark, "numbers", "number INT", bootstrap_servers=bootstrap)
    assert {row.number for row in table.collect()} == set(range(90, 100))
    decoded = read_topic(spark, "numbers", "number INT", bootstrap_servers=bootstrap)
    writing = decoded.select("number").writeStream.format("parquet")
    job.run_stream(writing.option("path", str(folder / "decoded")), "decoded")
    assert spark.read.parquet(str(folder / "decoded")).agg({"number": "sum"}).first() == (4950,)

    print("the name kafka")
    with pytest.raises(InvalidArgument, match="does not work with Spark Connect"):
        barnabas.spark.register(spark, name="kafka")
    spark.stop()


class Job:
    """Reads and writes of one session."""

    def __init__(self, spark: SparkSession, bootstrap: str, folder: Path) -> None:
        self._spark = spark
        self._brokers = {"kafka.bootstrap.servers": bootstrap}
        self._folder = folder

    def to(self, topic: str) -> dict[str, str]:
        return {**self._brokers, "topic": topic}

    def read(self, topic: str) -> DataFrame:
        reader = self._spark.read.format("barnabas").options(**self._brokers, subscribe=topic)
        return reader.load()

    def stream(self) -> DataFrame:
        options = {**self._brokers, "subscribe": "numbers", "startingOffsets": "earliest"}
        return self._spark.readStream.format("barnabas").options(**options).load()

    def write_stream(self, topic: str, **options: str) -> None:
        """Twice: the second run has nothing to do, and knows that."""
        for _ in range(2):
            writing = self.stream().writeStream.format("barnabas")
            self.run_stream(writing.options(**self.to(topic), **options), topic)

    def run_stream(self, writing: "object", name: str) -> None:
        query = (
            writing.option("checkpointLocation", str(self._folder / name))  # type: ignore[attr-defined]
            .trigger(availableNow=True)
            .start()
        )
        assert query.awaitTermination(120), query.status
        assert query.exception() is None, query.exception()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
