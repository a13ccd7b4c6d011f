"""How values are to be decoded, in a form that reaches the workers of Spark."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self, TypeAlias

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from barnabas.formats.registered.address import RegistryAddress

FormatName: TypeAlias = Literal["json", "avro", "protobuf"]
Path: TypeAlias = tuple[str, ...]


@dataclass(frozen=True)
class Decoding:
    """A format, a schema, and what is used of it."""

    format: FormatName
    fields: StructType
    """All columns; one that is not nullable has to be there."""
    definition: str = ""
    """The schema that values were written with, for formats that need it."""
    time_zone: str = "UTC"
    """Where times without a zone are."""
    registry: RegistryAddress | None = None
    """Where the schemas are that values begin with the ids of. Then `definition` has the versions
    whose columns these are, the newest last (`registered_schemas`)."""
    used: tuple[Path, ...] | None = None
    """Columns, and fields inside of them, that are built. The others are checked only; fields that
    are not used are null. None: all are used."""

    @property
    def columns(self) -> StructType:
        """The columns that are built. They may be null: a record need not have a value."""
        return StructType(
            [
                type(each)(each.name, each.dataType, True, each.metadata)
                for each in self.fields.fields
                if self.uses((each.name,))
            ]
        )

    @property
    def arrow_schema(self) -> pa.Schema:
        return to_arrow_schema(self.columns, timezone="UTC")

    def uses(self, path: Path) -> bool:
        """Whether a column or field is built: it, something around it, or something in it."""
        if self.used is None:
            return True
        return any(path[: len(each)] == each[: len(path)] for each in self.used)

    def as_json(self) -> dict[str, Any]:
        return {
            "format": self.format,
            "fields": self.fields.jsonValue(),
            "definition": self.definition,
            "time_zone": self.time_zone,
            "registry": self.registry,
            "used": self.used,
        }

    @classmethod
    def from_json(cls, found: dict[str, Any]) -> Self:
        used: Sequence[Sequence[str]] | None = found["used"]
        registry = found["registry"]
        return cls(
            found["format"],
            StructType.fromJson(found["fields"]),
            found["definition"],
            found["time_zone"],
            None if registry is None else RegistryAddress(*registry),
            None if used is None else tuple(tuple(each) for each in used),
        )

    def __hash__(self) -> int:
        return hash(json.dumps(self.as_json()))
