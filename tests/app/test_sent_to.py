"""`-> Annotated[Invoice, SentTo("invoices")]`."""

from dataclasses import dataclass
from typing import Annotated

import pytest

from barnabas import App, Outgoing, SentTo
from barnabas.errors import InvalidArgument


@dataclass
class Invoice:
    order: int


def test_the_topic_is_in_the_annotation() -> None:
    app = App()

    @app.handler("orders", group="one")
    async def one(order: int) -> Annotated[Invoice, SentTo("invoices")]:
        return Invoice(order)

    @app.handler("orders", group="many")
    def many(order: int) -> Annotated[list[Invoice] | None, SentTo("copies")]:
        return [Invoice(order), Invoice(order)] if order else None

    @app.handler("orders", group="more")
    def more(order: int) -> Annotated[Outgoing, SentTo("more")]:
        return Outgoing(Invoice(order), key="k")

    with app.test() as run:
        run.send("orders", 5)
        run.send("orders", 0)
        assert run.values("invoices", Invoice) == [Invoice(5), Invoice(0)]
        assert run.values("copies", Invoice) == [Invoice(5), Invoice(5)]
        assert [each.key for each in run.records("more")] == [b"k", b"k"]
    assert app.handlers["one"].produces == "invoices"


def test_mistakes() -> None:
    with pytest.raises(InvalidArgument, match="name two topics"):

        @App().handler("orders", group="g", produces="other")
        def handle(order: bytes) -> Annotated[bytes, SentTo("invoices")]:
            return order

    with pytest.raises(InvalidArgument, match="mark the whole result"):

        @App().handler("orders", group="h")
        def parts(order: bytes) -> list[Annotated[bytes, SentTo("invoices")]]:
            return [order]


def test_a_result_that_may_be_missing() -> None:
    app = App()

    @app.handler("orders", group="some")
    def some(order: int) -> Annotated[Invoice, SentTo("invoices")] | None:
        return Invoice(order) if order else None

    with app.test() as run:
        run.send("orders", 5)
        run.send("orders", 0)
        assert run.values("invoices", Invoice) == [Invoice(5)]
