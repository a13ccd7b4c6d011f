"""Avro values to Arrow columns, next to fastavro.

Orders of about 60 B with seven fields, written with one version of their schema and read into the
next one, which has a new field: M values a CPU second. Compared are our decoder with the compiled
kernel and without it, and fastavro, which makes dicts of which Arrow makes columns.
"""

import io
import json
import time
from collections.abc import Callable
from unittest.mock import patch

import fastavro
import numpy as np
import pyarrow as pa

from barnabas.formats.arrow import avro_kernel
from barnabas.formats.arrow.avro_decoder import AvroDecoder
from barnabas.schemas.avro.parser import AvroParser
from benchmarks.bench import KERNEL, OBJECTS, WITHOUT, Bench, Row

_FIELDS = """
{"name": "id", "type": "long"}, {"name": "customer", "type": "string"},
{"name": "amount", "type": "double"},
{"name": "currency", "type": {"type": "enum", "name": "Currency", "symbols": ["EUR", "USD"]}},
{"name": "note", "type": ["null", "string"], "default": null},
{"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
{"name": "tags", "type": {"type": "array", "items": "string"}}
"""
_NEW = ', {"name": "country", "type": "string", "default": "de"}'
WRITER = f'{{"type": "record", "name": "Order", "fields": [{_FIELDS}]}}'
READER = f'{{"type": "record", "name": "Order", "fields": [{_FIELDS}{_NEW}]}}'


def measure(bench: Bench) -> list[Row]:
    values = pa.array(orders(2_000 if bench.quick else 20_000), pa.binary())
    rounds = 3 if bench.quick else 10
    found: dict[str, float] = {}
    if avro_kernel.kernel is not None:
        found[KERNEL] = _per_second(_ours(values), len(values), rounds)
    with patch.object(avro_kernel, "kernel", None):
        found[WITHOUT] = _per_second(_ours(values), len(values), rounds)
    found[OBJECTS] = _per_second(_fastavro(values), len(values), rounds)
    return [Row("Avro to columns (objects: fastavro)", "M/CPU s", found)]


def orders(count: int) -> list[bytes]:
    schema = fastavro.parse_schema(json.loads(WRITER))
    return [_written(schema, number) for number in range(count)]


def _written(schema: object, number: int) -> bytes:
    target = io.BytesIO()
    row = {
        "id": number,
        "customer": f"customer-{number % 100}",
        "amount": number / 7,
        "currency": "EUR",
        "note": None if number % 3 else "call before delivery",
        "at": 1_700_000_000_000 + number,
        "tags": ["new", "gift"],
    }
    fastavro.schemaless_writer(target, schema, row)  # type: ignore[arg-type]
    return target.getvalue()


def _ours(values: pa.Array) -> Callable[[], object]:
    decoder = AvroDecoder(AvroParser().parse(READER))
    schemas = np.full(len(values), decoder.add(AvroParser().parse(WRITER)), np.int32)
    return lambda: decoder.decode(values, schemas)


def _fastavro(values: pa.Array) -> Callable[[], object]:
    writer = fastavro.parse_schema(json.loads(WRITER))
    reader = fastavro.parse_schema(json.loads(READER))

    def decode() -> pa.Array:
        return pa.array(
            [
                fastavro.schemaless_reader(io.BytesIO(each), writer, reader)
                for each in values.to_pylist()
            ]
        )

    return decode


def _per_second(work: Callable[[], object], count: int, rounds: int) -> float:
    """Millions, in the best round: others disturb the rest."""
    return max(count / _used(work) for _ in range(rounds)) / 1e6


def _used(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began
