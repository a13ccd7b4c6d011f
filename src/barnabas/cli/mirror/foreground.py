"""Flows in the foreground: on one Spark, until they are stopped."""

import logging
import os
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, NamedTuple

from barnabas.cli.base import exit_codes
from barnabas.cli.base.command import CommandError
from barnabas.cli.base.output import print_line, say
from barnabas.quantities import counted, human_size

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from barnabas.client.connect.cluster_metadata import TopicPartition
    from barnabas.mirror.configured_flow import ConfiguredFlow
    from barnabas.mirror.flow import Flow
    from barnabas.mirror.groups.mirror_upkeep import MirrorUpkeep
    from barnabas.mirror.operations.metrics import FlowMetrics
    from barnabas.mirror.round_report import RoundReport
    from barnabas.spark.mirror.mirror_query import MirrorQuery

_POLL_S = 0.2
_LINE_S = 5.0
_SETTLE_S = 10.0
_STDERR = 2
_ALL_CORES = "local[*]"


class _Progress:
    """Prints a line every few seconds if something was copied, and every problem once."""

    def __init__(self, label: str) -> None:
        """The label begins lines, if there are several flows."""
        self._label = label
        self._told: set[str] = set()
        self._began = time.monotonic()
        self._records = self._bytes = 0
        self._lags: dict[TopicPartition, int] = {}

    def on_report(self, report: "RoundReport") -> None:
        for problem in report.problems:
            if problem not in self._told:
                say(f"warning: {problem}")
        self._told = set(report.problems)
        self._records += report.records
        self._bytes += report.bytes
        self._lags |= {each.source: max(0, each.lag) for each in report.states}
        seconds = time.monotonic() - self._began
        if seconds < _LINE_S:
            return
        if self._records:
            rate = human_size(round(self._bytes / seconds))
            copied = counted(self._records, "record")
            print_line(f"{self._label}copied {copied}, {rate}/s; lag {sum(self._lags.values())}")
        self._began = time.monotonic()
        self._records = self._bytes = 0


class _RunningFlow:
    """A flow that was started: its query, and its upkeep."""

    def __init__(self, started: "MirrorQuery", upkeep: "MirrorUpkeep") -> None:
        self.flow = upkeep.flow
        self._query, self._channel = started
        self._upkeep = upkeep

    @property
    def is_over(self) -> bool:
        """Whether it was stopped from outside. Raises `CommandError` if it has failed."""
        if not self._query.isActive and not self._upkeep.is_stopped:
            failure = self._query.exception()
            reason = "its query has ended" if failure is None else _reason(failure)
            raise CommandError(f"flow {self.flow.name} has failed: {reason}")
        return self._upkeep.is_stopped

    def stop(self) -> None:
        """What is copied by now stays so; what is not is copied by the next run."""
        from pyspark.errors import PySparkException

        try:
            self._query.stop()
        except PySparkException as error:
            if not self._upkeep.is_stopped:
                say(f"warning: flow {self.flow.name} did not stop cleanly: {_reason(error)}")

    def settle(self) -> None:
        """Store what is left to store, once nothing is copied any longer.

        A cluster that is away is not waited for: this is the way out.
        """
        self._channel.close()
        self._upkeep.close(_SETTLE_S)
        _settle(self.flow)


class RunPlace(NamedTuple):
    """Where flows run, and keep Spark's files."""

    checkpoints: Path
    master: str


def run_flows(
    flows: "Sequence[ConfiguredFlow]", place: RunPlace, metrics: tuple[str, int] | None
) -> int:
    """Copy until a signal, or until all flows were stopped from outside; the exit code.

    `metrics` is the host and port at which metrics are served.
    """
    from barnabas.mirror.operations.metrics import FlowMetrics
    from barnabas.mirror.operations.metrics_server import MirrorMetricsServer

    measured = [FlowMetrics(each.flow) for each in flows]
    if metrics is None:
        return _run(flows, place, measured)
    with MirrorMetricsServer(*metrics, measured) as server:
        say(f"metrics at {server.url}")
        return _run(flows, place, measured)


def _run(
    flows: "Sequence[ConfiguredFlow]", place: RunPlace, measured: "Sequence[FlowMetrics]"
) -> int:
    from barnabas.cli.base.spark_master import check_master

    checkpoints, master = place
    check_master(master, {})
    from barnabas.spark.pipelines.run.spark_log import keep_errors_quiet
    from barnabas.spark.sessions.tuned_session import session

    keep_errors_quiet()  # a round that Ctrl-C ends is no error
    _show_warnings()
    if master == _ALL_CORES and len(flows) > (os.cpu_count() or 1):
        master = f"local[{len(flows)}]"  # a round keeps a core
    names = ", ".join(each.flow.name for each in flows)
    log = _folder(checkpoints, flows[0].flow) / "spark.log"
    say(f"starting Spark on {master} for {names} (its log: {log})")
    with _upkeep_of(flows) as upkeeps:
        with _errors_in(log):
            spark = session("barnabas mirror", master, **{"spark.ui.enabled": "false"})
        return _copy(spark, upkeeps, checkpoints, measured, log)


