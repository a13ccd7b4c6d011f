"""Rows as Avro values with a registered schema.

Which schema, and whether the rows can be written with it, is decided before the query starts. So an
incompatible change fails then, and not at the first record.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from barnabas.errors import (
    BarnabasError,
    InvalidArgument,
    RegistryUnreachable,
    ValidationFailed,
)
from barnabas.formats.arrow.avro_encoder import avro_encoder
from barnabas.formats.arrow.avro_schema import avro_schema_of
from barnabas.formats.arrow.registered_avro import avro_type
from barnabas.formats.registered.address import RegistryAddress
from barnabas.formats.registered.registry import Registry, SubjectVersion
from barnabas.formats.registered.schema import RegisteredSchema
from barnabas.formats.registered.wire_format import header


@dataclass(frozen=True)
class RegisteredRows:
    """How rows are written: with a schema that is given, that of their columns, or the latest."""

    address: RegistryAddress
    subject: str
    schema: str | None = None
    """JSON, or the path of an .avsc file."""
    register: bool = False
    """Whether a schema that is not registered is registered."""

    def value(self, rows: DataFrame, columns: Sequence[str]) -> Column:
        """These columns as a value. Raises `InvalidArgument` if they can't be written."""
        schema = StructType([rows.schema[name] for name in columns])
        kind = pa.struct(list(to_arrow_schema(schema, timezone="UTC")))
        version = self.version(kind)
        try:
            avro_encoder(kind, avro_type(version.schema))
        except ValidationFailed as error:
            raise InvalidArgument(f"{error} ({_place(version)})") from None
        return encoder_udf(version)(F.struct(*(f"`{name}`" for name in columns)))

    def version(self, kind: pa.StructType | None = None) -> SubjectVersion:
        """What rows of these columns are written with. Raises `InvalidArgument`."""
        registry = Registry(
            self.address.url,
            certificates=self.address.certificates,
            timeout_s=self.address.timeout_s,
            register=self.register,
        )
        try:
            text = self._text(kind)
            if text is None:
                return registry.latest(self.subject)
            body: dict[str, Any] = {"schemaType": "AVRO", "schema": text}
            return registry.version_of(self.subject, body, "the rows")
        except (RegistryUnreachable, InvalidArgument):
            raise
        except ValidationFailed as error:
            raise InvalidArgument(str(error)) from None
        except BarnabasError as error:
            raise InvalidArgument(str(error)) from error

    def _text(self, kind: pa.StructType | None) -> str | None:
        if self.schema is not None:
            return avro_text(self.schema)
        if self.register and kind is not None:
            return json.dumps(avro_schema_of(kind, self.subject.removesuffix("-value")))
        return None


def avro_text(schema: str) -> str:
    """A schema that is given as JSON, or as a path. Raises `InvalidArgument`."""
    if schema.lstrip().startswith(("{", '"')):
        return schema
    try:
        return Path(schema).read_text("utf-8")
    except OSError as error:
        raise InvalidArgument(f"the Avro schema can't be read: {error}") from error


def encoder_udf(version: SubjectVersion) -> Callable[[Column], Column]:
    """Structs to values of this version."""
    encode = _encode(version.schema, _place(version))
    found: Callable[[Column], Column] = arrow_udf(encode, "binary")  # type: ignore[call-overload]
    return found


def _place(version: SubjectVersion) -> str:
    return f"version {version.number} of {version.subject}"


def _encode(
    schema: RegisteredSchema, place: str
) -> Callable[[Iterator[pa.Array]], Iterator[pa.Array]]:
    def encode(batches: Iterator[pa.Array]) -> Iterator[pa.Array]:
        start = header(schema.id)
        record = avro_type(schema)
        known: Callable[[pa.StructArray], list[bytes]] | None = None
        for batch in batches:
            try:
                known = known or avro_encoder(batch.type, record)
                yield pa.array([start + each for each in known(batch)], pa.binary())
            except ValidationFailed as error:
                raise ValidationFailed(error.field, f"{error.problem} ({place})") from None

    return encode
