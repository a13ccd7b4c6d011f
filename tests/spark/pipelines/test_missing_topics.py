"""Topics that do not exist, found before Spark starts."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from barnabas.cli.pipeline.startup_checks import check_before_start
from barnabas.spark.cluster.cluster_address import ClusterAddress
from barnabas.spark.pipelines import RunFolder, load
from tests.cli.conftest import Cli

READS = """-- source a: topic {first}
-- source b: topic {second} schema="x INT" dead_letters=no-letters
-- sink: topic {target}
SELECT a.value FROM a JOIN b ON a.key = b.record.key
"""


@pytest.fixture
def cli(bootstrap: str) -> Iterator[Cli]:
    command = Cli(bootstrap)
    yield command
    command.end()


def test_a_run_once_ends_with_all_missing_topics_named(
    cli: Cli, make_topic: Callable[..., str], tmp_path: Path
) -> None:
    there = make_topic(1)
    definition = READS.format(first="no-first", second=f"no-second,{there}", target="no-target")
    (tmp_path / "joined.sql").write_text(definition)
    done = cli.run("pipeline", "run", str(tmp_path), "--once")
    assert done.returncode == 1
    assert done.stderr.decode().splitlines() == [
        "error: 4 topics do not exist:",
        "  no-first, read by pipeline joined",
        "  no-letters, written by pipeline joined",
        "  no-second, read by pipeline joined",
        "  no-target, written by pipeline joined",
        "create each: barnabas topics create NAME",
    ]
    assert not (tmp_path / ".barnabas" / "pipelines" / "spark.log").exists(), "Spark was started"


def test_a_topic_that_the_broker_creates_is_no_alarm(
    bootstrap: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    definition = READS.format(first="no-1", second="no-2", target="no-3")
    (tmp_path / "joined.sql").write_text(definition)
    folder = RunFolder(tmp_path / "checkpoints")
    check_before_start(load(tmp_path).values(), ClusterAddress(bootstrap), folder, once=False)
    said = capsys.readouterr().err.splitlines()
    waits = "topic no-1, read by pipeline joined, does not exist: barnabas topics create no-1"
    assert waits in said
    (written,) = (
        line for line in said if line.startswith("topic no-3, written by pipeline joined")
    )
    assert written.endswith(
        "does not exist: barnabas topics create no-3, or the broker creates it with the first "
        "record, unless auto.create.topics.enable is false"
    )
