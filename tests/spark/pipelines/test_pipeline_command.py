"""`barnabas pipeline`, in processes of its own."""

import json
import signal
import subprocess
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

import barnabas
from tests.cli.conftest import Cli
from tests.support.wait import LIMIT_S, wait_until

pytestmark = pytest.mark.drivers


@pytest.fixture
def cli(bootstrap: str) -> Iterator[Cli]:
    command = Cli(bootstrap)
    yield command
    command.end()


def lines_until(
    process: "subprocess.Popen[bytes]", found: Callable[[dict[str, object]], bool]
) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        if found(json.loads(line)):
            return
    assert process.stderr is not None
    raise AssertionError(process.stderr.read().decode())


def check_metrics(process: "subprocess.Popen[bytes]") -> None:
    """Scrape them where the first lines of standard error, which are JSON, say."""
    assert process.stderr is not None
    said = (json.loads(line)["message"] for line in process.stderr)
    url = next(line.removeprefix("metrics: ") for line in said if line.startswith("metrics: "))
    assert url.startswith("http://127.0.0.1:")

    def scraped() -> dict[tuple[str, ...], float]:
        with urllib.request.urlopen(url) as answer:
            families = text_string_to_metric_families(answer.read().decode())
            return {
                (each.name, *each.labels.values()): each.value
                for family in families
                for each in family.samples
            }

    wait_until(lambda: scraped()["barnabas_pipeline_rows_out_total", "shout"] == 1)
    found = scraped()
    assert found["barnabas_pipeline_rows_in_total", "shout"] == 1
    assert found["barnabas_pipeline_lag_records", "shout"] == 0
    assert found["barnabas_pipeline_lag_seconds", "shout"] == 0
    assert found["barnabas_pipeline_state", "shout", "running"] == 1
    assert found["barnabas_pipeline_batch_duration_seconds_count", "shout"] == 1


@pytest.mark.long
def test_a_run_ends_in_good_order_and_can_be_looked_at_and_reset(
    cli: Cli,
    producer: barnabas.Producer,
    make_topic: Callable[..., str],
    tmp_path: Path,
) -> None:
    source, target = make_topic(1), make_topic(1)
    (tmp_path / "shout.py").write_text(
        "from pyspark.sql import functions as F\n"
        "from barnabas.spark.pipelines import from_topic, pipeline, to_topic\n"
        "from spelling import loud\n"
        f"@pipeline(sources={{'words': from_topic('{source}', 'word STRING')}},\n"
        f"          sink=to_topic('{target}'))\n"
        "def shout(words):\n"
        "    shouted = F.udf(lambda word: loud(word), 'string')\n"
        "    return words.select(shouted('word').alias('word'))\n"
    )
    (tmp_path / "spelling.py").write_text("def loud(word): return word.upper()\n")
    producer.send(source, b'{"word": "hello"}')
    producer.flush()

    process = cli.start(
        *("pipeline", "run", str(tmp_path), "--master", "local[2]", "--json"),
        *("--metrics-port", "0", "--log-format", "json"),
    )
    lines_until(process, lambda status: status["rows_out"] == 1)
    check_metrics(process)
    assert cli.json("pipeline", "status", str(tmp_path))[0]["state"] == "running"
    assert "shout is already running (process " in cli.fails(1, "pipeline", "run", str(tmp_path))
    assert "shout is running: stop it first" in cli.fails(1, "pipeline", "reset", str(tmp_path))
    process.send_signal(signal.SIGTERM)
    assert process.wait(LIMIT_S) == 143
    assert process.stdout is not None
    assert json.loads(process.stdout.read().splitlines()[-1])["state"] == "stopped"
    assert process.stderr is not None
    assert b"Traceback" not in process.stderr.read()

    with barnabas.Consumer(cli.bootstrap, target) as consumer:
        assert [each.value for each in consumer.poll(timeout_s=LIMIT_S)] == [b'{"word":"HELLO"}']
    (status,) = cli.json("pipeline", "status", str(tmp_path / "shout.py"))
    assert (status["state"], status["lag"], status["batch"]) == ("stopped", 0, 0)
    reset = cli.run("pipeline", "reset", str(tmp_path), stdin="n\n")
    assert b"This deletes" in reset.stderr
    assert "stopped" in cli.ok("pipeline", "status", str(tmp_path))
    cli.ok("pipeline", "reset", str(tmp_path), "--yes")
    assert cli.json("pipeline", "status", str(tmp_path)) == []


