"""The data sources that Spark uses for changes of databases."""

from collections.abc import MutableMapping

from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader
from pyspark.sql.types import StructType

from barnabas.spark.changes.change_columns import schema_of
from barnabas.spark.changes.stream_reader import (
    DATABASE_OPTION,
    FORMAT_OPTION,
    ChangesReader,
)

NAME = "barnabas_postgres_changes"
MYSQL_NAME = "barnabas_mysql_changes"


class PostgresChangesDataSource(DataSource):
    """Changes of a PostgreSQL; its options are settings of `barnabas.changes.postgres`."""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        self.options = dict(options)

    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> StructType:
        return schema_of(self.options.get(FORMAT_OPTION, "debezium"))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: ARG002, N802 - Spark's
        return ChangesReader(self.options)


class MySqlChangesDataSource(PostgresChangesDataSource):
    """Changes of a MySQL or MariaDB; its options are settings of `barnabas.changes.mysql`."""

    @classmethod
    def name(cls) -> str:
        return MYSQL_NAME

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: ARG002, N802 - Spark's
        return ChangesReader({**self.options, DATABASE_OPTION: "mysql"})


def register_changes(spark: SparkSession) -> None:
    """Register the sources with a session; repeating it has no effect."""
    spark.dataSource.register(PostgresChangesDataSource)
    spark.dataSource.register(MySqlChangesDataSource)
