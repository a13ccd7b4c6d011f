"""A flow that runs in a thread, as `barnabas mirror run` runs one."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from threading import Thread
from typing import Self

from barnabas.mirror.configured_flow import ConfiguredFlow
from barnabas.mirror.copy_report import ReportListener
from barnabas.mirror.flow import Flow
from barnabas.mirror.flow_run import FlowRun
from barnabas.mirror.groups.group_settings import GroupSettings
from barnabas.mirror.names import HEARTBEATS

REFRESH_S = 0.5


class RunningFlow:
    """Copies topics until it is left or stopped."""

    def __init__(
        self,
        flow: Flow,
        topics: dict[str, int],
        groups: GroupSettings | None = None,
        listeners: Sequence[ReportListener] = (),
    ) -> None:
        self.flow = replace(
            flow,
            topics=tuple(topics),
            replicate_heartbeats=HEARTBEATS in topics,
            refresh_s=REFRESH_S,
        )
        mirrored = ConfiguredFlow(self.flow, groups or GroupSettings(interval_s=0.2))
        self._loop = asyncio.new_event_loop()
        self._run = FlowRun(mirrored, listeners)
        self.upkeep = self._run.upkeep
        self._thread = Thread(target=self._copy, daemon=True)

    @property
    def was_stopped(self) -> bool:
        return self._run.was_stopped

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._run.stop)
        self._thread.join()

    def _copy(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._run.run())
