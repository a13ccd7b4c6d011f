"""JSON values as columns."""

import json
from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.types import StringType, StructField, StructType

from barnabas.errors import InvalidArgument
from barnabas.spark.decoding.decoding import Decoding
from barnabas.spark.decoding.json_decoder import unsupported_columns

UNDECODABLE = "_undecodable"
_WHITE_SPACE = " \t\r\n"
"""The JSON value for it."""
_END = "barnabas: the end"
"""A member that no value has."""
_EXCERPT_LENGTH = 100


class JsonValues:
    """JSON objects; a schema is Spark's DDL, as in `"page STRING NOT NULL, at TIMESTAMP"`.

    Members that the schema does not have are ignored. A member of another type makes the value
    undecodable, and so do bytes that are not UTF-8, and anything but white space after the object.
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

    def decoding(self, time_zone: str) -> Decoding:
        return Decoding("json", self.fields, time_zone=time_zone)

    @property
    def needs_spark(self) -> bool:
        """Whether only Spark can decode them, as those of type VARIANT: see `record_decoder`."""
        return bool(unsupported_columns(self.fields))

    def parsed(self, value: Column) -> Column:
        """Structs of the columns and of `UNDECODABLE`, which is not NULL where there is no row."""
        text = value.cast("string")
        # Other bytes would be read as replacement characters.
        return F.when(
            F.is_valid_utf8(value) & _ends_with_its_object(text),
            _decoded(text, self.fields.fields),
        )

    def reason(self, value: Column) -> Column:
        """Why a value can't be decoded."""
        text = value.cast("string")
        fields = self.fields.fields
        given = _decoded(text, [StructField(each.name, StringType()) for each in fields])
        wrong = [
            F.when(
                _decoded(text, [each])[UNDECODABLE].isNotNull(),
                F.concat(
                    F.lit(f"{each.name} is not {each.dataType.simpleString().upper()}: "),
                    _excerpt(given[each.name]),
                ),
            )
            for each in fields
        ]
        return (
            F.when(~F.is_valid_utf8(value), F.lit("the value is not UTF-8"))
            .when(given.isNull(), F.lit("the value is empty"))
            .when(
                given[UNDECODABLE].isNotNull(),
                F.concat(F.lit("the value is not a JSON object: "), _excerpt(text)),
            )
            .when(
                F.coalesce(_ends_with_its_object(text), F.lit(False)),
                F.concat_ws("; ", *wrong),
            )
            .otherwise(F.concat(F.lit("there is more after the JSON object: "), _excerpt(text)))
        )

    def encode(self, row: Mapping[str, Any]) -> bytes:
        return json.dumps(dict(row), default=_json_value).encode()


def _decoded(text: Column, fields: list[StructField]) -> Column:
    columns = StructType([*fields, StructField(UNDECODABLE, StringType())])
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": UNDECODABLE}
    return F.from_json(text, columns, options)


def _excerpt(text: Column) -> Column:
    return F.substring(text, 1, _EXCERPT_LENGTH)


def _ends_with_its_object(text: Column) -> Column:
    """Whether an object is all there is: `from_json` reads one and passes over what follows it.

    If the only closing brace is the last character, it closes the object: no parsing is needed. If
    there are more, the text is put into an array with another element after it, which is found
    only if there is nothing in between; members are skipped.
    """
    only_brace_is_last = F.instr(text, F.lit("}")) == F.length(F.rtrim(text, F.lit(_WHITE_SPACE)))
    array = F.concat(F.lit("["), text, F.lit(f',{{"{_END}": true}}]'))
    elements = F.from_json(array, f"array<struct<`{_END}`: boolean>>")
    return only_brace_is_last | F.get(elements, F.lit(1))[_END]


def _json_value(value: object) -> Any:
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).isoformat()
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return float(value)
    raise TypeError(f"JSON has no type for {value!r}")
