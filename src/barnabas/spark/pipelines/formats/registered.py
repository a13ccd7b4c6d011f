"""Values whose schemas a registry has: the columns of a source, from its subject."""

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql.types import StructType

from barnabas.errors import BarnabasError, InvalidArgument, ValidationFailed
from barnabas.formats.arrow.avro_columns import NoColumnError
from barnabas.formats.registered.address import RegistryAddress
from barnabas.formats.registered.parsed import avro_schema
from barnabas.formats.registered.registry import Registry
from barnabas.formats.registered.schema import RegisteredSchema
from barnabas.formats.registered.wire_format import header
from barnabas.spark.decoding.avro_decoder import avro_reader_of, spark_fields
from barnabas.spark.decoding.decoding import Decoding, FormatName
from barnabas.spark.decoding.registered_schemas import REGISTRY, registry_address, schemas_text
from barnabas.spark.pipelines.errors.source_errors import SourceError, part_of_source
from barnabas.spark.pipelines.kept_schemas import Evolve, KeptSchemas

_FORMATS: dict[str, FormatName] = {"AVRO": "avro"}


class RegisteredValues:
    """Values of any version of a subject, with the columns of those that the pipeline knows."""

    def __init__(self, address: RegistryAddress, schemas: Sequence[RegisteredSchema]) -> None:
        """`schemas`: the versions whose fields are columns, the newest last.

        Raises `InvalidArgument`.
        """
        self._address = address
        self._newest = schemas[-1]
        self._definition = schemas_text(schemas)
        self._format = _FORMATS.get(self._newest.kind)
        if self._format is None:
            raise InvalidArgument(
                f"schema {self._newest.id} is {self._newest.kind}: pipelines take their columns "
                f"from {' and '.join(_FORMATS)}"
            )
        try:
            self._fields = spark_fields(avro_reader_of(self._definition), is_lenient=True)
        except (NoColumnError, ValidationFailed) as error:
            raise InvalidArgument(f"schema {self._newest.id}: {error}") from None

    @property
    def fields(self) -> StructType:
        return self._fields

    @property
    def definition(self) -> str:
        return self._definition

    def decoding(self, time_zone: str) -> Decoding:
        assert self._format is not None
        return Decoding(
            self._format, self._fields, self._definition, time_zone, registry=self._address
        )

    def encode(self, row: Mapping[str, Any]) -> bytes:
        import fastavro

        known = avro_schema(self._newest)
        target = io.BytesIO()
        target.write(header(self._newest.id))
        fastavro.schemaless_writer(target, known.parsed, dict(row))
        return target.getvalue()


@dataclass(frozen=True)
class RegistrySource:
    """Where a source has its schemas: what stands behind `schema="registry"`."""

    address: RegistryAddress
    subject: str
    evolve: Evolve | None = None

    def values(self, kept: KeptSchemas, source: str | None) -> RegisteredValues:
        """The values of a source of a pipeline; errors name the schema as their place."""
        with part_of_source("schema"):
            try:
                schemas = kept.of(source or "", self.address, self.subject, self.evolve)
            except InvalidArgument:
                raise
            except BarnabasError as error:
                raise SourceError("schema", str(error)) from error
            return RegisteredValues(self.address, schemas)


def registry_source(
    topic: str,
    schema: str | StructType | None,
    registry: str | Registry | None,
    subject: str | None,
    evolve: Evolve | None,
    *,
    format: str = "json",  # noqa: A002 - as in from_topic
    pattern: bool = False,
) -> RegistrySource | None:
    """What the arguments of a source say; None without `schema="registry"`.

    Raises `InvalidArgument`.
    """
    if schema != REGISTRY:
        for name, value in (("registry", registry), ("subject", subject), ("evolve", evolve)):
            if value is not None:
                raise InvalidArgument(f'{name}= needs schema="{REGISTRY}"')
        return None
    if evolve not in (None, "add"):
        raise InvalidArgument(f'evolve={evolve!r}: use "add", or leave it out')
    if format not in ("json", "avro"):
        raise InvalidArgument(f"format={format!r}: the registry says of which format values are")
    if subject is None and (pattern or "," in topic):
        raise InvalidArgument(
            f'schema="{REGISTRY}" for several topics needs subject="…", which has their schemas'
        )
    return RegistrySource(registry_address(registry), subject or f"{topic}-value", evolve)
