"""The kernel reads and writes nothing that is not its own, whatever it is given."""

from array import array
from typing import Any

import numpy as np
import pytest

from barnabas.formats.arrow import avro_kernel
from barnabas.formats.arrow.avro_columns import avro_columns
from barnabas.formats.arrow.avro_program import Op, program_of
from tests.formats.arrow.decoding import decode as decoded
from tests.formats.arrow.decoding import parsed, record, written
from tests.formats.arrow.random_avro import RandomAvro

pytestmark = pytest.mark.skipif(avro_kernel.kernel is None, reason="the kernel is not compiled")

LONG, STRUCT = 4, 13
NUMBER = (LONG, 1, 0, 0, b"a", ())


def plan(*children: Any) -> Any:
    assert avro_kernel.kernel is not None
    return avro_kernel.kernel.Plan((STRUCT, 1, 0, 0, b"", children), avro_kernel.kernel.Memory)


def step(op: Op, column: int = -1, argument: int = 0, *parts: int, **other: Any) -> Any:
    return (int(op), column, argument, parts, other.get("data", b""), other.get("symbols", ()))


def decode(made: Any, data: bytes, ends: list[int], **other: Any) -> Any:
    given = {"valid": None, "first": 0, "rows": len(ends) - 1, "header": 0} | other
    programs = given.get("programs", [0] * max(0, given["rows"]))
    return made.decode(
        given["valid"], array("i", ends), array("B", data), given["first"], given["rows"],
        np.array(programs, np.int32), given["header"],
    )  # fmt: skip


def reading_a_long() -> Any:
    made = plan(NUMBER)
    made.add((step(Op.RECORD, 0, 0, 1), step(Op.LONG, 1)))
    return made


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
        ([0, 2], {"header": -1}),
        ([0, 2], {"programs": [1]}),
        ([0, 2], {"programs": []}),
        ([0] * 18, {"valid": b"\xff"}),
    ],
)
def test_arrays_that_can_not_be_are_refused(ends: list[int], other: dict[str, Any]) -> None:
    with pytest.raises((ValueError, MemoryError)):
        decode(reading_a_long(), b"\2\2", ends, **other)


def test_what_is_before_the_data_is_passed_over() -> None:
    refused, columns = decode(
        reading_a_long(), b"....\2..\4", [0, 5, 8, 8], header=4, programs=[0, 0, -1]
    )
    assert refused == b"\0\1\1"
    assert bytes(columns[1][4]) == (1).to_bytes(8, "little")


@pytest.mark.parametrize(
    "steps",
    [
        (),
        "steps",
        (step(Op.RECORD, 0, 0, 1),),
        (step(Op.RECORD, 0, 0, -1),),
        (step(Op.RECORD, 2),),
        (step(Op.RECORD, -2),),
        (step(Op.ARRAY, 1),),
        (step(Op.MAP, 1, 0, 0, 0),),
        (step(Op.DEFAULT),),
        (step(Op.FIXED, -1, -1),),
        (step(Op.ENUM, -1, 0, symbols=("text",)),),
        ((99, 0, 0, (), b"", ()),),
        ((0, 0),),
    ],
)
def test_programs_that_can_not_be_are_refused(steps: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        plan(NUMBER).add(steps)


@pytest.mark.parametrize(
    "steps",
    [
        (step(Op.RECORD, 0),),  # a column gets no value
        (step(Op.RECORD, 0, 0, 1, 1), step(Op.LONG, 1)),  # or two
        (step(Op.RECORD, 0, 0, 1), step(Op.BYTES, 1)),  # or one of another type
        (step(Op.RECORD, 0, 0, 1), step(Op.MEMBER, 1, 0, 0)),
        (step(Op.RECORD, 0, 0, 0),),  # no end
        (step(Op.FAIL),),
    ],
)
def test_programs_that_do_not_fit_the_columns_give_no_rows(steps: Any) -> None:
    made = plan(NUMBER)
    made.add(steps)
    refused, columns = decode(made, b"\2\2", [0, 2])
    assert refused == b"\1"
    assert [each[0] for each in columns] == [0, 0]


def test_a_program_that_reads_no_row_is_an_error() -> None:
    made = plan(NUMBER)
    made.add((step(Op.LONG),))
    with pytest.raises(MemoryError):
        decode(made, b"\2", [0, 1])


@pytest.mark.parametrize("seed", range(20))
def test_what_is_cut_off_anywhere_is_refused(seed: int) -> None:
    made = RandomAvro(3_000 + seed)
    schema = record("long", {"type": "array", "items": ["null", "string"]}, made.record(1), "bytes")
    whole = written(schema, {**made.value(schema), "f3": b"end"})
    found = decoded(schema, [(schema, whole[:size]) for size in range(len(whole) + 1)])
    assert list(found.dead) == list(range(len(whole)))


def test_a_plan_of_a_schema_takes_its_program() -> None:
    assert avro_kernel.kernel is not None
    schema = parsed(record("int", {"type": "map", "values": "long"}))
    root = avro_columns(schema)
    decoder = avro_kernel.AvroKernelDecoder(avro_kernel.kernel, root)
    decoder.add(program_of(schema, schema, root))


def test_a_build_of_another_version_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(avro_kernel, "INTERFACE", -1)
    assert avro_kernel._load() is None
