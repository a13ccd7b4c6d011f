"""A Spark session that is ready for topics: Java found, connector known, settings that suit it."""

import os
import re
import sys
import tempfile
import uuid
from collections.abc import Mapping
from importlib.util import find_spec

from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

from barnabas.spark.sessions.combined_conf import combined
from barnabas.spark.sessions.java import java_home
from barnabas.spark.sessions.redaction import REDACTION_CONF
from barnabas.spark.sessions.registration import LOCAL, PUSHDOWN, register
from barnabas.spark.sessions.spark_home import lean_home

_SECRET = re.compile("secret|password|token|access[.]?key", re.IGNORECASE)
"""Names of settings whose values Spark itself does not show (`spark.redaction.regex`)."""

REMOTE = "sc://"
"""Prefix of Spark Connect addresses."""

_EVERYWHERE = {
    **REDACTION_CONF,
    PUSHDOWN: "true",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
}
# Python workers and the JVM of one machine talk without TCP: less delay for each micro-batch.
_SOCKETS = "spark.python.unix.domain.socket.enabled"
_SOCKET_NAME_LENGTH = len(f"/.{uuid.UUID(int=0)}.sock")
_LONGEST_SOCKET_PATH = 103  # of macOS; Linux takes four more
_ON_ONE_MACHINE = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.showConsoleProgress": "false",
    # The default one takes much longer for each file: half of a small micro-batch.
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing."
        "FileSystemBasedCheckpointFileManager"
    ),
}


def session(
    app_name: str = "barnabas", master: str = "local[*]", **conf: str | int | bool
) -> SparkSession:
    """A session with the format `barnabas`; the running one, if there is one.

    `conf` are Spark settings, given as `**{"spark.sql.shuffle.partitions": 8}`; they override the
    ones made here. If `master` is this machine, shuffles have as many partitions as there are
    cores: Spark's default of 200 takes seconds for each micro-batch.

    A `master` that begins with `sc://` is a Spark Connect server, whose Python needs
    `barnabas[spark]`. Then `conf` may only have settings that can be changed in a running Spark.
    """
    if master.startswith(REMOTE):
        return _remote_session(app_name, master, conf)
    if SparkContext._active_spark_context is None:
        _prepare_environment(is_local=LOCAL.match(master) is not None)
    builder = SparkSession.builder.appName(app_name).master(master)
    settings = {name: _text(each) for name, each in combined(_settings(master), conf).items()}
    _start_without_secrets(app_name, master, settings)
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    register(spark)
    return spark


def _start_without_secrets(app_name: str, master: str, settings: Mapping[str, str]) -> None:
    """Start the JVM with a command line that has no secrets, which all users of the machine see.

    Only if there are any: the session gives them to the JVM through its socket then.
    """
    if SparkContext._gateway is None and any(map(_SECRET.search, settings)):
        shown = {name: each for name, each in settings.items() if not _SECRET.search(name)}
        conf = SparkConf().setAppName(app_name).setMaster(master).setAll(list(shown.items()))
        SparkContext._ensure_initialized(conf=conf)


def _remote_session(app_name: str, url: str, conf: Mapping[str, str | int | bool]) -> SparkSession:
    if find_spec("grpc") is None:
        raise ImportError(f"{url} is Spark Connect: pip install 'barnabas[spark,spark-connect]'")
    builder = SparkSession.builder.appName(app_name).remote(url)
    for name, value in combined(_EVERYWHERE, conf).items():
        builder = builder.config(name, _text(value))
    spark = builder.getOrCreate()
    register(spark)
    return spark


def _prepare_environment(*, is_local: bool) -> None:
    """Set environment variables for the JVM; the user's own are kept."""
    os.environ["JAVA_HOME"] = str(java_home())
    # Workers need the packages that this program has, also those of a cluster: Spark plans reads
    # with this Python, here, and does them with the one of the same path, there.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if not is_local:
        return
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    if "SPARK_HOME" not in os.environ and (home := lean_home()) is not None:
        os.environ["SPARK_HOME"] = str(home)


def _settings(master: str) -> dict[str, str]:
    local = LOCAL.match(master)
    everywhere = {**_EVERYWHERE, _SOCKETS: _text(_has_room_for_sockets(tempfile.gettempdir()))}
    if local is None:
        return everywhere
    cores = (os.cpu_count() or 1) if local[1] == "*" else int(local[1] or 1)
    return {**everywhere, **_ON_ONE_MACHINE, "spark.sql.shuffle.partitions": str(cores)}


def _has_room_for_sockets(folder: str) -> bool:
    """Whether Spark's long socket names fit into the system's limit for paths."""
    return len(os.fsencode(folder)) + _SOCKET_NAME_LENGTH <= _LONGEST_SOCKET_PATH


def _text(value: str | int | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
