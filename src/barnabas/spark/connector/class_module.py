"""Sends the class of a connector to Spark's workers, which may not be able to import it."""

import sys
from pathlib import Path

from pyspark import cloudpickle

from barnabas.spark.connector.connector import Connector

_INSTALLED = {"site-packages", "dist-packages"}
_OURS = "barnabas"


def send_by_value(connector: Connector) -> None:
    """Let the module of the connector's class be pickled with it, unless it is installed."""
    name = type(connector).__module__
    module = sys.modules.get(name)
    file = getattr(module, "__file__", None)
    if module is None or file is None or name.partition(".")[0] == _OURS:
        return
    if not _INSTALLED & set(Path(file).parts):
        cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