def test_what_is_defined_is_listed_and_what_is_wrong_is_said(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "views.sql").write_text(
        "-- source views: topic page-views\n-- sink: topic out\nSELECT key, value FROM views"
    )
    (listed,) = cli.json("pipeline", "list", str(tmp_path))
    assert listed["pipeline"] == "views"
    assert listed["sources"] == {"views": "topic page-views"}
    path = str(tmp_path)
    assert "no pipeline 'x'" in cli.fails(2, "pipeline", "run", path, "x")
    refused = cli.run("pipeline", "run", path, "--master", "nonsense")
    assert refused.returncode == 1
    assert b"error: Spark does not start: " in refused.stderr
    assert b"Master must" in refused.stderr
    assert b"topic page-views, read by pipeline views, does not exist" in refused.stderr
    assert "cannot reach a broker" in cli.fails(3, "pipeline", "run", path, "-b", "localhost:1")
    (second,) = cli.json("pipeline", "list", path, "--version", "v2")
    assert (second["pipeline"], second["sink"]) == ("views-v2", "topic out-v2")
    assert cli.json("pipeline", "list", path, "views", "--version", "v2") == [second]
    assert "views-v2 in" in cli.fails(1, "pipeline", "state", path, "views-v2")
    assert "views-v2 in" in cli.fails(1, "pipeline", "state", path, "views", "--version", "v2")
    compacted = cli.fails(1, "pipeline", "compact", path, "views", "--version", "v2")
    assert "none of these pipelines has a Parquet table" in compacted
    assert "no pipeline x has run" in cli.fails(1, "pipeline", "status", path, "x")
    (tmp_path / "other.py").write_text("raise AssertionError('another program')")
    assert len(cli.json("pipeline", "list", path)) == 1
    (tmp_path / "wrong.py").write_text("import nothing_of_that_name  # for a pipeline\n")
    assert "wrong.py:1: ModuleNotFoundError" in cli.fails(1, "pipeline", "list", path)


def test_a_file_that_needs_spark_is_listed_without_its_noise(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "eager.py").write_text(
        "from pyspark.sql import functions as F\n"
        "from barnabas.spark.pipelines import from_topic, pipeline, to_console\n"
        "MINUTE = F.window('at', '1 minute')\n"
        "@pipeline(sources={'views': from_topic('v', 'at TIMESTAMP')}, sink=to_console())\n"
        "def eager(views): return views.select(MINUTE)\n"
    )
    done = cli.run("pipeline", "list", str(tmp_path))
    assert b"eager" in done.stdout
    (line,) = done.stderr.decode().splitlines()
    assert line.startswith("starting Spark on local[1]")
    assert line.endswith("definitions.log)")


def test_where_nothing_can_be_written_is_said_before_spark_is_started(
    cli: Cli, tmp_path: Path
) -> None:
    (tmp_path / "views.sql").write_text(
        "-- source views: topic page-views\n-- sink: topic out\nSELECT key, value FROM views"
    )
    (tmp_path / "file").touch()
    for place in ("/proc/nope", str(tmp_path / "file" / "checkpoints")):
        error = cli.fails(2, "pipeline", "run", str(tmp_path), "--checkpoints", place)
        assert f"checkpoints and logs can't be written to {place}: " in error


def test_tests_are_found_and_run(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "one.sql").write_text("-- sink: console\nSELECT 1")
    assert "test_one.py" in cli.fails(1, "pipeline", "test", str(tmp_path / "one.sql"))
    tests = tmp_path / "test_one.py"
    tests.write_text(
        "import sys\n"
        "def test_good(): assert 'barnabas.cli' not in sys.modules, 'pytest is too late for it'\n"
        "def test_bad(): assert False\n"
    )
    assert b"1 failed, 1 passed" in cli.run("pipeline", "test", str(tmp_path / "one.sql")).stdout
    assert "1 passed" in cli.ok("pipeline", "test", str(tmp_path), "-k", "good")
