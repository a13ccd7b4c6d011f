"""Values to columns, as tests do it."""

import io
import json
from collections.abc import Sequence
from typing import Any

import fastavro
import numpy as np
import pyarrow as pa
import pytest

from barnabas.formats.arrow import avro_kernel
from barnabas.formats.arrow.avro_columns import Path
from barnabas.formats.arrow.avro_decoder import AvroDecoder
from barnabas.formats.arrow.decoded import Decoded
from barnabas.schemas.avro.parser import AvroParser
from barnabas.schemas.avro.types import AvroType

WAYS = [
    pytest.param(
        "kernel",
        marks=pytest.mark.skipif(avro_kernel.kernel is None, reason="the kernel is not compiled"),
    ),
    "python",
]


def parsed(schema: Any) -> AvroType:
    return AvroParser().parse(json.dumps(schema))


def written(schema: Any, value: Any) -> bytes:
    target = io.BytesIO()
    fastavro.schemaless_writer(target, fastavro.parse_schema(schema), value)
    return target.getvalue()


def record(*fields: Any, name: str = "R") -> dict[str, Any]:
    return {
        "type": "record",
        "name": name,
        "fields": [
            each if _is_field(each) else {"name": f"f{n}", "type": each}
            for n, each in enumerate(fields)
        ],
    }


def decode(
    reader: Any,
    values: Sequence[tuple[Any, bytes | None]],
    used: Sequence[Path] | None = None,
    *,
    is_lenient: bool = False,
) -> Decoded:
    """Values with the schemas that they were written with, in the middle of an array."""

    def uses(path: Path) -> bool:
        return used is None or any(path[: len(each)] == each[: len(path)] for each in used)

    decoder = AvroDecoder(parsed(reader), uses, is_lenient=is_lenient)
    numbers: dict[str, int] = {}
    for schema, _ in values:
        if json.dumps(schema) not in numbers:
            numbers[json.dumps(schema)] = decoder.add(parsed(schema))
    array = pa.array([b"before", *(each for _, each in values), b"after"], pa.binary())[1:-1]
    schemas = np.array([numbers[json.dumps(schema)] for schema, _ in values], np.int32)
    found = decoder.decode(array, schemas)
    for each in found.columns:
        each.validate(full=True)
    return found


def rows(reader: Any, found: Decoded) -> list[dict[str, Any]]:
    names = [each["name"] for each in reader["fields"]]
    columns = [each.to_pylist() for each in found.columns]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def _is_field(given: Any) -> bool:
    """Rather than a type."""
    return (
        isinstance(given, dict)
        and "name" in given
        and given["type"] not in ("record", "enum", "fixed")
    )
