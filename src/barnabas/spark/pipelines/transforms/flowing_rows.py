"""Rows on their way through transforms: the fields of the value, and key and topic beside them.

Connect's records have a key, a value and a topic. Here the value's fields are columns. Key and
topic are columns beside them once a transform has made them; then `records` packs all as `to_topic`
takes it with `topic_per_row`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.types import StructField, StructType

from barnabas.errors import InvalidArgument

KEY, TOPIC = "barnabas_key", "barnabas_topic"
_BESIDE = (KEY, TOPIC)
_RECORD = "record"


@dataclass(frozen=True)
class FlowingRows:
    """Rows, the topic that they come from, and what is beside their fields."""

    rows: DataFrame
    topic: str | None = None

    @property
    def fields(self) -> list[StructField]:
        """The fields of the value."""
        return [
            each
            for each in self.rows.schema.fields
            if each.name not in _BESIDE
            and not (each.name == _RECORD and isinstance(each.dataType, StructType))
        ]

    def field(self, name: str) -> StructField:
        for each in self.fields:
            if each.name == name:
                return each
        names = ", ".join(each.name for each in self.fields)
        raise InvalidArgument(f"no field {name!r}; the value has {names}")

    @property
    def beside(self) -> list[Column]:
        """The columns that are not fields of the value."""
        mine = {each.name for each in self.fields}
        return [F.col(f"`{each}`") for each in self.rows.columns if each not in mine]

    @property
    def topic_column(self) -> Column:
        """The topic of each row, as far as it is known."""
        if TOPIC in self.rows.columns:
            return F.col(TOPIC)
        if self.topic is not None:
            return F.lit(self.topic)
        fields = {each.name: each.dataType for each in self.rows.schema.fields}
        record = fields.get("record")
        if isinstance(record, StructType) and "topic" in record.names:
            return F.col("record.topic")
        raise InvalidArgument(
            'rows of several topics do not have the name of theirs: from_topic(…, record="topic"), '
            "or in a connector source.record=topic"
        )

    def of_fields(self, columns: Sequence[Column]) -> Self:
        """With these fields instead."""
        return replace(self, rows=self.rows.select(*columns, *self.beside))

    def having(self, name: str, column: Column) -> Self:
        """With a column made or replaced."""
        return replace(self, rows=self.rows.withColumn(name, column))

    def where(self, condition: Column) -> Self:
        return replace(self, rows=self.rows.where(condition))

    def records(self) -> DataFrame:
        """The rows; as records with key, value and topic if a transform has made one of these."""
        made = [each for each in _BESIDE if each in self.rows.columns]
        if not made:
            return self.rows
        value = F.to_json(
            F.struct(*(F.col(f"`{each.name}`") for each in self.fields)),
            {"ignoreNullFields": "false"},
        )
        columns = [value.cast("binary").alias("value")]
        if KEY in made:
            columns.insert(0, self._key().alias("key"))
        if TOPIC in made:
            columns.append(F.col(TOPIC).alias("topic"))
        return self.rows.select(*columns)

    def _key(self) -> Column:
        of_type = self.rows.schema[KEY].dataType
        if isinstance(of_type, StructType):
            return F.to_json(KEY, {"ignoreNullFields": "false"}).cast("binary")
        return F.col(KEY).cast("string").cast("binary")


def named(name: str) -> Column:
    """A field by its name, whatever characters it has."""
    return F.col("`" + name.replace("`", "``") + "`")
