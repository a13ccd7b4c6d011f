"""Models to Avro: what the libraries of Avro read and write with these schemas."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field, make_dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from enum import Enum, IntEnum
from io import BytesIO
from typing import Annotated, Any, Literal, NewType, NotRequired, TypedDict
from uuid import UUID, uuid4

import avro.schema
import fastavro
import msgspec
import pydantic
import pytest
from avro.io import BinaryDecoder, DatumReader

import barnabas.schemas
from barnabas.schemas import Digits, InvalidSchemaError, avro_of
from barnabas.schemas.avro.parsed import parse_avro
from barnabas.schemas.compatibility import findings
from barnabas.schemas.schema import Schema, SchemaKind

Sku = NewType("Sku", str)


class State(Enum):
    OPEN = "open"
    PAID = "paid"


class Level(IntEnum):
    LOW = 1
    HIGH = 2


@dataclass
class Address:
    street: str
    floor: int | None = None


class Note(TypedDict):
    text: str


@dataclass
class Order:
    sku: Sku
    amount: int
    price: Annotated[Decimal, Digits(8, 2)]
    at: datetime
    day: date
    clock: time
    id: UUID
    raw: bytes
    weight: float
    address: Address
    notes: list[Note]
    level: Level
    state: State = State.OPEN
    way: Literal["air", "sea"] = "sea"
    more: Address | None = None
    limits: dict[str, int] = field(default_factory=dict)
    tags: list[str] = field(default_factory=lambda: ["new"])
    made: datetime = field(default_factory=lambda: datetime.now(UTC))
    token: UUID = field(default_factory=uuid4)
    best: float = 0
    children: "list[Order]" = field(default_factory=list)
    fee: Annotated[Decimal, Digits(4, 2)] = Decimal("-1.28")
    since: datetime = datetime(2026, 1, 1, tzinfo=UTC)
    blob: bytes = b"\xff"
    size: int | str = "big"
    home: Address = field(default_factory=lambda: Address("here"))


VALUE = {
    "sku": "a",
    "amount": 2,
    "price": Decimal("12.50"),
    "at": datetime(2026, 1, 2, 3, 4, 5, 6, UTC),
    "day": date(2026, 1, 2),
    "clock": time(3, 4, 5, 6),
    "id": UUID(int=7),
    "raw": b"\0\xff",
    "weight": 1.5,
    "address": {"street": "high", "floor": None},
    "notes": [{"text": "x"}],
    "level": 2,
    "made": datetime(2026, 1, 2, tzinfo=UTC),
    "token": UUID(int=8),
    "fee": Decimal("-1.28"),  # fastavro writes no bytes by default
    "blob": b"",
}


def test_what_is_written_with_the_schema_is_read_with_its_defaults() -> None:
    schema = avro_of(Order)
    parsed = fastavro.parse_schema(schema)
    buffer = BytesIO()
    fastavro.schemaless_writer(buffer, parsed, VALUE)
    buffer.seek(0)
    found: Any = fastavro.schemaless_reader(buffer, parsed, None)
    assert {name: found[name] for name in VALUE} == VALUE
    assert found["state"] == "open"
    assert found["way"] == "sea"
    assert found["more"] is None
    assert (found["limits"], found["tags"], found["best"]) == ({}, ["new"], 0.0)
    assert (found["children"], found["size"]) == ([], "big")
    assert found["home"] == {"street": "here", "floor": None}


@dataclass
class Sale:
    sku: str
    size: int | str = "big"
    limits: dict[str, int] = field(default_factory=dict)
    state: State = State.PAID
    home: Address = field(default_factory=lambda: Address("here"))
    at: datetime = datetime(2026, 1, 1, tzinfo=UTC)


def test_a_reader_gets_the_defaults_of_new_fields() -> None:
    @dataclass
    class Old:
        sku: str

    old = {**avro_of(Old), "name": "Sale"}
    buffer = BytesIO()
    fastavro.schemaless_writer(buffer, fastavro.parse_schema(old), {"sku": "a"})
    buffer.seek(0)
    found: Any = fastavro.schemaless_reader(buffer, old, fastavro.parse_schema(avro_of(Sale)))
    assert (found["size"], found["limits"], found["state"]) == ("big", {}, "paid")
    buffer.seek(0)
    text = json.dumps(avro_of(Sale))
    with_java_rules = DatumReader(avro.schema.parse(json.dumps(old)), avro.schema.parse(text))
    assert with_java_rules.read(BinaryDecoder(buffer)) == {
        "sku": "a",
        "size": "big",
        "limits": {},
        "state": "paid",
        "home": {"street": "here", "floor": None},
        "at": 1767225600000000,  # the library leaves defaults as they are
    }


def test_other_libraries_accept_the_schema() -> None:
    text = json.dumps(avro_of(Order, namespace="shop.orders"))
    found = avro.schema.parse(text)
    assert found.fullname == "shop.orders.Order"  # type: ignore[attr-defined]
    ours = parse_avro(Schema(SchemaKind.AVRO, text), ())
    assert ours.name == "shop.orders.Order"
    assert findings(ours, ours) == []


def test_times_and_ids_that_a_factory_makes_are_no_defaults() -> None:
    fields: Any = {each["name"]: each for each in avro_of(Order)["fields"]}  # type: ignore[union-attr, index, call-overload]
    assert "default" not in fields["made"]
    assert "default" not in fields["token"]
    assert fields["since"]["default"] == 1767225600000000
    assert fields["fee"]["default"] == "\x80"
    assert fields["size"]["type"] == ["string", "long"]
    assert fields["more"]["type"] == ["null", "Address"]


class Line(pydantic.BaseModel):
    sku: str = pydantic.Field(alias="article")
    price: Annotated[Decimal, pydantic.Field(max_digits=8, decimal_places=2)]
    count: pydantic.PositiveInt = 1
    notes: list[str] = pydantic.Field(default_factory=list)


class LineStruct(msgspec.Struct):
    sku: str = msgspec.field(name="article")
    price: Annotated[Decimal, Digits(8, 2)]
    count: int = 1
    notes: list[str] = []


@pydantic.dataclasses.dataclass
class LineData:
    article: str
    price: Annotated[Decimal, Digits(8, 2)]
    count: int = pydantic.Field(default=1, gt=0)
    notes: list[str] = pydantic.Field(default_factory=list)


@pytest.mark.parametrize("kind", [Line, LineStruct, LineData])
def test_libraries_give_the_same_schema(kind: type) -> None:
    assert avro_of(kind)["fields"] == [
        {"name": "article", "type": "string"},
        {
            "name": "price",
            "type": {"type": "bytes", "logicalType": "decimal", "precision": 8, "scale": 2},
        },
        {"name": "count", "type": "long", "default": 1},
        {"name": "notes", "type": {"type": "array", "items": "string"}, "default": []},
    ]


def test_typeddicts_are_records() -> None:
    expected = {"type": "record", "name": "Note", "fields": [{"name": "text", "type": "string"}]}
    assert barnabas.schemas.avro_of(Note) == expected


class Mood(Enum):
    FINE = "in a good mood"


def test_a_factory_that_returns_too_much_is_called_twice_at_most() -> None:
    calls = []

    def make() -> list[str]:
        calls.append(1)
        return [str(len(calls))]

    kind = make_dataclass("Numbered", [("ids", list[str], field(default_factory=make))])
    assert avro_of(kind)["fields"] == [
        {"name": "ids", "type": {"type": "array", "items": "string"}}
    ]
    assert len(calls) == 2


def _of(hint: Any, **more: Any) -> Callable[[], type]:
    return lambda: make_dataclass("Thing", [("part", hint, field(**more))])


Other = make_dataclass("Address", [("town", str)])


class Loose(TypedDict):
    part: NotRequired[str]


REFUSED = [
    (_of(object), "Thing.part: object has no counterpart in Avro; use bool, int"),
    (_of(Any), r"Thing.part: Any has no counterpart"),
    (_of(list), "Thing.part: list has no counterpart"),
    (_of(tuple[int, str]), r"Thing.part: tuple\[int, str\] has no counterpart"),
    (_of(list[complex]), r"Thing.part\[\]: complex has no counterpart"),
    (_of(Decimal), r"Thing.part: .* write Annotated\[Decimal, Digits\(12, 2\)\]"),
    (_of(dict[int, str]), r"Thing.part: keys of a map in Avro are str"),
    (_of(Mood), "Thing.part: 'in a good mood' is not a symbol of an Avro enum"),
    (_of(Literal["a", 1]), "Thing.part: .* mixes types"),
    (_of(list[str] | list[int]), "Thing.part: a union in Avro can't have two .* both array"),
    (_of(int | datetime), "Thing.part: a union in Avro can't have two .* both long"),
    (_of(datetime, default=datetime(2026, 1, 1)), "Thing.part: its default .* can't be written"),  # noqa: DTZ001
    (_of(int, default=1 << 63), "part: its default 9223372036854775808 is not a value of long"),
    (_of(Address | Other), "Thing.part: another type is called Address; rename one of them"),
    (lambda: Loose, r"Loose.part: NotRequired has no counterpart in Avro; write T \| None"),
    (lambda: int, "<class 'int'> has no fields"),
]


@pytest.mark.parametrize(("make", "problem"), REFUSED)
def test_what_has_no_counterpart_is_named(make: Callable[[], type], problem: str) -> None:
    with pytest.raises(InvalidSchemaError, match=problem):
        avro_of(make())


def test_a_namespace_is_a_name() -> None:
    with pytest.raises(InvalidSchemaError, match="namespace='my shop'"):
        avro_of(Address, namespace="my shop")
    with pytest.raises(ValueError, match=r"Digits\(2, 3\)"):
        Digits(2, 3)


LARGE = Decimal("123456789012345678901234567890123456.7800")


@dataclass
class Account:
    balance: Annotated[Decimal, Digits(38, 2)] = LARGE


def test_large_decimals_are_not_rounded_as_defaults() -> None:
    (found,) = avro_of(Account)["fields"]
    unscaled = int.from_bytes(found["default"].encode("latin-1"), "big", signed=True)
    assert unscaled == 12345678901234567890123456789012345678


@pytest.mark.parametrize("default", [Decimal("0.005"), Decimal("123.45"), Decimal("NaN")])
def test_a_decimal_that_does_not_fit_is_no_default(default: Decimal) -> None:
    kind = make_dataclass("A", [("x", Annotated[Decimal, Digits(4, 2)], default)])
    with pytest.raises(InvalidSchemaError, match="its default"):
        avro_of(kind)
