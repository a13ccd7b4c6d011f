"""Resolves the regular expressions of consumer groups, in slices between other requests."""

from asyncio import AbstractEventLoop, Task, sleep
from collections.abc import Callable

from barnabas.broker.coordinator.group_coordinator_shard import GroupCoordinatorShard
from barnabas.groups.consumer.regexes import RegexJob
from barnabas.groups.modern.topics import Topics
from barnabas.wire.errors import ErrorCode


class RegexResolution:
    """The jobs that are running."""

    def __init__(self, loop: AbstractEventLoop, topics: Topics) -> None:
        self._loop = loop
        self._topics = topics
        self._tasks: set[Task[None]] = set()

    def start_if_due(
        self, shard: GroupCoordinatorShard, group_id: str, may_describe: Callable[[str], bool]
    ) -> None:
        """A member of the group was here, who may describe those topics."""
        job = shard.groups.consumer.next_regex_job(group_id, shard.now_ms())
        if job is not None:
            task = self._loop.create_task(self._run(shard, job, may_describe))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _run(
        self, shard: GroupCoordinatorShard, job: RegexJob, may_describe: Callable[[str], bool]
    ) -> None:
        for _ in job.run(self._topics.names(), may_describe):
            await sleep(0)
            if shard.error is not ErrorCode.NONE:
                return
        shard.carry_out(shard.groups.consumer.regexes_resolved(job, now_ms=shard.now_ms()))

    def close(self) -> None:
        for task in self._tasks:
            task.cancel()
