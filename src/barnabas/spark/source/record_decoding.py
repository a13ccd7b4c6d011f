"""Records of a topic as rows whose values are decoded: what a reader is told, and what it does.

Rows have the requested columns of the record, each named with a prefix, and those of the value. A
record that can't be decoded is handled in one of these ways:

    fail    the query fails, with an error that names the record
    skip    it is left out
    only    only such records are rows: the record, and a column `reason`

With `letters`, the records go to a dead-letter topic: those of an Arrow batch are there for good
before its rows are given to Spark. With a `condition`, rows that do not meet it may be left out.
"""

import json
import pickle
from base64 import b64decode, b64encode
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Self, TypeAlias

import numpy as np
import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StringType, StructField, StructType

from barnabas.records.columns.schema import OFFSET, PARTITION, TOPIC, VALUE
from barnabas.spark.dead_letters.dead_record import COLUMNS, REASON, dead_records
from barnabas.spark.dead_letters.letter_target import Letters, LetterTarget
from barnabas.spark.decoding.decoded import Decoded
from barnabas.spark.decoding.decoders import decoder_of
from barnabas.spark.decoding.decoding import Decoding, Path
from barnabas.spark.source.range_reader import Form
from barnabas.spark.source.row_condition import (
    Condition,
    condition_from_json,
    without_unwanted,
)
from barnabas.spark.source.schema import ArrowForm, schema_of

PREFIX = "record:"
"""Prefix of the record's columns: a value may have columns of the same names."""

_PLACE = (TOPIC, PARTITION, OFFSET)

Undecodable: TypeAlias = Literal["fail", "skip", "only"]


class UndecodableValue(Exception):  # noqa: N818 - its name says what is wrong
    """A record can't be decoded, and must not be skipped."""


@dataclass(frozen=True)
class RecordDecoding:
    """What a reader does with records."""

    values: Decoding
    record: tuple[str, ...] = ()
    """Columns of the record that rows have."""
    undecodable: Undecodable = "fail"
    letters: LetterTarget | None = None
    condition: Condition | None = None

    @property
    def schema(self) -> StructType:
        """Of the rows."""
        of_record = schema_of(headers=True)
        if self.undecodable == "only":
            found = [of_record[name] for name in COLUMNS]
            return StructType([*found, StructField(REASON, StringType())])
        kept = [StructField(PREFIX + name, of_record[name].dataType) for name in self.record]
        return StructType([*kept, *self.values.columns.fields])

    def using(self, paths: Collection[Path] | None, condition: Condition | None = None) -> Self:
        """The same, with only these columns of its schema, and fields of them; None: all.

        Rows that do not meet the condition may be left out.
        """
        lean = replace(self, condition=condition)
        if paths is None:
            return lean
        found = {path[0].removeprefix(PREFIX) for path in paths if path[0].startswith(PREFIX)}
        used = tuple(path for path in paths if not path[0].startswith(PREFIX))
        record = tuple(each for each in self.record if each in found)
        if not record and not used:  # rows are counted by a column
            record = (PARTITION,)
        return replace(lean, values=replace(self.values, used=used), record=record)

    def covers(self, paths: Collection[Path] | None, condition: Condition | None = None) -> bool:
        """Whether all of these columns and fields are made, for all rows that meet a condition."""
        if self.undecodable == "only":
            return True
        if self.condition is not None and self.condition != condition:
            return False
        if paths is None:
            return self.values.used is None
        made: set[Path] = {(PREFIX + name,) for name in self.record}
        made |= set(self.values.used or ())
        if self.values.used is None:
            made |= {(name,) for name in self.values.fields.names}
        return all(any(path[: len(each)] == each for each in made) for path in paths)

    def option(self) -> str:
        return json.dumps(
            {
                "values": self.values.as_json(),
                "record": self.record,
                "undecodable": self.undecodable,
                "letters": b64encode(pickle.dumps(self.letters)).decode(),
                "condition": self.condition,
            }
        )

    @classmethod
    def from_option(cls, text: str) -> Self:
        found = json.loads(text)
        condition = found["condition"]
        return cls(
            Decoding.from_json(found["values"]),
            tuple(found["record"]),
            found["undecodable"],
            pickle.loads(b64decode(found["letters"])),  # noqa: S301 - as Spark sends a closure
            None if condition is None else condition_from_json(condition),
        )


class DecodedForm:
    """Turns tables of records into record batches of decoded rows, in a worker."""

    def __init__(self, decoding: RecordDecoding) -> None:
        self._decoding = decoding
        self._decoder = decoder_of(decoding.values)
        self._schema: pa.Schema = to_arrow_schema(decoding.schema, timezone="UTC")
        self._letters: Letters | None = None
        wanted = [*decoding.record, VALUE]
        if decoding.undecodable == "only" or decoding.letters is not None:
            wanted += COLUMNS
        elif decoding.undecodable == "fail":
            wanted += _PLACE
        self.columns = list(dict.fromkeys(wanted))
        """Columns of records that are needed."""

    def batches(self, table: pa.Table) -> Iterator[pa.RecordBatch]:
        for records in table.to_batches():
            if records.num_rows:
                yield from self._rows(records)

    def _rows(self, records: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        decoded = self._decoder.decode(records.column(VALUE))
        kept = records
        if decoded.dead:
            self._set_aside(records, decoded)
            is_alive = np.ones(records.num_rows, bool)
            is_alive[list(decoded.dead)] = False
            kept = records.filter(pa.array(is_alive))
        if self._decoding.undecodable == "only":
            if decoded.dead:
                dead = records.take(pa.array(decoded.dead, pa.int64()))
                arrays = [dead.column(name) for name in COLUMNS]
                yield self._batch([*arrays, pa.array(decoded.reasons, pa.string())])
        elif kept.num_rows:
            of_record = [kept.column(name) for name in self._decoding.record]
            rows = self._batch([*of_record, *decoded.columns])
            if self._decoding.condition is not None:
                rows = without_unwanted(rows, self._decoding.condition)
            if rows.num_rows:
                yield rows

    def _set_aside(self, records: pa.RecordBatch, decoded: Decoded) -> None:
        target = self._decoding.letters
        if target is not None:
            if self._letters is None:
                self._letters = target.open()
            dead = records.take(pa.array(decoded.dead, pa.int64())).select(list(COLUMNS))
            reasons = pa.array(decoded.reasons, pa.string())
            self._letters.take(dead_records(dead.append_column(REASON, reasons).to_pylist()))
            self._letters.flush()
        elif self._decoding.undecodable == "fail":
            first = decoded.dead[0]
            topic, partition, offset = (records.column(name)[first].as_py() for name in _PLACE)
            raise UndecodableValue(
                f"the record {topic}:{partition}@{offset} can't be decoded: {decoded.reasons[0]}"
            )

    def _batch(self, arrays: Sequence[pa.Array]) -> pa.RecordBatch:
        fitting = [
            array if array.type == field.type else array.cast(field.type)
            for array, field in zip(arrays, self._schema, strict=True)
        ]
        return pa.RecordBatch.from_arrays(fitting, schema=self._schema)


def form_of(schema: StructType, decoding: RecordDecoding | None) -> Form:
    """What makes rows of records, in a worker."""
    return ArrowForm(schema) if decoding is None else DecodedForm(decoding)
