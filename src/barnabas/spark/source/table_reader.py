"""A batch read of a table that keeps what it has read (`tableFolder`), and fetches what is newer.

The rows contain the newest record of each key, and may contain older ones: a key may be both in the
stored files and in the log. The caller keeps the newest of each (`newest_per_key`).
"""

import logging
import time
from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql.datasource import InputPartition

from barnabas.client.admin.configs import ResourceType, describe_configs
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.consumer.range_reader import RecordRange
from barnabas.spark.cluster.connection import connect
from barnabas.spark.source.batch_reader import BatchReader
from barnabas.spark.source.range_reader import read_tables
from barnabas.spark.source.schema import ArrowForm
from barnabas.spark.source.table_files import (
    NO_CHAIN,
    Chain,
    add_file,
    confirm,
    find_chain,
    read_files,
)
from barnabas.spark.source.tasks import RangesPartition

_log = logging.getLogger("barnabas.spark")
_RETENTION = "delete.retention.ms"


class KeptPartition(InputPartition):
    """What one task reads: files, and the range of the log after them."""

    def __init__(self, wanted: RecordRange, chain: Chain, planned_at: float) -> None:
        super().__init__(None)
        self.wanted = wanted
        self.chain = chain
        self.planned_at = planned_at


class TableReader(BatchReader):
    """One task per partition: it needs both the stored and the newer records."""

    @property
    def _root(self) -> str:
        folder = self._options.table_folder
        assert folder is not None
        return f"{folder}/{self._source.consumer.isolation.name.lower()}"

    def partitions(self) -> list[InputPartition]:
        planned_at = time.time()
        root = self._root
        connection = connect(self._source.consumer.connection)
        ranges = connection.ask(self._ranges)
        retentions = connection.ask(
            lambda cluster: _retentions(cluster, {each.partition.topic for each in ranges})
        )
        tasks: list[InputPartition] = []
        for wanted in ranges:
            chain = find_chain(root, wanted, retentions[wanted.partition.topic])
            if chain.files and chain.end == wanted.end:
                confirm(chain, planned_at)
            if chain.files or wanted.start < wanted.end:
                tasks.append(KeptPartition(wanted, chain, planned_at))
        return tasks or [RangesPartition(())]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if not isinstance(partition, KeptPartition):
            return
        form = ArrowForm(self._schema)
        wanted, chain = partition.wanted, partition.chain
        kept = read_files(chain, form.columns, wanted.start)
        if kept is None:
            kept, chain = [], NO_CHAIN
        for table in kept:
            yield from form.batches(table)
        newer = wanted._replace(start=max(wanted.start, chain.end))
        new: list[pa.Table] = []
        records = 0
        for table in read_tables(self._source, form.columns, RangesPartition([newer])):
            new.append(table)
            records += table.num_rows
            yield from form.batches(table)
        _log.info("table %s: %d records read, %d files", wanted.partition, records, len(kept))
        add_file(self._root, wanted, chain, new, partition.planned_at)


async def _retentions(cluster: ClusterClient, topics: set[str]) -> dict[str, int]:
    """How long each topic keeps tombstones."""
    if not topics:
        return {}
    found = await describe_configs(cluster, ResourceType.TOPIC, topics, keys=[_RETENTION])
    return {
        topic: next((int(each.value or 0) for each in entries if each.name == _RETENTION), 0)
        for topic, entries in found.items()
    }
