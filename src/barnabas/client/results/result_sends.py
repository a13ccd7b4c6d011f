"""Stores results of jobs, for those who have submitted them."""

import logging
from collections.abc import Callable
from typing import Any

from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.consequences import Consequence, consequence_of
from barnabas.client.producer.producer_core import ProducerCore
from barnabas.client.results.job_ids import ReplyTo
from barnabas.client.results.result_record import JobResult
from barnabas.errors import BarnabasError
from barnabas.wire.errors import ErrorCode

_ASK_AGAIN_S = 30.0
_NAMES = 1_000
"""Topics to remember: a stranger's jobs may name any."""

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

    async def store(self, reply: ReplyTo, result: JobResult) -> None:
        """Store it on all in-sync replicas. Raises errors that may pass: then the job is repeated.

        If a result can never be stored, the job is not repeated; its submitter gets the reason, if
        that can be stored.
        """
        try:
            if await self._exists(reply.topic):
                await self._send(reply, result)
        except BarnabasError as error:
            if consequence_of(error) is Consequence.WAITS:
                raise
            _log.warning("the result of job %s is not stored: %s", reply.job_id.decode(), error)
            if result.error is None:
                said = f"the job is done, but its result could not be stored: {error}"
                await self.store(reply, JobResult(error=said))

    async def _send(self, reply: ReplyTo, result: JobResult) -> None:
        sent = await self._producer.send(
            reply.topic, result.value, reply.job_id, result.headers, None, None
        )
        await sent

    async def _exists(self, name: str) -> bool:
        """Jobs copied from another topic keep their headers, but have no submitter here."""
        if name in self._known:
            return True
        now = self._cluster.environment.monotonic()
        if now < self._missing.get(name, 0.0):
            return False
        found = await self._cluster.retrying(lambda: self._cluster.refresh([name]))
        for names in (self._known, self._missing):
            if len(names) >= _NAMES:
                names.clear()
        if found[name].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            self._missing[name] = now + _ASK_AGAIN_S
            _log.warning("jobs request results, but topic %s does not exist", name)
            return False
        self._known.add(name)
        return True
