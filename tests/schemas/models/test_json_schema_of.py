"""Models to JSON Schema: values as they are written match it."""

import json
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from typing import Any, NotRequired, TypedDict
from uuid import UUID, uuid4

import jsonschema
import msgspec
import pydantic
import pytest

from barnabas import formats
from barnabas.schemas import InvalidSchemaError, json_schema_of
from barnabas.schemas.compatibility import findings
from barnabas.schemas.parsing import parse
from barnabas.schemas.schema import Schema, SchemaKind


class State(Enum):
    OPEN = "open"


class Address(TypedDict):
    street: str
    floor: NotRequired[int]


@dataclass
class Order:
    sku: str
    price: Decimal
    at: datetime
    raw: bytes
    address: Address
    lines: "list[Order]"
    state: State = State.OPEN
    note: str | None = None
    day: date = date(2026, 1, 1)
    limits: dict[str, int] = field(default_factory=dict)
    id: UUID = field(default_factory=uuid4)


def order(*lines: Order) -> Order:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    return Order("a", Decimal("1.5"), at, b"\xff", {"street": "high"}, [*lines])


def test_values_match_and_others_do_not() -> None:
    schema = json_schema_of(Order)
    checker = jsonschema.Draft202012Validator(schema)
    checker.check_schema(schema)
    value = json.loads(formats.of(Order).encode(order(order())))
    checker.validate(value)
    for wrong in ({"sku": 1}, {"state": "shut"}, {"address": {}}, {"other": 1}, {"lines": [{}]}):
        assert not checker.is_valid({**value, **wrong}), wrong


def test_defaults_are_there_unless_each_value_has_another() -> None:
    found: Any = json_schema_of(Order)["$defs"]["Order"]  # type: ignore[index, call-overload]
    assert found["required"] == ["sku", "price", "at", "raw", "address", "lines"]
    defaults = {n: each["default"] for n, each in found["properties"].items() if "default" in each}
    assert defaults == {"state": "open", "note": None, "day": "2026-01-01", "limits": {}}


class Line(pydantic.BaseModel):
    sku: str
    count: int = pydantic.Field(default=1, gt=0)
    inner: "Line | None" = None


class Struct(msgspec.Struct):
    sku: str
    count: int = 1
    inner: "Struct | None" = None


@pytest.mark.parametrize("kind", [Line, Struct])
def test_libraries_describe_their_own_models(kind: Any) -> None:
    schema = json_schema_of(kind)
    value = json.loads(formats.of(kind).encode(kind(sku="a", inner=kind(sku="b"))))
    jsonschema.Draft202012Validator(schema).validate(value)
    assert not jsonschema.Draft202012Validator(schema).is_valid({**value, "other": 1})


@dataclass
class Before:
    sku: str


def test_a_field_with_a_default_may_be_added() -> None:
    @dataclass
    class After:
        sku: str
        count: int = 0

    def parsed(kind: type) -> Any:
        return parse(Schema(SchemaKind.JSON, json.dumps(json_schema_of(kind))))

    assert findings(parsed(After), parsed(Before)) == []


@dataclass
class Strange:
    part: list[object]


def test_what_has_no_counterpart_is_named() -> None:
    with pytest.raises(InvalidSchemaError, match=r"Strange.part: object has no counterpart"):
        json_schema_of(Strange)
    with pytest.raises(InvalidSchemaError, match="has no fields"):
        json_schema_of(int)
