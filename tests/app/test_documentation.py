"""What an application says of itself: AsyncAPI and a page, from types and docstrings."""

import json
import subprocess
import sys
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import Any, Literal, TypedDict

import msgspec
import pydantic

import barnabas
from barnabas.app.documentation.asyncapi import asyncapi_of
from barnabas.app.documentation.page import page_of
from barnabas.schemas.models.json_types import JsonTypes
from tests.support import fork_server


class Colour(Enum):
    RED = "red"


class Item(pydantic.BaseModel):
    sku: str
    price: float = 1.0


class Parcel(msgspec.Struct):
    weight: int


class Address(TypedDict, total=False):
    street: str


@dataclass
class Order:
    """An <order> of a customer."""

    id: int
    at: datetime
    state: Literal["new", "paid"]
    colour: Colour | None = None
    items: list[Item] = field(default_factory=list)
    parcel: Parcel | None = None
    address: Address | None = None
    parent: "Order | None" = None


@dataclass
class Sale:
    """A <sale>."""

    id: int


@dataclass
class Invoice:
    sale: int


def application() -> barnabas.App:
    app = barnabas.App("one:9092,two:9092", title="Orders & more")

    @app.handler(
        *("orders",),
        group="billing",
        retries=3,
        retry_topics=["30s"],
        dead_letters="orders-dead",
        produces="invoices",
    )
    async def bill(sale: Sale, key: str) -> list[Invoice]:
        """Write invoices.

        One for each parcel.
        """
        return [Invoice(sale.id)]

    @app.handler(["a", "b"], group="raw", on_failure="skip")
    def look(data: bytes) -> None: ...

    @app.handler("items", group="shelves", dead_letters="orders-dead")
    def put(item: Item) -> None: ...

    @app.handler("parcels", group="post", concurrency=8)
    def send(parcel: Parcel) -> None: ...

    @app.schedule("0 6 * * *", produces="reports", group="reporting")
    def daily(tick: datetime) -> Sale | None:
        """Count the sales."""

    return app


def resolved(document: dict[str, Any], reference: str) -> Any:
    found: Any = document
    for part in reference.removeprefix("#/").split("/"):
        found = found[part]
    return found


def references(value: Any) -> list[str]:
    if isinstance(value, dict):
        own = [value["$ref"]] if "$ref" in value else []
        return own + [each for inner in value.values() for each in references(inner)]
    return [each for inner in value for each in references(inner)] if type(value) is list else []


def test_handlers_topics_and_types_are_in_the_document() -> None:
    document = asyncapi_of(application(), "2.0")
    json.dumps(document)
    assert document["info"] == {"title": "Orders & more", "version": "2.0"}
    assert [each["host"] for each in document["servers"].values()] == ["one:9092", "two:9092"]
    assert set(document["channels"]) == {
        *("orders", "invoices", "orders-dead", "a", "b", "items", "parcels", "reports")
    }
    assert {name: each["action"] for name, each in document["operations"].items()} == {
        "bill": "receive",
        "bill.results": "send",
        "bill.dead-letters": "send",
        "look.a": "receive",
        "look.b": "receive",
        "put": "receive",
        "put.dead-letters": "send",
        "send": "receive",
        "daily": "send",
    }
    bill = document["operations"]["bill"]
    assert bill["summary"] == "Write invoices."
    assert "One for each parcel." in bill["description"]
    for fact in ("group billing", "3 more attempts", "30s", "orders-dead", "at least once"):
        assert fact in bill["description"]
    for reference in references(document):
        assert resolved(document, reference) is not None
    daily = document["operations"]["daily"]
    assert daily["summary"] == "Count the sales."
    assert daily["description"] == "0 6 * * * UTC; once for all workers of the group reporting."
    (message,) = bill["messages"]
    sale = resolved(document, resolved(document, message["$ref"])["$ref"])
    assert sale["bindings"]["kafka"]["key"] == {"type": "string"}
    assert sale["payload"] == {"$ref": "#/components/schemas/Sale"}
    assert set(document["components"]["schemas"]) == {"Sale", "Invoice", "Item", "Parcel"}


def test_the_changelog_of_a_state_is_named() -> None:
    app = barnabas.App()

    @app.handler("items", group="shop", standby=True)
    def add(item: str, cart: barnabas.State[Item]) -> None: ...

    described = asyncapi_of(app, "1").get("operations", {})["add"]["description"]
    assert "keeps cart for each key in shop.add.cart.changelog, with standby copies" in described


def test_types_of_all_kinds_have_a_schema() -> None:
    schemas = JsonTypes("#/components/schemas/")
    assert schemas.of(Order) == {"$ref": "#/components/schemas/Order"}
    order = schemas.named["Order"]
    assert order["description"] == "An <order> of a customer."
    assert order["required"] == ["id", "at", "state"]
    properties = order["properties"]
    assert properties["at"] == {"type": "string", "format": "date-time"}
    assert properties["state"] == {"enum": ["new", "paid"]}
    assert properties["items"] == {"type": "array", "items": {"$ref": "#/components/schemas/Item"}}
    assert properties["parent"]["anyOf"][0] == {"$ref": "#/components/schemas/Order"}
    assert schemas.named["Item"]["required"] == ["sku"]
    assert schemas.named["Parcel"]["properties"] == {"weight": {"type": "integer"}}
    assert schemas.named["Address"]["required"] == []
    assert schemas.named["Colour"]["enum"] == ["red"]
    assert schemas.of(dict[str, int])["additionalProperties"] == {"type": "integer"}
    assert schemas.of(tuple[int, str])["minItems"] == 2
    assert "description" in schemas.of(object)


def test_a_page_shows_it_and_escapes_what_it_shows() -> None:
    page = page_of(asyncapi_of(application(), "<1>"))
    assert "Orders &amp; more" in page
    assert "A &lt;sale&gt;." in page
    assert "<sale>" not in page
    assert "<1>" not in page


def test_the_command_writes_both(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(
        "import barnabas\n"
        "app = barnabas.App()\n"
        "@app.handler('orders', group='g')\n"
        "def bill(order: str) -> None: ...\n"
    )

    def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "-m", "barnabas", "app", "docs", *arguments]
        return fork_server.run(
            command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
        )

    done = run("shop:app", "--output", "out")
    assert done.returncode == 0, done.stderr
    document = json.loads((tmp_path / "out" / "asyncapi.json").read_text())
    assert document["asyncapi"] == "3.0.0"
    assert "orders" in (tmp_path / "out" / "index.html").read_text()
    assert json.loads(run("shop:app", "--json").stdout) == document
    assert "no module 'shop2'" in run("shop2:app").stderr
