"""The connector through Spark Connect: batches, streams, foreachBatch, exactly once."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.spark.remote import connect_client
from tests.support.broker import BrokerProcess

pytestmark = [pytest.mark.xdist_group("spark-connect"), pytest.mark.timeout(400)]


def test_everything_works_but_the_name_kafka(
    connect_server: str, node: BrokerProcess, tmp_path: Path
) -> None:
    done = subprocess.run(
        [
            sys.executable,
            str(connect_client.__file__),
            connect_server,
            node.bootstrap,
            str(tmp_path),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_pipelines_do_not_run_there() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "barnabas", "pipeline", "run", ".", "--master", "sc://host:1"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "--master sc://host:1: pipelines do not run through Spark Connect" in done.stderr
