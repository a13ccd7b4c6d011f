"""Records for the dead-letter topic, and why they are there.

A dead letter has the key, value and headers of its record, and in addition the headers that dead
letters of pipelines have, with two more of queues:

    dead-letter.topic, .partition, .offset   where the record is
    dead-letter.timestamp                    its timestamp in UTC, as 2026-01-01T00:00:10.123Z
    dead-letter.reason                       why it was given up
    dead-letter.group                        the share group that gave it up
    dead-letter.deliveries                   how often it was delivered

It is stored before its record is rejected: if the worker dies in between, there are two of them.
"""

from barnabas.client.producer.producer_core import ProducerCore
from barnabas.client.share.queue_message import QueueMessage
from barnabas.records.record import Header

HEADER_PREFIX = "dead-letter."


def letter_headers(message: QueueMessage, group_id: str, reason: str) -> list[Header]:
    """The headers of the record, and those that make it a dead letter."""
    stamped = message.timestamp.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    said = {
        "topic": message.topic,
        "partition": str(message.partition),
        "offset": str(message.offset),
        "timestamp": stamped,
        "reason": reason,
        "group": group_id,
        "deliveries": str(message.delivery_count),
    }
    kept = [each for each in message.headers if not each[0].startswith(HEADER_PREFIX)]
    return [*kept, *((f"{HEADER_PREFIX}{name}", text.encode()) for name, text in said.items())]


class DeadLetters:
    """The dead-letter topic of one queue."""

    def __init__(self, topic: str, producer: ProducerCore) -> None:
        self.topic = topic
        self._producer = producer

    async def store(self, message: QueueMessage, group_id: str, reason: str) -> None:
        """Have it stored by all replicas in sync."""
        record = message.record
        headers = letter_headers(message, group_id, reason)
        sent = await self._producer.send(
            self.topic, record.value, record.key, headers, None, record.timestamp_ms
        )
        await sent