@contextmanager
def _upkeep_of(flows: "Sequence[ConfiguredFlow]") -> "Iterator[list[MirrorUpkeep]]":
    """What drivers do next to their flows, from before Spark is there.

    So others hear of the driver, and it hears of a failover, while Spark starts.
    """
    from barnabas.mirror.groups.mirror_upkeep import MirrorUpkeep

    upkeeps = [MirrorUpkeep(each.flow, each.groups) for each in flows]
    try:
        for each in upkeeps:
            each.start()
        yield upkeeps
    finally:
        for each in upkeeps:
            each.close(_SETTLE_S)


def _copy(
    spark: "SparkSession",
    upkeeps: "Sequence[MirrorUpkeep]",
    checkpoints: Path,
    measured: "Sequence[FlowMetrics]",
    log: Path,
) -> int:
    """Copy until a signal, or until all flows were stopped from outside."""
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]

    from barnabas.spark.pipelines.run.pipeline_run import SparkGone

    spark.sparkContext.setLogLevel("ERROR")
    stopped: list[int] = []

    def stop(number: int, _frame: FrameType | None) -> None:
        if stopped:
            raise KeyboardInterrupt
        stopped.append(number)

    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, stop)
    running: list[_RunningFlow] = []
    try:
        for upkeep, metrics in zip(upkeeps, measured, strict=True):
            if upkeep.is_stopped:  # nothing may be copied any more
                say(f"flow {upkeep.flow.name} was stopped from outside, as failover does")
                continue
            running.append(_start(spark, upkeep, checkpoints, metrics, len(upkeeps)))
        if running:
            names = ", ".join(each.flow.name for each in running)
            say(f"copying {names}; Ctrl-C stops it")
        left = list(running)
        while left and not stopped:
            if _spark_has_ended():
                raise ConnectionError
            for flow in [each for each in left if each.is_over]:
                say(f"flow {flow.flow.name} was stopped from outside, as failover does")
                flow.stop()
                left.remove(flow)
            time.sleep(_POLL_S)
        for flow in left:
            flow.stop()
    except (Py4JError, ConnectionError) as error:
        raise CommandError(
            f"{SparkGone.MESSAGE} (see {log}); start the mirror again: it continues "
            "where it stopped"
        ) from error
    finally:
        with suppress(Py4JError, ConnectionError):  # it may end at this moment
            if not _spark_has_ended():
                spark.stop()
        for flow in running:
            flow.settle()
    is_term = signal.SIGTERM in stopped
    return exit_codes.TERMINATED if is_term else exit_codes.INTERRUPTED


def _show_warnings() -> None:
    """Those of the upkeep, as those of reports; also while Spark's errors go to a file."""
    handler = logging.StreamHandler(os.fdopen(os.dup(_STDERR), "w", buffering=1))
    handler.setFormatter(logging.Formatter("warning: %(message)s"))
    logging.getLogger("barnabas.mirror").addHandler(handler)


def _start(
    spark: "SparkSession",
    upkeep: "MirrorUpkeep",
    checkpoints: Path,
    metrics: "FlowMetrics",
    flows: int,
) -> _RunningFlow:
    from barnabas.spark.mirror.mirror_query import start_mirror

    flow = upkeep.flow
    progress = _Progress(f"{flow.name}: " if flows > 1 else "")
    checkpoint = str((_folder(checkpoints, flow) / "checkpoint").resolve())
    started = start_mirror(spark, flow, checkpoint, [progress, metrics, upkeep], flows=flows)
    return _RunningFlow(started, upkeep)


def _spark_has_ended() -> bool:
    """Whether its process has. Calls into it would fail, and some of them would wait."""
    from pyspark import SparkContext

    process = getattr(SparkContext._gateway, "proc", None)
    return process is not None and process.poll() is not None


def _folder(checkpoints: Path, flow: "Flow") -> Path:
    folder = checkpoints / flow.name.replace("->", "-to-")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@contextmanager
def _errors_in(log: Path) -> Iterator[None]:
    """Let processes that are started meanwhile write their errors to a file.

    Spark's write tracebacks even in normal operation, for example when workers stop.
    """
    kept = os.dup(_STDERR)
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(descriptor, _STDERR)
    os.close(descriptor)
    try:
        yield
    finally:
        os.dup2(kept, _STDERR)
        os.close(kept)


def _reason(error: Exception) -> str:
    """The last line of a traceback of a worker, without the class that raised it."""
    lines = [each.strip() for each in str(error).splitlines() if each.strip()]
    found = [each for each in lines if each.startswith("barnabas.errors.")]
    return found[-1].partition(": ")[2] if found else (lines[0] if lines else repr(error))


def _settle(flow: "Flow") -> None:
    """Roll back what was interrupted, so that readers of the target need not wait for it."""
    import asyncio

    from barnabas.errors import BarnabasError
    from barnabas.mirror.positions import abort_open_transactions

    async def settle() -> None:
        async with asyncio.timeout(_SETTLE_S), flow.target.client() as target:
            await abort_open_transactions(target, flow)

    try:
        asyncio.run(settle())
    except (BarnabasError, TimeoutError) as error:
        reason = str(error) or f"{flow.target.name} does not answer"
        say(f"warning: open transactions stay until they time out: {reason}")
