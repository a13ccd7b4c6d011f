"""Runs pipelines in the foreground: starts Spark, watches the queries, and shuts down cleanly."""

import signal
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from types import FrameType

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from barnabas.cli.base import exit_codes
from barnabas.cli.base.command import CommandError
from barnabas.cli.base.output import say
from barnabas.cli.pipeline.check import check_before_start
from barnabas.cli.pipeline.spark import SparkOptions, start_spark
from barnabas.cli.pipeline.view import view_for
from barnabas.spark.pipelines import Pipeline, PipelineRun
from barnabas.spark.pipelines.run.pipeline_run import SparkGone
from barnabas.spark.pipelines.run.session_conf import session_conf
from barnabas.spark.sessions.combined_conf import combined

_STDERR = 2
_POLL_S = 0.2


@dataclass(frozen=True)
class RunOptions:
    """Options of the command line."""

    spark: SparkOptions
    bootstrap: str
    once: bool
    max_restarts: int | None
    as_json: bool


class Interruption:
    """Notes the first signal, for a clean shutdown; a second one ends at once."""

    def __init__(self) -> None:
        self.exit_code: int | None = None
        for each in (signal.SIGINT, signal.SIGTERM):
            signal.signal(each, self._note)

    def _note(self, number: int, _frame: FrameType | None) -> None:
        if self.exit_code is not None:
            raise KeyboardInterrupt
        self.exit_code = (
            exit_codes.TERMINATED if number == signal.SIGTERM else exit_codes.INTERRUPTED
        )


def run_pipelines(pipelines: list[Pipeline], options: RunOptions) -> int:
    """Run until they are done or a signal arrives; returns the exit code."""
    check_before_start(pipelines, options.bootstrap, options.spark.folder, once=options.once)
    conf = combined(session_conf(pipelines), options.spark.conf)
    spark = start_spark(replace(options.spark, conf=conf))
    interruption = Interruption()  # Spark's own handlers would end it at once
    try:
        return _run(spark, pipelines, options, interruption)
    except (Py4JError, ConnectionError, SparkGone) as error:
        if interruption.exit_code is not None:
            return interruption.exit_code  # the signal reached Spark too
        raise CommandError(f"{SparkGone.MESSAGE} (see {options.spark.log})") from error
    finally:
        with options.spark.errors_in_file(), suppress(Py4JError, ConnectionError):
            spark.stop()


def _run(
    spark: SparkSession,
    pipelines: list[Pipeline],
    options: RunOptions,
    interruption: Interruption,
) -> int:
    run = PipelineRun(
        spark,
        pipelines,
        options.bootstrap,
        options.spark.folder,
        once=options.once,
        max_restarts=options.max_restarts,
    )
    ui = spark.sparkContext.uiWebUrl
    say(f"Spark UI: {ui}" if ui else "Spark UI is disabled")
    with view_for(as_json=options.as_json) as view:
        with run:
            while not run.is_over and interruption.exit_code is None:
                run.poll()
                view.show([each.status(time.time()) for each in run.queries])
                time.sleep(_POLL_S)
            if interruption.exit_code is not None:
                view.show(
                    [{**each.status(time.time()), "state": "stopping"} for each in run.queries]
                )
            with options.spark.errors_in_file():
                run.stop()
        view.show([each.status(time.time()) for each in run.queries], is_last=True)
    if interruption.exit_code is not None:
        return interruption.exit_code
    run.check()
    return exit_codes.OK
