"""The whole way: a user of the console stops and restarts a pipeline that runs elsewhere."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import barnabas
from barnabas.cli.base import exit_codes
from tests.cli.conftest import Cli
from tests.console.console_process import ConsoleProcess
from tests.support.wait import LIMIT_S, wait_until

pytestmark = [pytest.mark.drivers, pytest.mark.long]

MODULE = """
from pyspark.sql import functions as F

from barnabas.spark.pipelines import from_topic, pipeline, to_topic


@F.udf("string")
def changed(word):
    return {code}


@pipeline(sources={{"words": from_topic("{source}", "word STRING")}}, sink=to_topic("{target}"))
def {name}(words):
    return words.select(changed("word").alias("word"))
"""
LINE_OF_CODE = 1 + MODULE[: MODULE.index("{code}")].count("\n")


@pytest.fixture
def cli(bootstrap: str) -> Iterator[Cli]:
    command = Cli(bootstrap)
    yield command
    command.end()


def test_a_pipeline_ends_when_a_user_of_the_console_asks(
    cli: Cli, bootstrap: str, make_topic: Callable[..., str], tmp_path: Path
) -> None:
    source, target = make_topic(1), make_topic(1)
    name = f"copy_{source.replace('-', '_')}"
    (tmp_path / f"{name}.sql").write_text(
        f'-- source words: topic {source} schema="word STRING"\n-- sink: topic {target}\n'
        "SELECT word FROM words"
    )
    with ConsoleProcess(bootstrap, tmp_path / "console.log") as console:

        def found(wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any] | None:
            listed = console.get("/api/pipelines")["pipelines"]
            mine = [each for each in listed if each["pipeline"] == name and wanted(each)]
            return mine[0] if mine else None

        refusing = cli.start(
            *("pipeline", "run", str(tmp_path), "--master", "local[1]", "--no-control")
        )
        one = wait_until(lambda: found(lambda each: each["state"] == "running"))
        assert one["control"] is None
        status, _, body = console.try_change(
            "POST", "/api/pipeline/requests", {"id": one["id"], "action": "stop"}
        )
        assert (status, "takes no requests" in json.loads(body)["error"]["message"]) == (409, True)
        refusing.terminate()
        refusing.communicate(timeout=LIMIT_S)

        process = cli.start("pipeline", "run", str(tmp_path), "--master", "local[1]")
        one = wait_until(
            lambda: found(lambda each: each["control"] == "on" and each["state"] == "running")
        )
        assert one["pid"] == process.pid
        console.change("POST", "/api/pipeline/requests", {"id": one["id"], "action": "stop"})
        _, said = process.communicate(timeout=LIMIT_S)
        assert process.returncode == exit_codes.OK, said.decode()
        assert f"stop of {name}: asked for by a user of the cluster" in said.decode()
        ended = wait_until(lambda: found(lambda each: each["state"] == "stopped"))
        assert "stopped, as asked for" in ended["answer"]
        wait_until(lambda: found(lambda each: each["control"] is None))


@pytest.mark.timeout(1200)
def test_a_restart_runs_the_code_as_it_is_then(
    cli: Cli, bootstrap: str, make_topic: Callable[..., str], tmp_path: Path
) -> None:
    source, target = make_topic(1), make_topic(1)
    name, file = f"changed_{source.replace('-', '_')}", tmp_path / "words.py"
    written: list[str] = []

    def write_code(code: str) -> None:
        file.write_text(MODULE.format(code=code, source=source, target=target, name=name))

    with (
        ConsoleProcess(bootstrap, tmp_path / "console.log") as console,
        barnabas.Producer(bootstrap) as producer,
        barnabas.Consumer(bootstrap) as consumer,
    ):
        consumer.assign({barnabas.TopicPartition(target, 0): 0})

        def found(wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any] | None:
            listed = console.get("/api/pipelines")["pipelines"]
            return next(
                (each for each in listed if each["pipeline"] == name and wanted(each)), None
            )

        def last_report() -> str:
            return f"{found(lambda _: True)}; written: {written}"

        def send(word: str) -> None:
            producer.send(source, json.dumps({"word": word}).encode()).result()

        def await_written(word: str) -> None:
            """Others may come again: a batch that a restart interrupts is repeated."""

            def is_written() -> bool:
                written.extend(json.loads(each.value)["word"] for each in consumer.poll(1.0))
                return word in written

            wait_until(is_written, last_report)

        def ask(action: str) -> str:
            """What the pipeline says to have done."""
            one = wait_until(lambda: found(lambda each: each["control"] == "on"), last_report)
            body = {"id": one["id"], "action": action}
            request = console.change("POST", "/api/pipeline/requests", body)["request"]
            answer = wait_until(
                lambda: found(
                    lambda each: (
                        each["answered"] == request and each["answer"] != "It is being restarted."
                    )
                ),
                last_report,
            )
            return str(answer["answer"])

        write_code("word.upper()")
        process = cli.start("pipeline", "run", str(file), "--master", "local[1]")
        send("one")
        await_written("ONE")

        write_code("f'{word}, as of now'")
        assert "was restarted with its definition as it is now" in ask("restart")
        send("two")
        await_written("two, as of now")

        # Spark accepts it, and no batch of it can succeed: it is restarted again and again.
        write_code("word + 3")
        assert "was restarted" in ask("restart")
        send("three")
        failed = wait_until(lambda: found(lambda each: each["state"] == "waiting"), last_report)
        assert failed["error"].startswith(f"{file}:{LINE_OF_CODE}: TypeError: ")
        assert "has failed since" in failed["answer"]

        write_code("f'{word} again'")
        assert "was restarted" in ask("restart")
        await_written("three again")
        healthy = wait_until(lambda: found(lambda each: each["state"] == "running"), last_report)
        assert healthy["error"] is None

        assert "was stopped" in ask("stop")
        _, said = process.communicate(timeout=LIMIT_S)
        assert process.returncode == exit_codes.OK, said.decode()
