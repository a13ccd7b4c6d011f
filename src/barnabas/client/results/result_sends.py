"""Stores results of jobs, for those who have submitted them.

A job names the topic of its result. Whoever may write jobs could have a worker write to any topic
that it may write to, so a worker answers in the topic of results of the job's own topic, and in
those of topics that it is given: where the jobs were submitted that its own ones continue.
"""

import logging
from collections.abc import Callable, Iterable
from typing import Any

from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.consequences import Consequence, consequence_of
from barnabas.client.producer.producer_core import ProducerCore
from barnabas.client.results.job_ids import ReplyTo, reply_to
from barnabas.client.results.result_record import JobResult
from barnabas.client.results.results_topic import results_topic
from barnabas.errors import BarnabasError
from barnabas.records.message import Message
from barnabas.wire.errors import ErrorCode

_ASK_AGAIN_S = 30.0
_NAMES = 1_000
"""Topics to remember: a stranger's jobs may name any."""

Encode = Callable[[Any], bytes | None]

_log = logging.getLogger("barnabas.client")


class ResultSends:
    """Of one worker."""

    def __init__(
        self,
        cluster: ClusterClient,
        producer: ProducerCore,
        encode: Encode,
        results_of: Iterable[str] = (),
    ) -> None:
        """Results also go to jobs that were submitted to the topics `results_of`."""
        self.encode = encode
        """What a handler has returned; raises if it is not of the type of results."""
        self._cluster = cluster
        self._producer = producer
        self._allowed = frozenset(map(results_topic, results_of))
        self._refused: set[str] = set()
        """Topics of results that were named and are not answered in, as far as they are logged."""
        self._known: set[str] = set()
        self._missing: dict[str, float] = {}  # and when they were asked for

    def reply_to(self, job: Message) -> ReplyTo | None:
        """Where the result of a job goes; None if none is wanted, or not in a topic of this
        worker's."""
        reply = reply_to(job.headers)
        if reply is None or reply.topic in self._allowed:
            return reply
        if reply.topic == results_topic(job.topic):
            return reply
        if reply.topic not in self._refused:
            if len(self._refused) >= _NAMES:
                self._refused.clear()
            self._refused.add(reply.topic)
            _log.warning(
                "a job of %s requests its result in %s: not stored; if jobs of %s continue "
                "others, name their topic in results_of",
                job.topic,
                reply.topic,
                job.topic,
            )
        return None

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
