"""The dead-letter topic of a queue; `barnabas.client.producer.dead_letters` has the headers.

A dead letter is stored before its record is rejected: if the worker dies in between, there are two
of them.
"""

from barnabas.client.producer.dead_letters import letter_headers
from barnabas.client.producer.producer_core import ProducerCore
from barnabas.client.share.queue_message import QueueMessage


class DeadLetters:
    """The dead-letter topic of one queue."""

    def __init__(self, topic: str, producer: ProducerCore) -> None:
        self.topic = topic
        self._producer = producer

    async def store(self, message: QueueMessage, group_id: str, reason: str) -> None:
        """Have it stored by all replicas in sync."""
        record = message.record
        headers = letter_headers(record, group_id, reason, message.delivery_count)
        sent = await self._producer.send(
            self.topic, record.value, record.key, headers, None, record.timestamp_ms
        )
        await sent
