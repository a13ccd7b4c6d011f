"""The dead-letter topic of a queue; `barnabas.client.producer.dead_letters` has the headers.

A dead letter is stored before its record is rejected: if the worker dies in between, there are two
of them.
"""

import logging

from barnabas.client.admin.companion_topic import HEADER_BYTES, ensure_companion
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.consequences import Consequence, consequence_of
from barnabas.client.producer.dead_letters import KEPT_FOREVER, letter_headers
from barnabas.client.producer.producer_core import ProducerCore
from barnabas.client.share.queue_message import QueueMessage
from barnabas.errors import BarnabasError

_log = logging.getLogger("barnabas.client")


class DeadLetters:
    """The dead-letter topic of one queue."""

    def __init__(self, topic: str, producer: ProducerCore, cluster: ClusterClient) -> None:
        self.topic = topic
        self._producer = producer
        self._cluster = cluster
        self._is_known = False
        self._denial = ""  # why it was not created, as far as it is logged

    async def store(self, message: QueueMessage, group_id: str, reason: str) -> None:
        """Have it stored by all replicas in sync."""
        if not self._is_known:
            await self._create_if_missing(message.source.topic)
        record = message.record
        headers = letter_headers(record, group_id, reason, message.delivery_count)
        sent = await self._producer.send(
            self.topic, record.value, record.key, headers, None, record.timestamp_ms
        )
        await sent
        self._is_known = True

    async def _create_if_missing(self, source: str) -> None:
        """A broker that creates it would give it the retention of other topics, so what passes is
        raised.

        Without the right to create it, sending says what is wrong.
        """
        try:
            await ensure_companion(
                self._cluster,
                source,
                self.topic,
                partitions=lambda found: len(found.partitions),
                configs=KEPT_FOREVER,
                needs="write",
                header_bytes=HEADER_BYTES,
            )
        except BarnabasError as error:
            if consequence_of(error) is Consequence.WAITS:
                raise
            if str(error) != self._denial:
                self._denial = str(error)
                _log.warning("the dead letter topic %s was not created: %s", self.topic, error)
