"""Reads with `option("schema", "registry")`: columns from a schema registry.

schema       "registry"
registry     its URL, by default that in `BARNABAS_REGISTRY`
subject      where the schemas are, by default TOPIC-value
undecodable  "fail" (the default), or "skip" for rows of the other records
"""

from collections.abc import Mapping
from typing import cast

from pyspark.sql.types import StructType

from barnabas.errors import InvalidArgument, ValidationFailed
from barnabas.formats.arrow.avro_columns import NoColumnError
from barnabas.spark.decoding.avro_decoder import avro_reader_of, spark_fields
from barnabas.spark.decoding.decoding import Decoding
from barnabas.spark.decoding.registered_schemas import (
    REGISTRY,
    registry_address,
    registry_at,
    schemas_text,
)
from barnabas.spark.source.options import REGISTERED
from barnabas.spark.source.record_decoding import RecordDecoding, Undecodable


def is_registered(options: Mapping[str, str]) -> bool:
    """Whether the columns of a read come from a registry. Raises `InvalidArgument`."""
    schema = options.get("schema")
    if schema is None:
        for name in REGISTERED:
            if name in options:
                raise InvalidArgument(f'{name} needs option("schema", "{REGISTRY}")')
        return False
    if schema != REGISTRY:
        raise InvalidArgument(
            f'option("schema", {schema!r}): use "{REGISTRY}", or .schema(...) to choose columns'
        )
    return True


def registered_columns(options: Mapping[str, str]) -> StructType:
    """The columns of the latest version. Raises `InvalidArgument`."""
    return _decoding(options).columns


def registered_decoding(options: Mapping[str, str], schema: StructType) -> RecordDecoding:
    """How values are decoded into columns: all, or some of them in their order."""
    whole = _decoding(options)
    known = whole.columns
    wanted = set(schema.names)
    if [each.name for each in known.fields if each.name in wanted] != schema.names or any(
        each.dataType != known[each.name].dataType for each in schema.fields
    ):
        raise InvalidArgument(
            f"the columns {schema.simpleString()} are not those of the registered schema, in its "
            f"order: {known.simpleString()}"
        )
    undecodable = options.get("undecodable", "fail")
    if undecodable not in ("fail", "skip"):
        raise InvalidArgument(f"undecodable is fail or skip, not {undecodable!r}")
    decoding = RecordDecoding(whole, undecodable=cast("Undecodable", undecodable))
    return decoding.using([(name,) for name in schema.names]) if wanted else decoding


def _decoding(options: Mapping[str, str]) -> Decoding:
    address = registry_address(options.get("registry"), f'option("schema", "{REGISTRY}")')
    topic = options.get("subscribe", "")
    subject = options.get("subject") or (f"{topic}-value" if topic and "," not in topic else None)
    if subject is None:
        raise InvalidArgument(
            'several topics, or none by its name: option("subject", ...) says which has the schemas'
        )
    latest = registry_at(address).latest(subject).schema
    definition = schemas_text([latest])
    try:
        fields = spark_fields(avro_reader_of(definition), is_lenient=True)
    except (NoColumnError, ValidationFailed) as error:
        raise InvalidArgument(f"schema {latest.id}: {error}") from None
    return Decoding("avro", fields, definition, registry=address)
