"""The data source that Spark makes of a connector, which comes to it as an option."""

import base64
import pickle
from collections.abc import MutableMapping

from pyspark import cloudpickle
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader
from pyspark.sql.types import StructType

from barnabas.errors import InvalidArgument
from barnabas.spark.connector.class_module import send_by_value
from barnabas.spark.connector.connector import Connector
from barnabas.spark.connector.stream_reader import ConnectorStreamReader

NAME = "barnabas_connector"
_CONNECTOR = "connector"


class ConnectorDataSource(DataSource):
    """A connector; its option is the pickled object."""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        self.options = dict(options)

    @classmethod
    def name(cls) -> str:
        return NAME

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's
        pickled = base64.b64decode(self.options[_CONNECTOR])
        return ConnectorStreamReader(pickle.loads(pickled), schema)  # noqa: S301 - our own


def stream_of(spark: SparkSession, connector: Connector, schema: StructType) -> DataFrame:
    """The rows of a connector, as a stream."""
    spark.dataSource.register(ConnectorDataSource)
    send_by_value(connector)
    try:
        pickled = cloudpickle.dumps(connector)  # type: ignore[no-untyped-call]
    except (TypeError, pickle.PicklingError) as error:
        raise InvalidArgument(
            f"{connector.describe()} can't be sent to Spark's workers ({error}): let it open "
            "connections and files in its methods, not in __init__"
        ) from error
    option = base64.b64encode(pickled).decode()
    return spark.readStream.format(NAME).option(_CONNECTOR, option).schema(schema).load()
