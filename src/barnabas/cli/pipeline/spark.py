"""The Spark that a command starts, with its output in files and not on the terminal."""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryFile

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from barnabas.cli.base.command import CommandError, UsageError
from barnabas.cli.base.output import say
from barnabas.spark import session
from barnabas.spark.pipelines import RunFolder
from barnabas.spark.pipelines.errors.failure import reason_of
from barnabas.spark.pipelines.errors.known_causes import known_cause
from barnabas.spark.pipelines.run.spark_log import keep_errors_quiet, log_to
from barnabas.spark.sessions.combined_conf import combined

_STDERR = 2
_WITHOUT_A_PAGE = {"spark.ui.enabled": "false"}


@dataclass(frozen=True)
class SparkOptions:
    """Which Spark to start, and where its logs go; by default one for a short task."""

    path: Path
    """The definitions; its files are next to them, unless `checkpoints` is set."""
    log_name: str
    checkpoints: str | None = None
    master: str = "local[*]"
    conf: Mapping[str, str | int | bool] = field(default_factory=_WITHOUT_A_PAGE.copy)
    verbose: bool = False

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
        """Redirect standard error to a file.

        Spark writes tracebacks to it even in normal operation, for example when workers stop.
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


def check_writable(options: SparkOptions) -> None:
    """Raise if the checkpoint directory is not writable."""
    folder = options.folder.folder
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise UsageError(
            f"checkpoints and logs can't be written to {folder}: {error.strerror} "
            "(set another directory with --checkpoints)"
        ) from error


def start_spark(options: SparkOptions) -> SparkSession:
    """The session for all pipelines, started on first use."""
    check_writable(options)
    if SparkSession.getActiveSession() is None:
        say(f"starting Spark on {options.master} (its log: {options.log})")
    if not options.verbose:
        keep_errors_quiet()
    conf = combined(log_to(options.log), options.conf)
    said_before = len(options.said_by_spark())
    try:
        with options.errors_in_file():  # for the processes that are started, while they run
            return session("barnabas pipelines", options.master, **conf)
    except (Py4JError, PySparkException) as error:
        new = options.said_by_spark()[said_before:]
        reason = next((line for line in new if not line.startswith("WARN")), reason_of(error))
        cause = known_cause("\n".join([*new, str(error)]))
        advice = "" if cause is None or cause.advice in reason else f"; {cause.advice}"
        raise CommandError(
            f"Spark does not start: {reason}{advice} (see {options.errors})"
        ) from error
