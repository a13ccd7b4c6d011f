"""A driver that is killed with kill -9 while it copies a log file into a table: each line once."""

import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from barnabas.spark.pipelines import (
    Pipeline,
    PipelineRun,
    RunFolder,
    from_log_files,
    pipeline,
    to_sqlite,
)
from tests.support.wait import wait_until

pytestmark = [
    pytest.mark.drivers,
    pytest.mark.timeout(900),
    pytest.mark.long,
]

LINES = 1_000


def copying(folder: Path, limit: int) -> Pipeline:
    """Some lines at a time, added to a table without a key: a line that came twice would show."""
    source = from_log_files(str(folder / "app.log"), max_bytes_per_batch=limit)

    @pipeline(sources={"lines": source}, sink=to_sqlite(str(folder / "x.db"), "lines", create=True))
    def copied(lines: DataFrame) -> DataFrame:
        return lines.selectExpr("CAST(value AS INT) AS n", "file")

    return copied


def run(spark: SparkSession, folder: Path, limit: int = 40) -> None:
    runs, defined = RunFolder(folder / "runs"), copying(folder, limit)
    with PipelineRun(spark, [defined], "nowhere:9", runs, once=True, max_restarts=0) as each:
        each.wait()


def numbers(folder: Path) -> list[int]:
    if not (folder / "x.db").exists():
        return []
    with closing(sqlite3.connect(folder / "x.db", timeout=60)) as connection:
        has_table = "SELECT 1 FROM sqlite_master WHERE name = 'lines'"
        if connection.execute(has_table).fetchone() is None:
            return []
        return [row[0] for row in connection.execute("SELECT n FROM lines")]


def run_and_kill(folder: Path, wanted: int) -> None:
    """Kill a driver, with all that it has started, once the table has so many rows."""
    program = (
        "import sys; from pathlib import Path; import barnabas.spark;"
        "from tests.spark.pipelines.test_killed_connectors import run;"
        "spark = barnabas.spark.session('killed', 'local[2]', **{'spark.ui.enabled': False});"
        "run(spark, Path(sys.argv[1]))"
    )
    with (folder / "output").open("w") as output:
        driver = subprocess.Popen(
            [sys.executable, "-c", program, str(folder)],
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def has_copied() -> object:
        assert driver.poll() is None, (folder / "output").read_text()
        return len(numbers(folder)) >= wanted

    try:
        wait_until(has_copied, "nothing is copied")
    finally:
        os.killpg(driver.pid, signal.SIGKILL)
        driver.wait()


def test_lines_are_there_once_though_the_driver_is_killed(
    spark: SparkSession, tmp_path: Path
) -> None:
    log = tmp_path / "app.log"
    log.write_text("".join(f"{n}\n" for n in range(LINES // 2)))
    for death in range(2):
        run_and_kill(tmp_path, len(numbers(tmp_path)) + 20 + 7 * death)
        if death == 0:
            with log.open("a") as file:
                file.writelines(f"{n}\n" for n in range(LINES // 2, LINES - 1))
    log.rename(tmp_path / "app.log.1")
    log.write_text(f"{LINES - 1}\n")
    copied = numbers(tmp_path)
    assert copied == list(range(len(copied))), "in order, none missing and none twice"
    assert len(copied) < LINES // 2
    run(spark, tmp_path, limit=1 << 20)
    assert sorted(numbers(tmp_path)) == list(range(LINES))
