"""Functions of columns for Avro with a schema registry, in Spark programs without pipelines."""

from collections.abc import Callable, Iterator
from typing import Any, Literal

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.pandas.types import to_arrow_type

from barnabas.errors import InvalidArgument
from barnabas.formats.registered.registry import Registry
from barnabas.spark.decoding.decoders import decoder_of
from barnabas.spark.decoding.decoding import Decoding
from barnabas.spark.decoding.registered_schemas import registry_address, registry_at
from barnabas.spark.pipelines.formats.registered import RegisteredValues
from barnabas.spark.pipelines.sinks.registered_rows import RegisteredRows, encoder_udf


def from_avro(
    column: Column | str,
    subject: str,
    *,
    registry: str | Registry | None = None,
    undecodable: Literal["fail", "null"] = "fail",
) -> Column:
    """Binary values with the id of a schema, as structs with the fields of the latest version.

    The schema is asked for now. Values of other versions are read into it. One that can't be is an
    error, or NULL with `undecodable="null"`.
    """
    if undecodable not in ("fail", "null"):
        raise InvalidArgument(f"undecodable is fail or null, not {undecodable!r}")
    address = registry_address(registry, "from_avro")
    values = RegisteredValues(address, [registry_at(address).latest(subject).schema])
    decoding = values.decoding("UTC")
    decode: Any = arrow_udf(  # type: ignore[call-overload]
        _decode(decoding, fails=undecodable == "fail"), decoding.columns
    )
    found: Column = decode(F.col(column) if isinstance(column, str) else column)
    return found


def to_avro(
    column: Column | str,
    subject: str,
    *,
    registry: str | Registry | None = None,
    schema: str | None = None,
    register: bool = False,
) -> Column:
    """A struct as binary values of the latest version of a subject, with the id of the schema.

    `schema` is JSON or the path of an .avsc file, and has to be registered already, unless
    `register=True` registers it. A struct that does not fit fails the query, which names the field.
    """
    if register and schema is None:
        raise InvalidArgument("register=True needs schema=")
    rows = RegisteredRows(registry_address(registry, "to_avro"), subject, schema, register)
    version = rows.version()
    return encoder_udf(version)(F.col(column) if isinstance(column, str) else column)


def _decode(
    decoding: Decoding, *, fails: bool
) -> Callable[[Iterator[pa.Array]], Iterator[pa.Array]]:
    def decode(batches: Iterator[pa.Array]) -> Iterator[pa.Array]:
        decoder = decoder_of(decoding)
        kind = to_arrow_type(decoding.columns, timezone="UTC")
        for batch in batches:
            values = batch.cast(pa.binary())
            found = decoder.decode(values)
            wrong = [
                reason
                for position, reason in zip(found.dead, found.reasons, strict=True)
                if values[position].is_valid
            ]
            if wrong and fails:
                raise ValueError(f"a value can't be decoded: {wrong[0]}")
            columns = [
                each if each.type == field.type else each.cast(field.type)
                for each, field in zip(found.columns, kind, strict=True)
            ]
            rows = pa.StructArray.from_arrays(columns, fields=list(kind))
            yield _in_place(rows, values, found.dead)

    return decode


def _in_place(rows: pa.StructArray, values: pa.Array, dead: Any) -> pa.Array:
    """A row for each value: NULL for what has none, or can't be decoded."""
    gone = set(dead)
    there = iter(range(len(rows)))
    places = [None if number in gone else next(there) for number in range(len(values))]
    kept = [
        place if is_valid else None
        for place, is_valid in zip(places, values.is_valid().to_pylist(), strict=True)
    ]
    return rows.take(pa.array(kept, pa.int64()))
