"""What a user sets for the JVM is added to what Barnabas sets, in the JVM that runs, too.

Secrets among it are not on the command line of the JVM, which everybody can read.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from barnabas.spark.sessions.combined_conf import combined

PROGRAM = """
import json, sys
from contextlib import suppress
from pathlib import Path
import psutil
from barnabas.cli.pipeline.spark import SparkOptions, start_spark
from barnabas.spark.pipelines import pipeline, from_topic, to_console
from barnabas.spark.pipelines.run.session_conf import session_conf
from barnabas.spark.sessions.combined_conf import combined

folder = Path(sys.argv[1])
options = "spark.driver.extraJavaOptions"

@pipeline(sources={"rows": from_topic("a")}, sink=to_console(), conf={options: "-Dpipeline=1"})
def first(rows):
    return rows

secret = {"spark.hadoop.fs.s3a.secret.key": "top-secret"}
jvm = "-Duser=2 -XX:+UseSerialGC -XX:InitialHeapSize=200m -XX:NewSize=300m"
own = {options: jvm, "spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "3"}
conf = combined(session_conf([first]), {**own, **secret})
spark = start_spark(SparkOptions(folder, "test", str(folder), "local[1]", conf))
system = spark._jvm.java.lang.System
shown = ""
for each in psutil.Process().children(recursive=True):
    with suppress(psutil.Error):  # it has ended meanwhile
        shown += " ".join(each.cmdline())
hadoop = spark.sparkContext._jsc.hadoopConfiguration()
print(json.dumps({
    "properties": [
        system.getProperty(name) for name in ("pipeline", "user", "log4j2.configurationFile")
    ],
    "on command line": ["top-secret" in shown, "spark.ui.enabled=false" in shown],
    "set": [hadoop.get("fs.s3a.secret.key"), spark.conf.get("spark.sql.shuffle.partitions")],
    "context": [spark.sparkContext.appName, spark.sparkContext.master],
}))
spark.stop()
"""


def test_jvm_options_and_lists_add_up_and_others_are_replaced() -> None:
    assert combined(
        {"spark.executor.extraJavaOptions": "-Da=1", "spark.jars": "a,b", "spark.x": "1"},
        {"spark.executor.extraJavaOptions": "-Db=2", "spark.jars": "b,c", "spark.x": "2"},
    ) == {"spark.executor.extraJavaOptions": "-Da=1 -Db=2", "spark.jars": "a,b,c", "spark.x": "2"}


@pytest.mark.drivers
def test_options_of_user_pipeline_and_log_are_all_there_and_secrets_are_not_shown(
    tmp_path: Path,
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert "NewSize" in (tmp_path / "test-errors.log").read_text()  # a warning of the JVM
    pipeline, user, log = found["properties"]
    assert (pipeline, user) == ("1", "2")
    assert log.endswith("test-log4j2.properties")
    assert (tmp_path / "test.log").exists()
    assert found["on command line"] == [False, True]
    assert found["set"] == ["top-secret", "3"]
    assert found["context"] == ["barnabas pipelines", "local[1]"]
