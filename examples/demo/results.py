"""What is in topics and tables in the end, read as anybody would."""

from pathlib import Path
from typing import Any

from pyarrow import parquet

import barnabas
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.records.message import Message


async def read_all(bootstrap: str, topic: str) -> list[Message]:
    """Every record that was committed, up to the end of each partition."""
    found: list[Message] = []
    async with barnabas.aio.Consumer(bootstrap, topic) as consumer:
        while True:
            batch = await consumer.poll(timeout_s=0.5)
            found += batch
            if not batch and consumer.assignment and not any((await consumer.lag()).values()):
                return found


def read_table(folder: Path) -> list[dict[str, Any]]:
    """The rows of a Parquet table; none if nobody has written to it."""
    return parquet.read_table(folder).to_pylist() if folder.exists() else []


async def count_records(admin: barnabas.aio.Admin, topic: str) -> int:
    """How many records a topic has that nobody writes to in transactions."""
    ends: dict[TopicPartition, int] = await admin.offsets(topic)
    return sum(ends.values())
