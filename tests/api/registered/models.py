"""One model of each library, and an earlier version of it."""

from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, TypedDict
from uuid import UUID

import msgspec
import pydantic

from barnabas.schemas import Digits


class State(Enum):
    OPEN = "open"
    PAID = "paid"


@dataclass
class Line:
    sku: str
    count: int = 1


@dataclass
class Order:
    id: str
    price: Annotated[Decimal, Digits(8, 2)]
    at: datetime
    day: date | None = None
    lines: list[Line] = field(default_factory=list)
    state: State = State.OPEN
    tags: dict[str, int] = field(default_factory=dict)
    token: UUID | None = None
    main: Line | None = None


class Line2(pydantic.BaseModel):
    sku: str
    count: int = 1


class Order2(pydantic.BaseModel):
    id: str
    price: Annotated[Decimal, pydantic.Field(max_digits=8, decimal_places=2)]
    at: datetime
    day: date | None = None
    lines: list[Line2] = []
    state: State = State.OPEN
    tags: dict[str, int] = {}
    token: UUID | None = None
    main: Line2 | None = None


class Line3(msgspec.Struct):
    sku: str
    count: int = 1


class Order3(msgspec.Struct):
    id: str
    price: Annotated[Decimal, Digits(8, 2)]
    at: datetime
    day: date | None = None
    lines: list[Line3] = []
    state: State = State.OPEN
    tags: dict[str, int] = {}
    token: UUID | None = None
    main: Line3 | None = None


class Note(TypedDict):
    text: str
    size: int | None


AT = datetime(2026, 1, 2, 3, 4, 5, 678, UTC)


def made(kind: Any, line: Any) -> Any:
    """An object of one of these classes."""
    return kind(
        id="7",
        price=Decimal("12.50"),
        at=AT,
        day=date(2026, 1, 2),
        lines=[line(sku="a"), line(sku="b", count=2)],
        state=State.PAID,
        tags={"x": 1},
        token=UUID(int=7),
        main=line(sku="c"),
    )


VALUES = [
    made(Order, Line),
    made(Order2, Line2),
    made(Order3, Line3),
    Order("8", Decimal(1), AT),
]
