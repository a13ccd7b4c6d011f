"""Records that a test feeds: topics that are folders of Parquet files, one for each feeding."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from barnabas.spark.pipelines.environment import DeadLetterTopic
from barnabas.spark.pipelines.formats.decoded_rows import decoded_rows
from barnabas.spark.pipelines.sources.feed import Record
from barnabas.spark.source.record_decoding import RecordDecoding
from barnabas.spark.source.schema import schema_of
from barnabas.spark.testing.fed_letters import LetterFolder

_ALL = schema_of(headers=True)


@dataclass
class FedRecords:
    """All topics of a test."""

    folder: Path
    now: datetime
    """The timestamp of records that are fed without one."""
    _offsets: dict[tuple[str, int], int] = field(default_factory=dict)
    _files: int = 0

    def stream(
        self, spark: SparkSession, topic: str, schema: StructType, options: Mapping[str, str]
    ) -> DataFrame:
        del options
        folders = [self.of(each.strip()).name for each in topic.split(",")]
        files = spark.readStream.schema(_ALL).parquet(f"{self.folder}/{{{','.join(folders)}}}")
        return files.select(*schema.fieldNames())

    def batch(
        self, spark: SparkSession, topic: str, schema: StructType, options: Mapping[str, str]
    ) -> DataFrame:
        del options
        spark.dataSource.register(FedTopic)
        reader = spark.read.format(FedTopic.name()).schema(schema)
        return reader.load(str(self.of(topic)))

    def letters(self, target: DeadLetterTopic, options: Mapping[str, str]) -> LetterFolder:
        del options
        return LetterFolder(str(self.letter_folder), target.group)

    @property
    def letter_folder(self) -> Path:
        """Where dead letters are."""
        return self.folder.with_name("dead-letters")

    def decoded(
        self, spark: SparkSession, topic: str, decoding: RecordDecoding, options: Mapping[str, str]
    ) -> DataFrame:
        return decoded_rows(self.stream(spark, topic, _ALL, options), decoding)

    def of(self, topic: str) -> Path:
        """The folder of a topic."""
        folder = self.folder / topic
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def add_records(self, topic: str, records: Sequence[Record]) -> None:
        self.add_rows(self.of(topic), _ALL, [self._row(topic, each) for each in records])

    def add_rows(self, folder: Path, fields: StructType, rows: Sequence[Mapping[str, Any]]) -> None:
        arrow = to_arrow_schema(fields, timezone="UTC")
        self._files += 1
        hidden = folder / f".{self._files:06}.parquet"
        pq.write_table(pa.Table.from_pylist(list(rows), schema=arrow), hidden)
        hidden.rename(folder / f"{self._files:06}.parquet")

    def _row(self, topic: str, record: Record) -> dict[str, Any]:
        offset = self._offsets.get((topic, record.partition), 0)
        self._offsets[topic, record.partition] = offset + 1
        key = record.key.encode() if isinstance(record.key, str) else record.key
        return {
            "key": key,
            "value": record.value,
            "topic": topic,
            "partition": record.partition,
            "offset": offset,
            "timestamp": aware(record.timestamp or self.now),
            "timestampType": 0,
            "headers": [{"key": name, "value": value} for name, value in record.headers],
        }


class FedTopic(DataSource):
    """What was fed to a topic; unlike Spark's file source, every batch lists the files again."""

    @classmethod
    def name(cls) -> str:
        return "barnabas-fed"

    def schema(self) -> StructType:
        return _ALL

    def reader(self, schema: StructType) -> DataSourceReader:
        return _FedReader(self.options["path"], schema)


class _FedReader(DataSourceReader):
    def __init__(self, folder: str, schema: StructType) -> None:
        self._folder = folder
        self._schema = schema

    def partitions(self) -> list[InputPartition]:
        return [InputPartition(sorted(map(str, Path(self._folder).glob("[!.]*.parquet"))))]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        arrow = to_arrow_schema(self._schema, timezone="UTC")
        for file in partition.value:
            table = pq.read_table(file, columns=self._schema.fieldNames(), partitioning=None)
            yield from table.cast(arrow).to_batches()


def aware(time: datetime) -> datetime:
    """A time without a zone is in UTC."""
    return time if time.tzinfo else time.replace(tzinfo=UTC)
