"""Topics as DataFrames: a data source for PySpark, batch and streaming, without a JAR.

    import barnabas.spark

    spark = barnabas.spark.session("my pipeline")
    events = (
        spark.readStream.format("barnabas")
        .option("kafka.bootstrap.servers", "localhost:9092")
        .option("subscribe", "events")
        .load()
    )

Options and columns have the names and meanings of Spark's own Kafka source (docs/spark.md). For a
Spark session that was created elsewhere, `register` adds the format.

Records are read as Arrow columns, directly from their batches, without a Python object for each.
"""

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from barnabas.spark.pipelines.dataframes.avro_functions import from_avro, to_avro
    from barnabas.spark.sessions.registration import register
    from barnabas.spark.sessions.tuned_session import session

__all__ = ["from_avro", "register", "session", "to_avro"]

_HOMES = {
    "from_avro": "barnabas.spark.pipelines.dataframes.avro_functions",
    "to_avro": "barnabas.spark.pipelines.dataframes.avro_functions",
    "register": "barnabas.spark.sessions.registration",
    "session": "barnabas.spark.sessions.tuned_session",
}
"""Imported on first use: commands that only read files need no PySpark."""


def _has_pyspark() -> bool:
    """Whether it is there, with the data sources that it has since 4.2, without importing it.

    Workers of a cluster have it in a zip file.
    """
    found = find_spec("pyspark")
    if found is None or found.origin is None:
        return False
    module = Path(found.origin).parent / "sql" / "streaming" / "datasource.py"
    try:
        found.loader.get_data(str(module))  # type: ignore[union-attr]
    except OSError:
        return False
    return True


if not _has_pyspark():
    raise ImportError("barnabas.spark needs PySpark 4.3: pip install 'barnabas[spark]'")

if not TYPE_CHECKING:  # type checkers know only the names above

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
