"""Secrets in Spark's settings are not on the command line of its JVM, which everybody can read."""

import subprocess
import sys

import pytest

PROGRAM = """
from contextlib import suppress
import psutil
from barnabas.spark import session

conf = {"spark.hadoop.fs.s3a.secret.key": "top-secret", "spark.ui.enabled": False}
spark = session("quiet", "local[1]", **{**conf, "spark.sql.shuffle.partitions": 3})
shown = ""
for each in psutil.Process().children(recursive=True):
    with suppress(psutil.Error):  # it has ended meanwhile
        shown += " ".join(each.cmdline())
hadoop = spark.sparkContext._jsc.hadoopConfiguration()
print("top-secret" in shown, "spark.ui.enabled=false" in shown)
print(hadoop.get("fs.s3a.secret.key"), spark.conf.get("spark.sql.shuffle.partitions"))
print(spark.sparkContext.appName, spark.sparkContext.master)
spark.stop()
"""


@pytest.mark.drivers
def test_secrets_are_not_on_the_command_line() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
    )
    assert ran.stdout.splitlines() == ["False True", "top-secret 3", "quiet local[1]"]
