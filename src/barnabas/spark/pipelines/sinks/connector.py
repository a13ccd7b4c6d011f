"""Rows given to a connector: a class of the user's that writes."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from pyspark.sql import DataFrame
from pyspark.sql.streaming.readwriter import DataStreamWriter

from barnabas.spark.connector.batch_writer import ConnectorBatches
from barnabas.spark.connector.connector import Connector
from barnabas.spark.pipelines.connector_class import made_connector
from barnabas.spark.pipelines.environment import Environment
from barnabas.spark.pipelines.sinks.sink import OutputMode, Sink


@dataclass(frozen=True)
class ConnectorSink(Sink):
    """What a connector writes to. See `to_connector`."""

    connector: Connector

    def describe(self) -> str:
        return self.connector.describe()

    def resolved(self, folder: Path) -> Self:
        return replace(self, connector=self.connector.resolved(folder))

    def writer(
        self, environment: Environment, rows: DataFrame, output_mode: OutputMode
    ) -> DataStreamWriter:
        del environment, output_mode
        return rows.writeStream.foreachBatch(ConnectorBatches(self.connector))


def to_connector(connector: Connector | str, **arguments: Any) -> ConnectorSink:
    """Write rows with a connector: an object, or the name of a class and its arguments.

    Tasks call its `write`, each with a part of a batch. After a failure, a batch is repeated.
    """
    return ConnectorSink(made_connector(connector, "write", arguments))
