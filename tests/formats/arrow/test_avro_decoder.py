"""Avro to columns: the same as fastavro, with the kernel and without it, whatever the bytes are."""

import io
import math
from typing import Any
from uuid import UUID

import fastavro
import numpy as np
import pyarrow as pa
import pytest

from barnabas.formats.arrow import avro_kernel
from barnabas.formats.arrow.avro_columns import Path
from tests.formats.arrow.decoding import WAYS, decode, rows, written
from tests.formats.arrow.random_avro import RandomAvro


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "python":
        monkeypatch.setattr(avro_kernel, "kernel", None)
    return str(request.param)


def plain(value: Any) -> Any:
    """Comparable: maps are lists of pairs in Arrow, UUIDs texts."""
    match value:
        case float():
            return "NaN" if math.isnan(value) else value
        case UUID():
            return str(value)
        case dict():
            return {name: plain(each) for name, each in value.items()}
        case list() if value and all(isinstance(each, tuple) for each in value):
            return {name: plain(each) for name, each in value}
        case list():
            return [plain(each) for each in value] or {}
    return value


def expected(writer: Any, reader: Any, data: bytes) -> Any:
    found = fastavro.schemaless_reader(
        io.BytesIO(data), fastavro.parse_schema(writer), fastavro.parse_schema(reader)
    )
    return plain(_single(found, reader))


def _single(value: Any, kind: Any) -> Any:
    """A 32-bit float that was an integer: fastavro keeps the integer."""
    if isinstance(kind, list):
        return None if value is None else _single(value, kind[1])
    name = kind if isinstance(kind, str) else kind["type"]
    match name:
        case "float":
            return float(np.float32(value))
        case "double":
            return float(value)
        case "record":
            return {
                each["name"]: _single(value[each["name"]], each["type"]) for each in kind["fields"]
            }
        case "array":
            return [_single(each, kind["items"]) for each in value]
        case "map":
            return {key: _single(each, kind["values"]) for key, each in value.items()}
        case "bytes" if isinstance(value, str):  # a default
            return value.encode("latin-1")
    return value


@pytest.mark.parametrize("seed", range(80))
def test_several_versions_in_one_batch_are_read_as_fastavro_reads_them(seed: int, way: str) -> None:
    made = RandomAvro(seed)
    first = made.record()
    second = made.changed(first)
    reader = made.changed(second)
    values = []
    for _ in range(30):
        writer = made.random.choice([first, second, reader])
        values.append((writer, written(writer, made.value(writer))))
    found = decode(reader, values)
    assert not found.dead
    assert [plain(each) for each in rows(reader, found)] == [
        expected(writer, reader, data) for writer, data in values
    ]


@pytest.mark.skipif(avro_kernel.kernel is None, reason="the kernel is not compiled")
@pytest.mark.parametrize("seed", range(60))
def test_broken_values_are_refused_alike(seed: int) -> None:
    made = RandomAvro(1000 + seed)
    writer = made.record()
    reader = made.changed(writer) if made.random.random() < 0.7 else writer
    values: list[tuple[Any, bytes | None]] = [(writer, None)]
    for _ in range(40):
        data = bytearray(written(writer, made.value(writer)))
        for _ in range(made.random.choice([0, 1, 1, 3])):
            if data:
                data[made.random.randrange(len(data))] = made.random.choice(
                    [0, 1, 2, 127, 128, 255]
                )
        kind = made.random.random()
        if kind < 0.2:
            del data[made.random.randint(0, len(data)) :]
        elif kind < 0.3:
            data += made.random.randbytes(3)
        values.append((writer, bytes(data)))
    paths: list[Path] = [(each["name"],) for each in reader["fields"] if made.random.random() < 0.6]
    for used in (None, paths):
        compiled = decode(reader, values, used, is_lenient=bool(seed % 2))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(avro_kernel, "kernel", None)
            python = decode(reader, values, used, is_lenient=bool(seed % 2))
        assert list(compiled.dead) == list(python.dead)
        assert list(compiled.reasons) == list(python.reasons)
        for one, other in zip(compiled.columns, python.columns, strict=True):
            assert one.type == other.type
            assert one.equals(other) or str(one.to_pylist() if _fits(one) else one) == str(
                other.to_pylist() if _fits(other) else other
            )


def _fits(column: pa.Array) -> bool:
    """Times that Python does not have can't be listed."""
    try:
        column.to_pylist()
    except (OverflowError, ValueError):
        return False
    return True
