"""Files of an object store as a stream of rows: lines are decoded by Spark, as those of files."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.types import AtomicType, StructField, StructType

from barnabas.errors import InvalidArgument
from barnabas.object_store import ObjectStore
from barnabas.spark.pipelines.environment import Environment
from barnabas.spark.pipelines.errors.source_errors import SourceError, part_of_source
from barnabas.spark.pipelines.expectations.expectation import Expectation
from barnabas.spark.pipelines.formats.json_values import JsonValues
from barnabas.spark.pipelines.objects.object_files import FOLDERS, LINES, VALUE, ObjectFiles
from barnabas.spark.pipelines.sources.connector import ConnectorSource
from barnabas.spark.pipelines.sources.record_schema import schema_problems

_FORMATS = ("json", "csv", "parquet", "text")
_DECODED = ("json", "csv")
_OF_FILES = ("maxfilespertrigger", "pathglobfilter")
_OF_BOTH = (
    "columnnameofcorruptrecord",
    "dateformat",
    "enabledatetimeparsingfallback",
    "locale",
    "mode",
    "timestampformat",
    "timestampntzformat",
    "timezone",
)
_OF_DECODING = {
    "json": (
        *_OF_BOTH,
        "allowbackslashescapinganycharacter",
        "allowcomments",
        "allownonnumericnumbers",
        "allownumericleadingzeros",
        "allowsinglequotes",
        "allowunquotedcontrolchars",
        "allowunquotedfieldnames",
    ),
    "csv": (
        *_OF_BOTH,
        "chartoescapequoteescaping",
        "comment",
        "delimiter",
        "emptyvalue",
        "escape",
        "header",
        "ignoreleadingwhitespace",
        "ignoretrailingwhitespace",
        "maxcharspercolumn",
        "maxcolumns",
        "nanvalue",
        "negativeinf",
        "nullvalue",
        "positiveinf",
        "quote",
        "sep",
        "unescapedquotehandling",
    ),
}
"""Options of Spark for decoding lines. Its options for reading files would have no effect."""


@dataclass(frozen=True)
class ObjectFilesSource(ConnectorSource):
    """Files in an object store. See `from_files`."""

    rows_schema: str | StructType = ""
    options: Mapping[str, str] = field(default_factory=dict)
    """Options of Spark for decoding lines."""

    @property
    def places(self) -> tuple[tuple[str, str], ...]:
        return (("files", self._files.store.description),)

    @property
    def _files(self) -> ObjectFiles:
        assert isinstance(self.connector, ObjectFiles)
        return self.connector

    def load(self, environment: Environment) -> DataFrame:
        with part_of_source("schema"):
            fields = self.fed_fields()
        is_parquet = self._files.format == "parquet"
        reads = replace(
            self._files, fields=fields if is_parquet else LINES, columns=tuple(fields.names)
        )
        return super(ObjectFilesSource, replace(self, connector=reads)).load(environment)

    def shaped(self, rows: DataFrame) -> DataFrame:
        kind = self._files.format
        fields = self.fed_fields()
        if kind in _DECODED:
            decode = F.from_json if kind == "json" else F.from_csv
            schema: Any = fields if kind == "json" else _ddl(fields)
            row = decode(F.col(VALUE), schema, dict(self.options))
            rows = rows.select(row.alias("row"), FOLDERS).select("row.*", FOLDERS)
        return rows.select(*(_or_folder(each, rows.columns) for each in fields))

    def problems(self) -> Iterator[SourceError]:
        yield from schema_problems("files", self.rows_schema)

    def fed_fields(self) -> StructType:
        return JsonValues(self.rows_schema).fields


def object_files(
    path: str,
    schema: str | StructType,
    format: str,  # noqa: A002 - Spark's word for it
    watermark: str | None,
    options: Mapping[str, str],
    expect: tuple[Expectation, ...],
) -> ObjectFilesSource:
    """The source for a URL of an object store; raises `InvalidArgument`."""
    if format not in _FORMATS:
        raise InvalidArgument(
            f"format {format!r}: of an object store {', '.join(_FORMATS)} can be read"
        )
    given = {name.lower(): (name, value) for name, value in options.items()}
    known = (*_OF_FILES, *_OF_DECODING.get(format, ()))
    for lower, (name, _) in given.items():
        if lower not in known:
            raise InvalidArgument(f"{name} is not supported for {format} files of an object store")
    glob = given.get("pathglobfilter", ("", "*"))[1]
    if "{" in glob or "[^" in glob:
        raise InvalidArgument(f"pathGlobFilter {glob!r}: use *, ? and [...] there")
    store = ObjectStore(path)
    store.check()
    limit = given.get("maxfilespertrigger", ("", "1000"))[1]
    if not limit.isdecimal() or not int(limit):
        raise InvalidArgument(f"maxFilesPerTrigger is 1 or more, not {limit!r}")
    files = ObjectFiles(
        store,
        schema,
        format,
        int(limit),
        glob=glob,
        header=format == "csv" and given.get("header", ("", "false"))[1].lower() == "true",
        separator=given.get("sep", given.get("delimiter", ("", ",")))[1],
    )
    decoding = {
        name: value for lower, (name, value) in given.items() if lower not in (*_OF_FILES, "header")
    }
    return ObjectFilesSource(files, watermark, expect, schema, decoding)


def _or_folder(field: StructField, columns: Sequence[str]) -> Column:
    """A column: of the folder if it has one of that name, as Spark has it, else of the file."""
    given = F.col(f"`{field.name}`") if field.name in columns else F.lit(None)
    if not isinstance(field.dataType, AtomicType):
        return given.alias(field.name)
    folders, name = F.col(FOLDERS), F.lit(field.name.lower())
    value = F.try_element_at(folders, name).cast(field.dataType)
    has_it = F.coalesce(F.map_contains_key(folders, field.name.lower()), F.lit(False))
    return F.when(has_it, value).otherwise(given.cast(field.dataType)).alias(field.name)


def _ddl(fields: StructType) -> str:
    return ", ".join(f"`{each.name}` {each.dataType.simpleString()}" for each in fields.fields)
