"""A flow that runs in a thread, as a driver of Spark would run it, with its upkeep."""

import asyncio
from collections.abc import Sequence
from threading import Event, Thread
from typing import Self

from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.errors import BarnabasError
from barnabas.mirror.copy_round import CopyRound
from barnabas.mirror.flow import Flow
from barnabas.mirror.groups.group_settings import GroupSettings
from barnabas.mirror.groups.mirror_upkeep import MirrorUpkeep
from barnabas.mirror.groups.stop_request import MirrorStopped
from barnabas.mirror.names import remote_topic
from barnabas.mirror.partition_copy import CopiedPartition
from barnabas.mirror.round_report import ReportListener, report_of

ROUND_S = 0.5


class RunningFlow:
    """Copies partitions of topics that exist on both sides, until it is left or stopped."""

    def __init__(
        self,
        flow: Flow,
        topics: dict[str, int],
        groups: GroupSettings | None = None,
        listeners: Sequence[ReportListener] = (),
    ) -> None:
        self.flow = flow
        self.upkeep = MirrorUpkeep(flow, groups or GroupSettings(interval_s=0.2))
        self._listeners = [*listeners, self.upkeep]
        self.was_stopped = False
        self._partitions = [
            CopiedPartition(
                TopicPartition(topic, each), TopicPartition(remote_topic(flow, topic), each)
            )
            for topic, count in topics.items()
            for each in range(count)
        ]
        self._leaving = Event()
        self._thread = Thread(target=lambda: asyncio.run(self._copy()), daemon=True)

    def __enter__(self) -> Self:
        self.upkeep.start()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._leaving.set()
        self._thread.join()
        self.upkeep.close()

    async def _copy(self) -> None:
        while not self._leaving.is_set() and not self.was_stopped:
            try:
                async with self.flow.source.client() as source, self.flow.target.client() as target:
                    await self._rounds(source, target)
            except MirrorStopped:
                self.was_stopped = True
            except BarnabasError as error:
                if not error.retriable:
                    raise
                await asyncio.sleep(0.1)

    async def _rounds(self, source, target) -> None:
        while not self._leaving.is_set():
            rows = await CopyRound(source, target, self.flow, self._partitions).run(ROUND_S)
            for each in self._listeners:
                each.on_report(report_of(rows))
