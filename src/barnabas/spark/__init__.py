"""Topics as DataFrames: a data source for PySpark, batch and streaming, without a JAR.

    import barnabas.spark

    spark = barnabas.spark.session("my pipeline")
    events = (
        spark.readStream.format("barnabas")
        .option("kafka.bootstrap.servers", "localhost:9092")
        .option("subscribe", "events")
        .load()
    )

Names and meanings of options and columns are those of Spark's own Kafka source (docs/spark.md). A
Spark session that was made elsewhere learns the format by `register`.

Records come as Arrow columns, straight from their batches: there is no Python object for each.
"""

try:
    import pyspark.sql.streaming.datasource  # noqa: F401 - since 4.2; to say at once what is missing
except ImportError as missing:
    raise ImportError(
        "barnabas.spark needs PySpark 4.3: pip install 'barnabas[spark]'"
    ) from missing

from barnabas.spark.sessions.registration import register
from barnabas.spark.sessions.tuned_session import session

__all__ = ["register", "session"]
