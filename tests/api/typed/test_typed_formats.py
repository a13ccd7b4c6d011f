"""Values of types as bytes and back, and what is said of bytes that do not match a type."""

import enum
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, Literal, NotRequired, TypedDict
from uuid import UUID

import msgspec
import pydantic
import pytest
from google.protobuf.wrappers_pb2 import StringValue
from hypothesis import given
from hypothesis import strategies as st

from barnabas import formats
from barnabas.errors import InvalidArgument, ValidationFailed
from barnabas.formats import decoder, encoder


class Size(enum.Enum):
    SMALL = "S"
    LARGE = "L"


@dataclass
class Line:
    sku: str
    amount: float
    size: Size = Size.SMALL


@dataclass
class Order:
    id: int
    lines: list[Line]
    placed: datetime
    day: date | None = None
    total: Decimal = Decimal(0)
    tags: frozenset[str] = frozenset()
    ident: UUID | None = None
    photo: bytes = b""
    state: Literal["new", "paid"] = "new"
    parent: "Order | None" = None
    names: dict[str, tuple[int, str]] = field(default_factory=dict)


class Payment(TypedDict):
    order: int
    note: NotRequired[str]


class Invoice(pydantic.BaseModel):
    id: int
    lines: list[int] = []


class Refund(msgspec.Struct):
    id: int
    lines: list[int] = []


NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
ORDER = Order(
    1,
    [Line("olive", 2.5, Size.LARGE)],
    NOON,
    day=NOON.date(),
    total=Decimal("9.99"),
    tags=frozenset({"x"}),
    ident=UUID(int=7),
    photo=b"\x00\xff",
    state="paid",
    parent=Order(0, [], NOON),
    names={"a": (1, "b")},
)


@pytest.mark.parametrize(
    ("kind", "value", "data"),
    [
        (bytes, b"x", b"x"),
        (str, "ü", "ü".encode()),
        (int, 5, b"\0\0\0\0\0\0\0\5"),
        (float, 2.5, b"2.5"),
        (Line, Line("a", 1.0), b'{"amount":1.0,"size":"S","sku":"a"}'),
        (Payment, {"order": 1}, b'{"order":1}'),
        (Payment, {"order": 1, "note": "x"}, b'{"note":"x","order":1}'),
        (list[int], [1, 2], b"[1,2]"),
        (dict[str, Line], {"a": Line("a", 1.0)}, b'{"a":{"amount":1.0,"size":"S","sku":"a"}}'),
        (Invoice, Invoice(id=1, lines=[2]), b'{"id":1,"lines":[2]}'),
        (Refund, Refund(1, [2]), b'{"id":1,"lines":[2]}'),
        (StringValue, StringValue(value="x"), b"\n\x01x"),
        (Order, ORDER, None),
    ],
)
def test_values_come_back(kind: Any, value: Any, data: bytes | None) -> None:
    chosen = formats.of(kind)
    assert data is None or chosen.encode(value) == data
    again = chosen.decode(chosen.encode(value))
    assert again == value
    assert type(again) is type(value)


@given(st.builds(Line, st.text(), st.floats(allow_nan=False, allow_infinity=False)))
def test_any_dataclass_comes_back(line: Line) -> None:
    chosen = formats.of(Line)
    assert chosen.decode(chosen.encode(line)) == line


