"""Flows in the foreground: on one Spark, until they are stopped."""

import os
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, NamedTuple

from barnabas.cli.base import exit_codes
from barnabas.cli.base.command import CommandError
from barnabas.cli.base.output import counted, human_size, print_line, say

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from barnabas.mirror.configured_flow import ConfiguredFlow
    from barnabas.mirror.flow import Flow
    from barnabas.mirror.groups.mirror_upkeep import MirrorUpkeep
    from barnabas.mirror.operations.metrics import FlowMetrics
    from barnabas.mirror.round_report import RoundReport

_POLL_S = 0.2
_STDERR = 2
_ALL_CORES = "local[*]"


class _Progress:
    """Prints a line for each round that has copied something, and every problem once."""

    def __init__(self, label: str) -> None:
        """The label begins lines, if there are several flows."""
        self._label = label
        self._told: set[str] = set()
        self._began = time.monotonic()

    def on_round(self, report: "RoundReport") -> None:
        now = time.monotonic()
        seconds, self._began = now - self._began, now
        for problem in report.problems:
            if problem not in self._told:
                say(f"warning: {problem}")
        self._told = set(report.problems)
        if report.records:
            lag = sum(max(0, each.lag) for each in report.states)
            rate = human_size(round(report.bytes / max(seconds, 0.001)))
            copied = counted(report.records, "record")
            print_line(f"{self._label}copied {copied}, {rate}/s; lag {lag}")


class _RunningFlow:
    """A flow that was started: its query, and its upkeep."""

    def __init__(self, flow: "Flow", query: "StreamingQuery", upkeep: "MirrorUpkeep") -> None:
        self.flow = flow
        self._query = query
        self._upkeep = upkeep
        upkeep.start()

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
                say(f"warning: flow {self.flow.name} did not end in order: {_reason(error)}")

    def settle(self) -> None:
        """Store what is left to store, once nothing is copied any longer."""
        self._upkeep.close()
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
    try:
        from barnabas.spark.pipelines.run.spark_log import keep_errors_quiet
        from barnabas.spark.sessions.tuned_session import session
    except ImportError as missing:
        raise CommandError(f"{missing}; pip install 'barnabas[spark]'") from missing
    keep_errors_quiet()  # a round that Ctrl-C ends is no error
    if master == _ALL_CORES and len(flows) > (os.cpu_count() or 1):
        master = f"local[{len(flows)}]"  # a round keeps a core
    names = ", ".join(each.flow.name for each in flows)
    log = _folder(checkpoints, flows[0].flow) / "spark.log"
    say(f"starting Spark on {master} for {names} (its log: {log})")
    with _errors_in(log):
        spark = session("barnabas mirror", master, **{"spark.ui.enabled": "false"})
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
        for wanted, metrics in zip(flows, measured, strict=True):
            running.append(_start(spark, wanted, checkpoints, metrics, len(flows)))
        say(f"copying {names}; Ctrl-C stops it")
        left = list(running)
        while left and not stopped:
            for flow in [each for each in left if each.is_over]:
                say(f"flow {flow.flow.name} was stopped from outside, as failover does")
                flow.stop()
                left.remove(flow)
            time.sleep(_POLL_S)
        for flow in left:
            flow.stop()
    finally:
        spark.stop()
        for flow in running:
            flow.settle()
    is_term = signal.SIGTERM in stopped
    return exit_codes.TERMINATED if is_term else exit_codes.INTERRUPTED


def _start(
    spark: "SparkSession",
    wanted: "ConfiguredFlow",
    checkpoints: Path,
    metrics: "FlowMetrics",
    flows: int,
) -> _RunningFlow:
    from barnabas.mirror.groups.mirror_upkeep import MirrorUpkeep
    from barnabas.spark.mirror.mirror_query import start_mirror

    flow = wanted.flow
    upkeep = MirrorUpkeep(flow, wanted.groups)
    progress = _Progress(f"{flow.name}: " if flows > 1 else "")
    checkpoint = str((_folder(checkpoints, flow) / "checkpoint").resolve())
    query = start_mirror(spark, flow, checkpoint, [progress, metrics, upkeep], flows=flows)
    return _RunningFlow(flow, query, upkeep)


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
        async with flow.target.client() as target:
            await abort_open_transactions(target, flow)

    try:
        asyncio.run(settle())
    except BarnabasError as error:
        say(f"warning: open transactions stay until they time out: {error}")
