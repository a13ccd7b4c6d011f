"""The data files of one partition.

New batches go into new files. A last file that is small is not left as it is, or many small runs
would make many small files: its content becomes the beginning of the next one. The old file stays
for the points that name it.
"""

import asyncio
import hashlib
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import quote

from barnabas.backup.batch_reader import read_batches
from barnabas.backup.manifest import BackupDamagedError, DataFile, PartitionData
from barnabas.backup.store import BackupStore
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.connect.connection_pool import Channel
from barnabas.mirror.rate_limit import RateLimit
from barnabas.records.batch import BatchHeader

DATA = "data"
FILE_BYTES = 32 * 1024 * 1024
"""A file is closed when it has so many."""

SMALL_BYTES = 1024 * 1024
"""Files below this are merged with what comes next."""


class PartitionSpan(NamedTuple):
    """What is to be copied of a partition: all from `start`, where its log begins, to `end`."""

    partition: TopicPartition
    topic_id: bytes
    start: int
    end: int


@dataclass
class _OpenFile:
    """Batches that will be a file."""

    first: int
    parts: list[bytes | memoryview] = field(default_factory=list)
    size: int = 0
    records: int = 0
    max_timestamp_ms: int = -1

    def add(self, header: BatchHeader, batch: memoryview) -> None:
        self.parts.append(batch)
        self.size += len(batch)
        self.records += header.record_count
        self.max_timestamp_ms = max(self.max_timestamp_ms, header.max_timestamp)


class PartitionBackup:
    """Of one partition, in one run."""

    def __init__(
        self,
        cluster: ClusterClient,
        channel: Channel,
        store: BackupStore,
        limit: RateLimit,
        run: str,
        span: PartitionSpan,
        previous: PartitionData | None,
    ) -> None:
        """`previous` are the files of the point before; None: start from the beginning."""
        self._cluster = cluster
        self._channel = channel
        self._store = store
        self._limit = limit
        self._run = run
        self._span = span
        kept = [each for each in (previous.files if previous else ()) if each.end > span.start]
        reached = span.start if previous is None else max(previous.end, span.start)
        self.data = PartitionData(span.start, reached, kept)
        """What is in the store so far."""
        self.copied_bytes = 0

    async def run(self) -> PartitionData:
        """Copy what is new."""
        span, data = self._span, self.data
        if data.end >= span.end:
            return data
        file = await self._first_file()
        reading = read_batches(
            self._cluster, self._channel, span.partition, span.topic_id, data.end, span.end
        )
        end = data.end
        async for read in reading:
            await self._limit.take(read.size)
            for header, batch in read.batches:
                file.add(header, batch)
                self.copied_bytes += len(batch)
            end = min(read.end, span.end)
            if file.size >= FILE_BYTES:
                await self._close(file, end)
                file = _OpenFile(end)
        if file.size:
            await self._close(file, span.end)
        data.end = span.end
        return data

    async def _first_file(self) -> _OpenFile:
        last = self.data.files[-1] if self.data.files else None
        if last is None or last.bytes >= SMALL_BYTES:
            return _OpenFile(self.data.end)
        content = await asyncio.to_thread(self._store.read, last.name)
        if content is None or hashlib.sha256(content).hexdigest() != last.sha256:
            raise BackupDamagedError(
                f"{self._store.description}/{last.name} is damaged; see `barnabas backup verify`, "
                "and copy everything again with `barnabas backup create --full`"
            )
        return _OpenFile(last.first, [content], last.bytes, last.records, last.max_timestamp_ms)

    async def _close(self, file: _OpenFile, end: int) -> None:
        topic, index = self._span.partition
        name = f"{DATA}/{quote(topic, safe='')}/{index}/{file.first:020}-{self._run}.batches"
        digest = await asyncio.to_thread(self._write, name, file)
        made = DataFile(
            name, file.first, end, file.size, file.records, file.max_timestamp_ms, digest
        )
        files = [each for each in self.data.files if each.first < file.first]
        self.data.files, self.data.end = [*files, made], end

    def _write(self, name: str, file: _OpenFile) -> str:
        content = b"".join(file.parts)
        self._store.write(name, content)
        return hashlib.sha256(content).hexdigest()
