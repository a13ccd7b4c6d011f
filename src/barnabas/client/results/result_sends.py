"""Stores results of jobs, for those who have submitted them."""

import logging
from collections.abc import Callable
from typing import Any

from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.consequences import Consequence, consequence_of
from barnabas.client.producer.producer_core import ProducerCore
from barnabas.client.results.result_record import JobResult
from barnabas.client.results.results_topic import results_topic
from barnabas.errors import BarnabasError
from barnabas.wire.errors import ErrorCode

_ASK_AGAIN_S = 30.0

Encode = Callable[[Any], bytes | None]

_log = logging.getLogger("barnabas.client")


class ResultSends:
    """Of one worker."""

    def __init__(self, cluster: ClusterClient, producer: ProducerCore, encode: Encode) -> None:
        self.encode = encode
        """What a handler has returned; raises if it is not of the type of results."""
        self._cluster = cluster
        self._producer = producer
        self._known: set[str] = set()
        self._missing: dict[str, float] = {}  # and when they were asked for

    async def store(self, topic: str, job_id: bytes, result: JobResult) -> None:
        """Have it stored by all replicas in sync. Raises what passes if the job is done again.

        A result that can't be stored at all is no reason to do the job again: its submitter is told
        so if possible.
        """
        name = results_topic(topic)
        try:
            if await self._exists(name):
                await self._send(name, job_id, result)
        except BarnabasError as error:
            if consequence_of(error) is Consequence.WAITS:
                raise
            _log.warning("the result of job %s was not stored: %s", job_id.decode(), error)
            if result.error is None:
                said = JobResult(error=f"it is done, but its result can't be stored: {error}")
                await self.store(topic, job_id, said)

    async def _send(self, name: str, job_id: bytes, result: JobResult) -> None:
        sent = await self._producer.send(name, result.value, job_id, result.headers, None, None)
        await sent

    async def _exists(self, name: str) -> bool:
        """A job may come from elsewhere, with its headers: then nobody waits here."""
        if name in self._known:
            return True
        now = self._cluster.environment.monotonic()
        if now < self._missing.get(name, 0.0):
            return False
        found = await self._cluster.retrying(lambda: self._cluster.refresh([name]))
        if found[name].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            self._missing[name] = now + _ASK_AGAIN_S
            _log.warning("jobs ask for results, but there is no topic %s for them", name)
            return False
        self._known.add(name)
        return True
