"""Runs pipelines in the foreground: Spark is started, looked after, and ended in good order."""

import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from types import FrameType

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from barnabas.cli import exit_codes
from barnabas.cli.command import CommandError, UsageError
from barnabas.cli.output import say
from barnabas.cli.pipeline_check import check_before_start
from barnabas.cli.pipeline_view import view_for
from barnabas.spark import session
from barnabas.spark.pipelines import Pipeline, PipelineRun, RunFolder
from barnabas.spark.pipelines.failure import reason_of
from barnabas.spark.pipelines.running import SparkGone
from barnabas.spark.pipelines.spark_log import keep_errors_quiet, log_to

_STDERR = 2
_POLL_S = 0.2


@dataclass(frozen=True)
class RunOptions:
    """What the command line says."""

    path: Path
    bootstrap: str
    master: str
    checkpoints: str | None
    once: bool
    max_restarts: int | None
    conf: dict[str, str]
    as_json: bool
    verbose: bool
    log_name: str = "spark"

    @property
    def folder(self) -> RunFolder:
        return RunFolder.of(self.path, self.checkpoints)

    @property
    def log(self) -> Path:
        return self.folder.folder / f"{self.log_name}.log"

    @property
    def errors(self) -> Path:
        return self.folder.folder / f"{self.log_name}-errors.log"

    def said_by_spark(self) -> list[str]:
        """The lines of that file."""
        if not self.errors.exists():
            return []
        return self.errors.read_text("utf-8", errors="replace").splitlines()

    @contextmanager
    def errors_in_file(self) -> Iterator[None]:
        """Have standard error in a file.

        Spark writes tracebacks there even when all is well, as when its workers are told to stop.
        """
        if self.verbose:
            yield
            return
        kept = os.dup(_STDERR)
        descriptor = os.open(self.errors, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        sys.stderr.flush()
        os.dup2(descriptor, _STDERR)
        os.close(descriptor)
        try:
            yield
        finally:
            sys.stderr.flush()
            os.dup2(kept, _STDERR)
            os.close(kept)


class Interruption:
    """Notes the first signal, for an end in good order; another one ends at once."""

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


def check_writable(options: RunOptions) -> None:
    """Raise if nothing can be kept where the user wants it."""
    folder = options.folder.folder
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise UsageError(
            f"checkpoints and logs can't be written to {folder}: {error.strerror} "
            "(--checkpoints says where they go)"
        ) from error


def start_quietly(path: Path) -> SparkSession:
    """A session for definitions that use Spark while they are read, and nothing more."""
    return start_spark(
        RunOptions(
            path=path,
            bootstrap="",
            master="local[1]",
            checkpoints=None,
            once=True,
            max_restarts=0,
            conf={"spark.ui.enabled": "false"},
            as_json=False,
            verbose=False,
            log_name="definitions",
        )
    )


def start_spark(options: RunOptions) -> SparkSession:
    """The session for all pipelines, which is started when it is first asked for."""
    check_writable(options)
    if SparkSession.getActiveSession() is None:
        say(f"starting Spark on {options.master} (its log: {options.log})")
    if not options.verbose:
        keep_errors_quiet()
    conf = {**log_to(options.log), **options.conf}
    said_before = len(options.said_by_spark())
    try:
        with options.errors_in_file():  # of the processes that are started, while they live
            return session("barnabas pipelines", options.master, **conf)
    except (Py4JError, PySparkException) as error:
        new = options.said_by_spark()[said_before:]
        reason = next((line for line in new if not line.startswith("WARN")), reason_of(error))
        raise CommandError(f"Spark does not start: {reason} (see {options.errors})") from error


def run_pipelines(pipelines: list[Pipeline], options: RunOptions) -> int:
    """Run until they are done or somebody says stop; returns the exit code."""
    check_before_start(pipelines, options.bootstrap, options.folder)
    spark = start_spark(options)
    interruption = Interruption()  # Spark has handlers of its own, which would end it in the middle
    try:
        return _run(spark, pipelines, options, interruption)
    except (Py4JError, ConnectionError, SparkGone) as error:
        if interruption.exit_code is not None:
            return interruption.exit_code  # what has told us to end has told Spark too
        raise CommandError(f"{SparkGone.MESSAGE} (see {options.log})") from error
    finally:
        with options.errors_in_file(), suppress(Py4JError, ConnectionError):
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
        options.folder,
        once=options.once,
        max_restarts=options.max_restarts,
    )
    ui = spark.sparkContext.uiWebUrl
    say(f"Spark's own view of it: {ui}" if ui else "Spark has no web page of its own")
    with view_for(as_json=options.as_json) as view:
        with run:
            while not run.is_over and interruption.exit_code is None:
                run.look_after()
                view.show([each.status(time.time()) for each in run.queries])
                time.sleep(_POLL_S)
            if interruption.exit_code is not None:
                view.show(
                    [{**each.status(time.time()), "state": "stopping"} for each in run.queries]
                )
            with options.errors_in_file():
                run.stop()
        view.show([each.status(time.time()) for each in run.queries], is_last=True)
    if interruption.exit_code is not None:
        return interruption.exit_code
    run.check()
    return exit_codes.OK
