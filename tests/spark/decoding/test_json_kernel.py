"""The kernel decodes what Python decodes, and reads and writes nothing that is not its own."""

import math
from array import array
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.types import LongType, StringType, StructField, StructType

from barnabas.spark.decoding import json_decoder, json_kernel
from barnabas.spark.decoding.decoded import Decoded
from barnabas.spark.decoding.decoding import Decoding, Path
from barnabas.spark.decoding.json_decoder import JsonDecoder
from tests.spark.decoding.random_json import RandomJson, corner_cases, corner_schema

pytestmark = pytest.mark.skipif(json_kernel.kernel is None, reason="the kernel is not compiled")

ZONES = ("UTC", "Europe/Paris", "America/New_York", "+05:30")
PAIR = StructType([StructField("id", LongType(), False), StructField("name", StringType())])


def both(decoding: Decoding, values: list[bytes | None]) -> tuple[Decoded, Decoded]:
    """By the kernel and without it; the values are in the middle of an array."""
    given = pa.array([b"before", *values, b"after"], pa.binary())[1:-1]
    compiled = JsonDecoder(decoding).decode(given)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_decoder.json_kernel, "kernel", None)
        return compiled, JsonDecoder(decoding).decode(given)


def plain(value: Any) -> Any:
    """Comparable: NaN is NaN, and 0.0 is not -0.0."""
    match value:
        case float():
            return "NaN" if math.isnan(value) else (value, math.copysign(1, value))
        case list() | tuple():
            return [plain(each) for each in value]
        case dict():
            return {name: plain(each) for name, each in value.items()}
    return value


def content(column: pa.Array) -> Any:
    try:
        return plain(column.to_pylist())
    except (OverflowError, ValueError):  # times that Python has not
        return str(column)


def check(decoding: Decoding, values: list[bytes | None]) -> None:
    compiled, python = both(decoding, values)
    assert dict(zip(compiled.dead, compiled.reasons, strict=True)) == dict(
        zip(python.dead, python.reasons, strict=True)
    )
    for one, other in zip(compiled.columns, python.columns, strict=True):
        one.validate(full=True)
        assert one.type == other.type
        assert one.equals(other) or content(one) == content(other)


@pytest.mark.parametrize("zone", ZONES)
def test_corner_cases_are_decided_the_same(zone: str) -> None:
    check(Decoding("json", corner_schema(), time_zone=zone), corner_cases())


@pytest.mark.parametrize("seed", range(60))
def test_random_values_are_decided_the_same(seed: int) -> None:
    made = RandomJson(seed)
    schema = made.schema()
    zone = made.random.choice(ZONES)
    values = [made.value(schema) for _ in range(60)]
    check(Decoding("json", schema, time_zone=zone), values)
    check(Decoding("json", schema, time_zone=zone, used=some_of(made, schema)), values)


def some_of(made: RandomJson, schema: StructType, around: Path = ()) -> tuple[Path, ...]:
    found: list[Path] = []
    for field in schema.fields:
        path = (*around, field.name)
        if made.random.random() < 0.4:
            found.append(path)
        elif isinstance(field.dataType, StructType):
            found += some_of(made, field.dataType, path)
    return tuple(found)


def test_most_values_are_usual() -> None:
    """The slow way is correct too: only this shows that the fast one is taken."""
    assert json_kernel.kernel is not None
    decoder = JsonDecoder(Decoding("json", PAIR))._kernel
    assert decoder is not None
    usual = [
        b'{"id": 1, "name": "a"}',
        b' {"name": "\\u00e4\\n", "id": -5 }\n',
        b'{"id":1,"x":[{}]}',
    ]
    usual += [b'{"id": 1, "name": {"a": [1.50, true]}}', '{"id": 1, "name": "ä"}'.encode()]
    odd = [b'{"id": 1, "id": 2}', b"{'id': 1}", b"{}", b'{"id": 1} x', b'{"id": "1"}', b""]
    found = decoder.decode(pa.array([*usual, *odd], pa.binary()))
    assert found.is_unusual.tolist() == [False] * len(usual) + [True] * len(odd)
    assert found.columns[1].to_pylist() == ["a", "ä\n", None, '{"a":[1.5,true]}', "ä"]


def plan(*children: Any) -> Any:
    assert json_kernel.kernel is not None
    return json_kernel.kernel.Plan((13, 1, 0, 0, b"", children), json_kernel.kernel.Memory)


def decode(made: Any, data: bytes, ends: list[int], **other: Any) -> Any:
    given = {"valid": None, "first": 0, "rows": len(ends) - 1} | other
    nothing = array("q")
    return made.decode(
        given["valid"], array("i", ends), array("B", data), given["first"], given["rows"],
        nothing, nothing, 0,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("ends", "other"),
    [
        ([0, 3], {}),
        ([-1, 2], {}),
        ([2, 1], {}),
        ([0, 2], {"rows": 2}),
        ([0, 2], {"rows": -1}),
        ([0, 2], {"first": 1}),
        ([0, 2], {"first": -1}),
        ([0] * 18, {"valid": b"\xff"}),
    ],
)
def test_arrays_that_can_not_be_are_refused(ends: list[int], other: dict[str, Any]) -> None:
    with pytest.raises((ValueError, MemoryError)):
        decode(plan(), b"{}", ends, **other)


def test_what_is_cut_off_anywhere_is_unusual() -> None:
    whole = '{"a": {"b": [1, -2.5e1, "ä\\u00e4", true, null]}, "c": "x"}'.encode()
    text = plan((7, 1, 0, 0, b"a", ()), (7, 1, 0, 0, b"c", ()))
    for size in range(len(whole)):
        unusual, _ = decode(text, whole[:size], [0, size])
        assert unusual == b"\1"
    assert decode(text, whole, [0, len(whole)])[0] == b"\1"  # an exponent, and \u in it
    plain_one = whole.replace(b"e1", b"").replace(b"\\u00e4", b"")
    assert decode(text, plain_one, [0, len(plain_one)])[0] == b"\0"


@pytest.mark.parametrize(
    "spec",
    [
        (99, 1, 0, 0, b"", ()),
        (14, 1, 0, 0, b"", ()),
        (15, 1, 0, 0, b"", ((4, 1, 0, 0, b"", ()), (4, 1, 0, 0, b"", ()))),
        (4, 1, 0, 0, b"", ((4, 1, 0, 0, b"", ()),)),
        (14, 0, 0, 0, b"", ((4, 1, 0, 0, b"", ()),)),
        (12, 1, 39, 0, b"", ()),
        "nothing",
    ],
)
def test_schemas_that_can_not_be_are_refused(spec: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        plan(spec)


def test_a_schema_that_is_too_deep_is_refused() -> None:
    spec: Any = (4, 1, 0, 0, b"", ())
    for _ in range(100):
        spec = (14, 1, 0, 0, b"", (spec,))
    with pytest.raises(ValueError, match="too deep"):
        plan(spec)


def test_deep_nesting_takes_no_stack() -> None:
    check(Decoding("json", PAIR), [b'{"id": 1, "x": ' + b"[" * 5_000_000, b"{" * 5_000_000])


def test_a_build_of_another_version_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_kernel, "INTERFACE", -1)
    assert json_kernel._load() is None
