"""Runs pipelines in the foreground: starts Spark, watches the queries, and shuts down cleanly."""

import signal
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from types import FrameType

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from barnabas.cli.base import exit_codes
from barnabas.cli.base.command import CommandError
from barnabas.cli.base.output import say
from barnabas.cli.pipeline.control import PipelineControl
from barnabas.cli.pipeline.spark import SparkOptions, start_spark
from barnabas.cli.pipeline.startup_checks import check_before_start
from barnabas.cli.pipeline.view import view_for
from barnabas.cli.pipeline.watch import DefinitionFollower
from barnabas.spark.cluster.cluster_address import ClusterAddress
from barnabas.spark.pipelines import Pipeline, PipelineRun
from barnabas.spark.pipelines.definition.definitions import BadDefinition
from barnabas.spark.pipelines.run.batch_durations import batch_durations
from barnabas.spark.pipelines.run.control_requests import ControlRequests
from barnabas.spark.pipelines.run.metrics_server import MetricsServer
from barnabas.spark.pipelines.run.pipeline_run import SparkGone
from barnabas.spark.pipelines.run.progress_reports import ProgressReports
from barnabas.spark.pipelines.run.session_conf import session_conf
from barnabas.spark.pipelines.run.supervised_query import Status, status_of_bad_definition
from barnabas.spark.sessions.combined_conf import combined

_STDERR = 2
_POLL_S = 0.2
_IDLE_POLL_S = 0.5
_IDLE_AFTER_S = 5.0
_WATCH_S = 0.5


@dataclass(frozen=True)
class RunOptions:
    """Options of the command line."""

    spark: SparkOptions
    cluster: ClusterAddress
    once: bool
    max_restarts: int | None
    as_json: bool
    json_log: bool = False
    reports: bool = False
    """Whether the console is told, by the topic of reports."""
    control: bool = False
    """Whether users of the console may stop and restart the pipelines."""
    metrics: tuple[str, int] | None = None
    """Host and port to serve metrics on."""
    keep_going: bool = False
    """Whether pipelines run although others can't be started."""
    follow: Callable[[PipelineRun], DefinitionFollower] | None = None
    """Restarts pipelines by their definitions as they are then."""
    watch: bool = False
    """Whether it does so when they are edited."""


class Interruption:
    """Records the first signal, for a clean shutdown; a second one ends the process at once."""

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


def run_pipelines(
    pipelines: list[Pipeline], options: RunOptions, bad: Sequence[BadDefinition] = ()
) -> int:
    """Run until they are done or a signal arrives; returns the exit code.

    Bad definitions are shown as failed.
    """
    check_before_start(
        pipelines,
        options.cluster,
        options.spark.folder,
        once=options.once,
        keep_going=options.keep_going,
    )
    conf = combined(session_conf(pipelines), options.spark.conf)
    with ExitStack() as stack:
        metrics = stack.enter_context(_serve(*options.metrics)) if options.metrics else None
        spark = start_spark(replace(options.spark, conf=conf))
        interruption = Interruption()  # Spark's own handlers would end it at once
        try:
            return _run(spark, pipelines, options, interruption, metrics, bad)
        except (Py4JError, ConnectionError, SparkGone) as error:
            if interruption.exit_code is not None:
                return interruption.exit_code  # the signal reached Spark too
            raise CommandError(f"{SparkGone.MESSAGE} (see {options.spark.log})") from error
        finally:
            with options.spark.errors_in_file(), suppress(Py4JError, ConnectionError):
                spark.stop()


def _pause_s(run: PipelineRun) -> float:
    """The interval of polling Spark: each poll costs both processes some CPU."""
    ended = [each.progress.last.ended for each in run.queries if each.progress.last is not None]
    is_idle = bool(ended) and time.time() - max(ended) > _IDLE_AFTER_S
    return _IDLE_POLL_S if is_idle else _POLL_S


def _serve(host: str, port: int) -> MetricsServer:
    try:
        server = MetricsServer(host, port)
    except OSError as error:
        raise CommandError(
            f"metrics can't be served on {host}:{port}: {error.strerror}; choose another "
            "--metrics-port or --metrics-host"
        ) from error
    say(f"metrics: {server.url}")
    return server


def _run(
    spark: SparkSession,
    pipelines: list[Pipeline],
    options: RunOptions,
    interruption: Interruption,
    metrics: MetricsServer | None,
    bad: Sequence[BadDefinition],
) -> int:
    with ExitStack() as stack:
        reports = ProgressReports(options.cluster) if options.reports else None
        if reports is not None:
            stack.callback(reports.close)
        control = None
        if options.control and reports is not None:
            control = PipelineControl(ControlRequests(options.cluster), options.spark.folder)
            stack.callback(control.close)
        return _run_reported(
            spark, pipelines, options, interruption, metrics, bad, reports, control
        )


def _run_reported(
    spark: SparkSession,
    pipelines: list[Pipeline],
    options: RunOptions,
    interruption: Interruption,
    metrics: MetricsServer | None,
    bad: Sequence[BadDefinition],
    reports: ProgressReports | None,
    control: PipelineControl | None,
) -> int:
    def report(statuses: list[Status]) -> None:
        assert reports is not None
        reports.publish(statuses if control is None else control.marked(statuses))

    run = PipelineRun(
        spark,
        pipelines,
        options.cluster.bootstrap_servers,
        options.spark.folder,
        once=options.once,
        max_restarts=options.max_restarts,
        keep_going=options.keep_going,
        security=options.cluster.security,
        report=None if reports is None else report,
    )
    follower = options.follow(run) if options.watch and options.follow is not None else None

    def follow() -> DefinitionFollower:
        """Made when it is needed: it looks at all files of the folder."""
        nonlocal follower
        if follower is None:
            assert options.follow is not None
            follower = options.follow(run)
        return follower

    ui = spark.sparkContext.uiWebUrl
    say(f"Spark UI: {ui}" if ui else "Spark UI is disabled")
    with view_for(as_json=options.as_json, json_log=options.json_log) as view:

        def show(*, is_last: bool = False) -> None:
            now = time.time()
            names = {each.name for each in run.queries}
            wrong = bad if follower is None or not follower.has_reloaded else follower.bad
            never_started = [
                status_of_bad_definition(each.name, each.reason)
                for each in wrong
                if each.name not in names
            ]
            statuses = [each.status(now) for each in run.queries]
            if metrics is not None:
                durations = [each.progress.durations for each in run.queries]
                durations += [batch_durations() for _ in never_started]
                metrics.publish(list(zip([*statuses, *never_started], durations, strict=True)))
            if interruption.exit_code is not None and not is_last:
                statuses = [{**each, "state": "stopping"} for each in statuses]
            view.show([*statuses, *never_started], is_last=is_last)

        look_at = 0.0
        with run:
            while interruption.exit_code is None and (options.watch or not run.is_over):
                run.poll()
                if control is not None:
                    control.poll(run, None if options.follow is None else follow)
                if options.watch and follower is not None and time.monotonic() >= look_at:
                    follower.poll()
                    look_at = time.monotonic() + _WATCH_S
                show()
                time.sleep(_pause_s(run))
            if interruption.exit_code is not None:
                show()
            if control is not None:
                control.close()  # the last reports say so
            with options.spark.errors_in_file():
                run.stop()
        show(is_last=True)
    if interruption.exit_code is not None:
        return interruption.exit_code
    run.check()
    return exit_codes.FAILURE if bad else exit_codes.OK
