"""Rows as columns, for values that are decoded one at a time."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from barnabas.spark.decoding.decoding import Decoding, Path


def columns_of(rows: Sequence[Mapping[str, Any] | None], decoding: Decoding) -> list[pa.Array]:
    """The columns that are used, of rows as dicts; no row at all is one of nulls."""
    arrays = []
    for field, arrow in zip(decoding.columns.fields, decoding.arrow_schema, strict=True):
        column = [None if row is None else row.get(field.name) for row in rows]
        if decoding.used is not None:
            column = [_pruned(each, field.dataType, (field.name,), decoding) for each in column]
        arrays.append(pa.array(column, arrow.type))
    return arrays


def _pruned(value: Any, of_type: DataType, path: Path, decoding: Decoding) -> Any:
    """The value without what is not used of it."""
    if value is None:
        return None
    match of_type:
        case StructType():
            return {
                each.name: _pruned(
                    value.get(each.name), each.dataType, (*path, each.name), decoding
                )
                for each in of_type.fields
                if decoding.uses((*path, each.name))
            }
        case ArrayType():
            return [_pruned(each, of_type.elementType, path, decoding) for each in value]
        case MapType():
            items = value.items() if isinstance(value, Mapping) else value
            return [
                (name, _pruned(each, of_type.valueType, path, decoding)) for name, each in items
            ]
    return value
