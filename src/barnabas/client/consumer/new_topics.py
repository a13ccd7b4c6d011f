"""Topics that are not there yet, or so new that not every broker knows them.

A consumer makes no topics: a name that is misspelt would become one. It waits for those that it is
to read, and says in the log which they are.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TypeVar

from barnabas.client.connect.broker_errors import broker_error
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.connect.environment import RETRY, ClientEnvironment
from barnabas.client.offsets.isolation import IsolationLevel
from barnabas.client.offsets.list_offsets import EARLIEST, LATEST
from barnabas.client.offsets.offset_spec import offsets_at
from barnabas.errors import BrokerError, UnknownTopic

_HEARD_WITHIN_S = 5.0

T = TypeVar("T")


class NewTopics:
    """Of one consumer; `new_topics` are those that were not there when it was to begin."""

    def __init__(self, cluster: ClusterClient, topics: Sequence[str]) -> None:
        self.new_topics: set[str] = set()
        self._cluster = cluster
        self.names = topics
        self._missing_since: float | None = None

    async def missing(self, deadline: float | None) -> BrokerError | None:
        """Wait until all topics are there; what is wrong if one is not there in time."""
        for pause in RETRY.pauses(self._cluster.environment.random):
            error = await self._look()
            if error is None:
                self._missing_since = None
                return None
            now = self._cluster.environment.monotonic()
            self._missing_since = self._missing_since or now
            self._cluster.on_retry(error, now - self._missing_since)
            left_s = pause if deadline is None else deadline - now
            await asyncio.sleep(max(0.0, min(pause, left_s)))
            if left_s < pause:
                return error
        raise AssertionError("pauses never end")

    async def _look(self) -> BrokerError | None:
        unknown = [each for each in self.names if self._cluster.known_topic(each) is None]
        found = await self._cluster.refresh(unknown) if unknown else {}
        errors = {
            name: broker_error(topic.error_code, f"topic {name}", needs="read")
            for name, topic in found.items()
            if topic.error_code
        }
        for name, error in errors.items():
            if not error.retriable:
                raise error
            if isinstance(error, UnknownTopic):
                self.new_topics.add(name)
        return next(iter(errors.values()), None)

    async def places(
        self, partitions: Iterable[TopicPartition], start: int, isolation: IsolationLevel
    ) -> dict[TopicPartition, int]:
        """Where to start: what is in a topic that was waited for has come since, all of it."""
        names = list(partitions)
        late = [each for each in names if start == LATEST and each.topic in self.new_topics]
        others = [each for each in names if each not in late]
        return {
            **await offsets_at(self._cluster, others, start, isolation),
            **await offsets_at(self._cluster, late, EARLIEST, isolation),
        }


async def retry_until_known(environment: ClientEnvironment, ask: Callable[[], Awaitable[T]]) -> T:
    """Retry a question about new topics until every broker knows them."""
    deadline = environment.monotonic() + _HEARD_WITHIN_S
    for pause in RETRY.pauses(environment.random):
        try:
            return await ask()
        except UnknownTopic:
            if environment.monotonic() + pause > deadline:
                raise
        await asyncio.sleep(pause)
    raise AssertionError("pauses never end")
