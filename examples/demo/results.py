"""The contents of topics and tables at the end, read with ordinary clients."""

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
    """The rows of a Parquet table; empty if it was never written."""
    return parquet.read_table(folder).to_pylist() if folder.exists() else []


async def count_records(admin: barnabas.aio.Admin, topic: str) -> int:
    """The number of records of a topic without transactions."""
    ends: dict[TopicPartition, int] = await admin.offsets(topic)
    return sum(ends.values())
