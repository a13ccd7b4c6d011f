"""Failures around Spark, in Spark's own words, and what is said of them."""

import pytest

from barnabas.spark.pipelines.errors.failure import reason_of
from barnabas.spark.pipelines.errors.known_causes import known_cause
from barnabas.spark.pipelines.run.restart_policy import RestartPolicy

_QUERY = "[STREAM_FAILED] Query [id = 1f, runId = 2e] terminated with exception: "
_TASK = (
    "Job aborted due to stage failure: Task 0 in stage 3.0 failed 1 times, most recent failure: "
    "Lost task 0.0 in stage 3.0 (TID 5) (host executor driver): "
)

CONNECT_BACK = (
    f"{_QUERY}{_TASK}org.apache.spark.SparkException: Python worker failed to connect back.\n"
    "\tat org.apache.spark.api.python.PythonWorkerFactory.createSimpleWorker"
    "(PythonWorkerFactory.scala:308)\n"
    "Caused by: java.net.SocketTimeoutException: Timed out while waiting for the Python worker to "
    "connect back\n"
)
RUNNER_TIMEOUT = (
    "[STREAMING_PYTHON_RUNNER_INITIALIZATION_TIMEOUT_FAILURE] Streaming Runner initialization "
    "failed. Socket connection timeout. Cause: Read timed out SQLSTATE: XXKST"
)
SCHEMA = (
    f"{_QUERY}[STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE] Provided key schema does not match existing "
    "state key schema.\nPlease check number and type of fields. SQLSTATE: 42K06"
)
SOURCES = (
    f"{_QUERY}assertion failed: There are [2] sources in the checkpoint offsets and now there are "
    "[1] sources requested by the query. Cannot continue."
)


@pytest.mark.parametrize(
    ("text", "start", "advice"),
    [
        (
            CONNECT_BACK,
            "SparkException: Python worker failed to connect back",
            "the machine is overloaded",
        ),
        (RUNNER_TIMEOUT, "[STREAMING_PYTHON_RUNNER", "the machine is overloaded"),
        (
            f"{_TASK}java.lang.OutOfMemoryError: Java heap space\n\tat java.base/x",
            "OutOfMemoryError: Java heap space",
            "spark.driver.memory",
        ),
        (
            (
                "Job aborted due to stage failure: Task 1 in stage 0.0 failed 4 times, most recent "
                "failure: Lost task 1.3 in stage 0.0 (TID 9) (10.0.0.7 executor 2): "
                "ExecutorLostFailure"
                " (executor 2 exited caused by one of the running tasks) Reason: "
                "Command exited with "
                "code 137"
            ),
            "ExecutorLostFailure (executor 2",
            "spark.executor.memoryOverhead",
        ),
        (
            (
                f"{_TASK}org.apache.spark.SparkException: Python worker exited "
                "unexpectedly (crashed). "
                "Consider setting 'spark.sql.execution.pyspark.udf.faulthandler.enabled' or "
                "'spark.python.worker.faulthandler.enabled' configuration to 'true' for the better "
                "Python traceback.\nCaused by: java.io.EOFException"
            ),
            "SparkException: Python worker exited unexpectedly",
            "dmesg",
        ),
        (
            "[JAVA_GATEWAY_EXITED] Java gateway process exited before sending its port number.",
            "[JAVA_GATEWAY_EXITED]",
            "JAVA_HOME",
        ),
        (
            (
                'Exception in thread "main" java.lang.UnsupportedClassVersionError: '
                "org/apache/spark/"
                "launcher/Main has been compiled by a more recent version of the "
                "Java Runtime (class "
                "file version 61.0), this version of the Java Runtime only recognizes class file "
                "versions up to 55.0"
            ),
            "Exception in thread",
            "Java is too old",
        ),
        (
            (
                "java.net.BindException: Address already in use: Service 'SparkUI' failed after 16 "
                "retries (starting from 4040)! Consider explicitly setting the appropriate port"
            ),
            "BindException: Address already in use",
            "spark.ui.port=0",
        ),
        (
            (
                "java.net.BindException: Cannot assign requested address: Service "
                "'sparkDriver' failed "
                "after 16 retries (on a random free port)! Consider explicitly setting"
            ),
            "BindException: Cannot assign",
            "spark.driver.bindAddress=127.0.0.1",
        ),
        (SCHEMA, "[STATE_STORE_KEY_SCHEMA", "barnabas pipeline reset"),
        (SOURCES, "assertion failed: There are [2]", "--version v2"),
        (
            (
                "Traceback (most recent call last):\n"
                '  File "/x/pyspark.zip/pyspark/worker.py", line 9, in main\n'
                "    func = read(f)\n"
                "ModuleNotFoundError: No module named 'rates'\n"
            ),
            "ModuleNotFoundError: No module named 'rates'",
            "install it where",
        ),
        (
            f"{_QUERY}java.io.IOException: No space left on device",
            "IOException: No space left on device",
            "the disk is full",
        ),
        (
            (
                f"{_QUERY}[CONCURRENT_STREAM_LOG_UPDATE] Concurrent update to the log. Multiple "
                "streaming jobs detected for 7. SQLSTATE: 40000"
            ),
            "[CONCURRENT_STREAM_LOG_UPDATE]",
            "another process runs",
        ),
    ],
)
def test_a_known_failure_names_its_fix(text: str, start: str, advice: str) -> None:
    reason = reason_of(Exception(text))
    assert reason.startswith(start)
    assert advice in reason.split("; ", 1)[1]
    assert "\n" not in reason


def test_other_failures_are_left_as_they_are() -> None:
    assert reason_of(Exception("ValueError: 3 is odd")) == "ValueError: 3 is odd"


def test_a_busy_machine_is_not_counted_and_what_can_not_succeed_is_not_tried_again() -> None:
    busy, changed = known_cause(CONNECT_BACK), known_cause(SCHEMA)
    assert busy is not None
    assert changed is not None
    policy = RestartPolicy(max_restarts=1)
    assert [policy.next_s(busy.retry) for _ in range(3)] == [1, 2, 4]
    assert policy.next_s() == 8, "the first that counts"
    assert policy.next_s() is None
    assert [policy.next_s(busy.retry) for _ in range(8)][-2:] == [60, None], "not for ever"
    policy.reset()
    assert policy.next_s() == 1
    assert RestartPolicy().next_s(changed.retry) is None