@pytest.mark.parametrize(
    ("kind", "data", "field_name", "problem"),
    [
        (Line, b"[]", "", "expected an object (Line), got []"),
        (Line, b"{", "", "no JSON"),
        (Line, b'{"sku":"a"}', "amount", "is missing"),
        (Line, b'{"sku":"a","amount":true}', "amount", "expected a number, got True"),
        (Line, b'{"sku":1,"amount":1}', "sku", "expected text, got 1"),
        (Line, b'{"sku":"a","amount":1,"size":"XL"}', "size", "expected one of 'S', 'L', got 'XL'"),
        (
            Order,
            b'{"id":1,"placed":"2026-01-01","lines":[{"sku":"a","amount":1},{"sku":"b"}]}',
            "lines[1].amount",
            "is missing",
        ),
        (Order, b'{"id":1,"lines":[],"placed":"noon"}', "placed", "ISO 8601, got 'noon'"),
        (
            Order,
            b'{"id":1,"lines":[],"placed":"2026-01-01","names":{"x":[1]}}',
            "names['x']",
            "expected a list of 2",
        ),
        (Payment, b'{"note":"x"}', "order", "is missing"),
        (Payment, b'{"order":"1"}', "order", "expected an integer, got '1'"),
        (Invoice, b'{"id":1,"lines":[1,"x"]}', "lines[1]", "should be a valid integer"),
        (Refund, b'{"id":1,"lines":[1,"x"]}', "lines[1]", "Expected `int`, got `str`"),
        (Refund, b"{", "", "truncated"),
        (StringValue, b"\xff", "", "no StringValue"),
    ],
)
def test_what_does_not_match_is_named(
    kind: Any, data: bytes, field_name: str, problem: str
) -> None:
    with pytest.raises(ValidationFailed) as caught:
        formats.of(kind).decode(data)
    assert caught.value.field == field_name
    assert problem in str(caught.value)


def test_fields_that_a_type_does_not_have_are_ignored() -> None:
    assert formats.of(Payment).decode(b'{"order":1,"new":2}') == {"order": 1}


@pytest.mark.parametrize("kind", [Line, Invoice, Refund, StringValue, str])
def test_a_value_of_another_type_is_not_sent(kind: Any) -> None:
    encode = encoder(formats.choose(kind, "bytes", "value"), "value")
    with pytest.raises(TypeError, match=f"^value={kind.__name__}: takes {kind.__name__}, not dict"):
        encode({"id": 1})


def test_null_matches_only_what_is_optional() -> None:
    with pytest.raises(ValidationFailed, match=r"value=formats.optional\(Line\) takes it"):
        decoder(formats.of(Line), "value")(None)
    either = formats.optional(Line)
    assert decoder(either, "value")(None) is None
    assert decoder(either, "value")(b'{"sku":"a","amount":1}') == Line("a", 1.0)
    assert encoder(either, "value")(None) is None


def test_avro_by_the_schema_of_a_class() -> None:
    schema = {
        "type": "record",
        "name": "Reading",
        "fields": [
            {"name": "sensor", "type": "string"},
            {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        ],
    }

    @dataclass
    class Reading:
        __avro_schema__ = schema
        sensor: str
        at: datetime

    @dataclass
    class Bare:
        sensor: str
        at: datetime

    for chosen, kind in ((formats.of(Reading), Reading), (formats.avro(Bare, schema), Bare)):
        data = chosen.encode(kind("a", NOON))  # type: ignore[arg-type]
        assert data[:2] == b"\x02a"
        assert chosen.decode(data) == kind("a", NOON)
        with pytest.raises(ValidationFailed, match="no Avro of"):
            chosen.decode(data[:3])
        with pytest.raises(ValidationFailed, match="1 bytes after"):
            chosen.decode(data + b"\0")
        with pytest.raises(ValueError, match="does not match the Avro schema"):
            chosen.encode(kind(1, NOON))  # type: ignore[arg-type]


def test_types_without_a_format_are_refused_at_once() -> None:
    class Thing:
        pass

    @dataclass
    class Holder:
        thing: Thing

    with pytest.raises(InvalidArgument, match="value=Holder: field thing of Holder: no JSON"):
        formats.choose(Holder, "bytes", "value")
    with pytest.raises(InvalidArgument, match="leave value_format out"):
        formats.choose(Line, "json", "value")
    with pytest.raises(TypeError, match='write value_format="json"'):
        formats.choose("json", "bytes", "value")
