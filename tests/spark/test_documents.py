"""What docs/spark.md shows runs, in one session, one block after the other.

But for a cluster of Spark: that is in test_spark_cluster.
"""

from pathlib import Path

from pyspark.sql import SparkSession

from tests.conftest import MakeBroker
from tests.examples.documents import ROOT, run, steps


def test_every_snippet_runs(
    spark: SparkSession,  # what the document's own session is, then
    make_broker: MakeBroker,
    tmp_path: Path,
) -> None:
    bootstrap = make_broker().bootstrap
    work = tmp_path / "work"
    work.mkdir()
    names: dict[str, object] = {}
    for step in steps(ROOT / "docs" / "spark.md", without="On a cluster"):
        if step.kind == "console":
            run(step, bootstrap, work)
            continue
        source = step.source.replace("localhost:9092", bootstrap)
        source = source.replace('"checkpoints/', f'"{work}/checkpoints/')
        source = source.replace('start("users")', f'start("{work}/users")')
        source = source.replace('parquet("users")', f'parquet("{work}/users")')
        exec(compile(source, "docs/spark.md", "exec"), names)
    assert names["spark"] is spark
