"""Values of records as columns: JSON and Avro, by a schema.

A format turns a column of bytes into one of structs. Whatever can't be decoded becomes a struct
whose last field, `UNDECODABLE`, says why, or no struct at all. A column that the schema calls NOT
NULL has to be there.
"""

import json
from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.types import StringType, StructField, StructType

from barnabas.errors import InvalidArgument

UNDECODABLE = "_undecodable"

FormatName: TypeAlias = Literal["json", "avro"]


class ValueFormat(Protocol):
    """How values are decoded, and encoded for tests."""

    @property
    def fields(self) -> StructType:
        """The columns."""

    def parsed(self, value: Column) -> Column:
        """Structs of the columns and of `UNDECODABLE`."""

    def encode(self, row: Mapping[str, Any]) -> bytes:
        """A value that decodes to this row."""


def value_format(name: str, schema: str | StructType) -> ValueFormat:
    """A format by its name, and what its schema is written in."""
    if name == "json":
        return JsonValues(schema)
    if name == "avro":
        from barnabas.spark.pipelines.avro import AvroValues

        if not isinstance(schema, str):
            raise InvalidArgument("a schema of Avro is its JSON, or the path of an .avsc file")
        return AvroValues(_avro_text(schema))
    raise InvalidArgument(f'format={name!r} is unknown: it is "json" or "avro"')


def _avro_text(schema: str) -> str:
    if schema.lstrip().startswith(("{", '"')):
        return schema
    try:
        return Path(schema).read_text("utf-8")
    except OSError as error:
        raise InvalidArgument(f"the Avro schema can't be read: {error}") from error


class JsonValues:
    """JSON objects; a schema is Spark's DDL, as in `"page STRING NOT NULL, at TIMESTAMP"`.

    Members that the schema does not have are passed over; one of another type makes the value
    undecodable, and so do bytes that are no UTF-8.
    """

    def __init__(self, schema: str | StructType) -> None:
        self._schema = schema

    @property
    def fields(self) -> StructType:
        if isinstance(self._schema, StructType):
            return self._schema
        fields = StructType.fromDDL(self._schema)
        if not isinstance(fields, StructType):
            raise InvalidArgument(f"the schema {self._schema!r} names no columns")
        return fields

    def parsed(self, value: Column) -> Column:
        with_reason = StructType([*self.fields.fields, StructField(UNDECODABLE, StringType())])
        options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": UNDECODABLE}
        # Other bytes would be read as replacement characters.
        return F.when(
            F.is_valid_utf8(value), F.from_json(value.cast("string"), with_reason, options)
        )

    def encode(self, row: Mapping[str, Any]) -> bytes:
        return json.dumps(dict(row), default=_json_value).encode()


def _json_value(value: object) -> Any:
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).isoformat()
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return float(value)
    raise TypeError(f"{value!r} is nothing that JSON has")
