"""The connector through Spark Connect: batches, streams, foreachBatch, exactly once."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.spark.remote import connect_client
from tests.support import fork_server
from tests.support.broker import BrokerProcess
from tests.support.wait import LIMIT_S

pytestmark = [
    pytest.mark.xdist_group("spark-connect"),  # one server for both files
    pytest.mark.drivers,
    pytest.mark.timeout(900),
]


@pytest.mark.alone  # Spark gives a Python process that it has started 10 s to call back
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


@pytest.mark.parametrize(
    ("command", "arguments", "variable", "said"),
    [
        ("pipeline", ["--master", "sc://host:1"], "", "--master sc://host:1"),
        ("pipeline", ["--conf", "spark.remote=sc://h:1"], "", "--conf spark.remote=sc://h:1"),
        ("pipeline", [], "sc://h:1", "SPARK_REMOTE=sc://h:1"),
        ("connect", ["--master", "sc://host:1"], "", "--master sc://host:1"),
    ],
)
def test_pipelines_do_not_run_there(
    command: str, arguments: list[str], variable: str, said: str
) -> None:
    path = ["."] if command == "pipeline" else []
    done = fork_server.run(
        [sys.executable, "-m", "barnabas", command, "run", *path, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "SPARK_REMOTE": variable},
        timeout=LIMIT_S,
    )
    assert done.returncode == 2
    assert f"{said}: pipelines do not run through Spark Connect" in done.stderr
