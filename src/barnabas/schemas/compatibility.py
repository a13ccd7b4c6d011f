"""Whether a new schema may follow earlier versions."""

from collections.abc import Sequence
from enum import StrEnum

from barnabas.schemas.avro.compatibility import avro_findings
from barnabas.schemas.avro.parsed import ParsedAvro
from barnabas.schemas.check_time import CheckTime
from barnabas.schemas.incompatibility import Incompatibility
from barnabas.schemas.json_schema.compatibility import json_findings
from barnabas.schemas.json_schema.parsed import ParsedJsonSchema
from barnabas.schemas.parsing import ParsedSchema
from barnabas.schemas.protobuf.compatibility import protobuf_findings
from barnabas.schemas.protobuf.parsed import ParsedProtobuf


class Compatibility(StrEnum):
    """What a subject promises to its readers and writers."""

    NONE = "NONE"
    BACKWARD = "BACKWARD"
    BACKWARD_TRANSITIVE = "BACKWARD_TRANSITIVE"
    FORWARD = "FORWARD"
    FORWARD_TRANSITIVE = "FORWARD_TRANSITIVE"
    FULL = "FULL"
    FULL_TRANSITIVE = "FULL_TRANSITIVE"

    @property
    def is_transitive(self) -> bool:
        """Compares with all earlier versions rather than the latest."""
        return self.value.endswith("_TRANSITIVE")

    @property
    def reads_old(self) -> bool:
        """The new schema reads what was written with earlier versions."""
        return self.value.startswith(("BACKWARD", "FULL"))

    @property
    def is_read_by_old(self) -> bool:
        """Earlier versions read what is written with the new schema."""
        return self.value.startswith(("FORWARD", "FULL"))


def findings(
    reader: ParsedSchema, writer: ParsedSchema, time: CheckTime | None = None
) -> list[Incompatibility]:
    """Why `reader` can't read what was written with `writer`; empty if it can.

    Raises InvalidSchemaError if that takes longer than `time` allows.
    """
    time = time or CheckTime()
    if isinstance(reader, ParsedAvro) and isinstance(writer, ParsedAvro):
        return avro_findings(reader.type, writer.type, time)
    if isinstance(reader, ParsedProtobuf) and isinstance(writer, ParsedProtobuf):
        return protobuf_findings(reader.file, reader.types, writer.file, writer.types)
    if isinstance(reader, ParsedJsonSchema) and isinstance(writer, ParsedJsonSchema):
        return json_findings(reader.documents, writer.documents, time)
    old, new = writer.schema.kind, reader.schema.kind
    message = f"the schema is {new}, and {old} was written; use another subject"
    return [Incompatibility("SCHEMA_TYPE_CHANGED", "/", "", message, old, new)]


def check(
    new: ParsedSchema,
    earlier: Sequence[tuple[int | None, ParsedSchema]],
    level: Compatibility,
    time: CheckTime | None = None,
) -> list[Incompatibility]:
    """Findings that forbid `new` as the next version; empty if it may follow.

    `earlier` are the versions of the subject, oldest first, with their numbers if they have any.
    Findings of the latest version come first. Raises InvalidSchemaError if it takes longer
    than `time` allows.
    """
    compared = earlier if level.is_transitive else earlier[-1:]
    found: list[Incompatibility] = []
    time = time or CheckTime()
    for version, old in reversed(compared):
        if level.reads_old:
            found += [each.against(version) for each in findings(new, old, time)]
        if level.is_read_by_old:
            by_old = findings(old, new, time)
            found += [each.against(version, by_earlier=True) for each in by_old]
    return found
