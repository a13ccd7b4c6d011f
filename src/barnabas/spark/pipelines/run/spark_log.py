"""Spark's log in a file; on a terminal it would hide everything else."""

import logging
from pathlib import Path

from pyspark.accumulators import AccumulatorTCPServer, AccumulatorUnixServer
from pyspark.logger import PySparkLogger

from barnabas.spark.sessions.jvm_options import MESSAGES_TO_STDERR

_CONFIG = """rootLogger.level = warn
rootLogger.appenderRef.file.ref = file
appender.file.type = RollingFile
appender.file.name = file
appender.file.fileName = {log}
appender.file.filePattern = {log}.%i
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{{yyyy-MM-dd HH:mm:ss.SSS}} %p %c{{1}}: %m%n%ex
appender.file.policies.type = Policies
appender.file.policies.size.type = SizeBasedTriggeringPolicy
appender.file.policies.size.size = 10MB
appender.file.strategy.type = DefaultRolloverStrategy
appender.file.strategy.max = 3
"""


def log_to(log: Path) -> dict[str, str]:
    """Settings of Spark that make its driver log there, at most 40 MB.

    The JVM's own messages go to stderr.

    They leave `spark.driver.extraJavaOptions` to the user, also to Spark's configuration file.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    config = log.with_name(f"{log.stem}-log4j2.properties")
    config.write_text(_CONFIG.format(log=log), "utf-8")
    options = f'"-Dlog4j2.configurationFile={config.as_uri()}" {MESSAGES_TO_STDERR}'
    return {"spark.driver.defaultJavaOptions": options}


def silence_query_errors() -> None:
    """Keep PySpark from logging the plan and the JVM's stack trace of an error that it raises."""
    for name in ("DataFrameQueryContextLogger", "SQLQueryContextLogger"):
        PySparkLogger.getLogger(name).setLevel(logging.CRITICAL)


def keep_errors_quiet() -> None:
    """Keep PySpark and py4j from logging, with stack traces, errors that they raise too.

    Other warnings are shown if no handler is installed, as Python does by default.
    """
    silence_query_errors()
    for server in (AccumulatorTCPServer, AccumulatorUnixServer):
        # It prints where it was when Spark's process died, which is said in other words too.
        server.handle_error = lambda *_: None  # type: ignore[method-assign]
    if not logging.root.handlers:
        shown = logging.StreamHandler()
        shown.setLevel(logging.WARNING)
        shown.addFilter(lambda record: "py4j" not in Path(record.pathname).parts)
        logging.root.addHandler(shown)
