"""Flows in the foreground, all in one process, until they are stopped."""

import asyncio
import logging
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING

from barnabas.cli.base import exit_codes
from barnabas.cli.base.command import CommandError
from barnabas.cli.base.output import print_line, say
from barnabas.quantities import counted, human_size

if TYPE_CHECKING:
    from barnabas.client.connect.cluster_metadata import TopicPartition
    from barnabas.mirror.configured_flow import ConfiguredFlow
    from barnabas.mirror.copy_report import CopyReport
    from barnabas.mirror.flow import Flow
    from barnabas.mirror.flow_run import FlowRun
    from barnabas.mirror.operations.metrics import FlowMetrics

_LINE_S = 5.0


class _Progress:
    """Prints a line every few seconds if something was copied, and every problem once."""

    def __init__(self, flow: "Flow", label: str) -> None:
        """The label begins lines, if there are several flows."""
        self._flow = flow
        self._label = label
        self._told: set[str] = set()
        self._began = time.monotonic()
        self._records = self._bytes = 0
        self._lags: dict[TopicPartition, int] = {}

    def on_report(self, report: "CopyReport") -> None:
        from barnabas.mirror.names import is_heartbeats

        for problem in report.problems:
            if problem not in self._told:
                say(f"warning: {problem}")
        self._told = set(report.problems)
        self._records += report.records
        self._bytes += report.bytes
        self._lags |= {
            each.source: max(0, each.lag)
            for each in report.states
            if not is_heartbeats(self._flow, each.source.topic)
        }
        seconds = time.monotonic() - self._began
        if seconds < _LINE_S:
            return
        if self._records:
            rate = human_size(round(self._bytes / seconds))
            copied = counted(self._records, "record")
            print_line(f"{self._label}copied {copied}, {rate}/s; lag {sum(self._lags.values())}")
        self._began = time.monotonic()
        self._records = self._bytes = 0


def run_flows(flows: "Sequence[ConfiguredFlow]", metrics: tuple[str, int] | None) -> int:
    """Copy until a signal, or until all flows were stopped from outside; the exit code.

    `metrics` is the host and port at which metrics are served. Raises `CommandError` if a flow
    fails.
    """
    import uvloop

    from barnabas.mirror.operations.metrics import FlowMetrics
    from barnabas.mirror.operations.metrics_server import MirrorMetricsServer

    measured = [FlowMetrics(each.flow) for each in flows]
    server = None if metrics is None else MirrorMetricsServer(*metrics, measured)
    with server or nullcontext():
        if server is not None:
            say(f"metrics at {server.url}")
        _show_warnings()
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            return runner.run(_Flows(flows, measured).run())


class _Flows:
    """The flows of this process."""

    def __init__(
        self, flows: "Sequence[ConfiguredFlow]", measured: "Sequence[FlowMetrics]"
    ) -> None:
        from barnabas.mirror.flow_run import FlowRun

        self._runs = []
        for each, metrics in zip(flows, measured, strict=True):
            progress = _Progress(each.flow, f"{each.flow.name}: " if len(flows) > 1 else "")
            self._runs.append(FlowRun(each, [progress, metrics]))
        self._stopped: list[int] = []

    async def run(self) -> int:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._stop, number)
        names = ", ".join(each.flow.name for each in self._runs)
        say(f"copying {names}; Ctrl-C stops it")
        running = {asyncio.create_task(self._run(each)) for each in self._runs}
        try:
            done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_EXCEPTION)
            for task in done:
                task.result()
        finally:
            for each in self._runs:
                each.stop()
            await asyncio.gather(*running, return_exceptions=True)
        is_term = signal.SIGTERM in self._stopped
        return exit_codes.TERMINATED if is_term else exit_codes.INTERRUPTED

    async def _run(self, run: "FlowRun") -> None:
        from barnabas.errors import BarnabasError

        try:
            await run.run()
        except BarnabasError as error:
            raise CommandError(f"flow {run.flow.name} has failed: {error}") from error
        if run.was_stopped:
            say(f"flow {run.flow.name} was stopped from outside, as failover does")

    def _stop(self, number: int) -> None:
        """End in order; at once if it is asked for twice."""
        if self._stopped:
            raise KeyboardInterrupt
        self._stopped.append(number)
        for each in self._runs:
            each.stop()


def _show_warnings() -> None:
    """Those of the upkeep, as those of reports."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("warning: %(message)s"))
    logging.getLogger("barnabas.mirror").addHandler(handler)
