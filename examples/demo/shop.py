"""The shop: takes orders into its database, and knows what it has taken.

Some clicks lead to an order. A part of the orders is cancelled, which deletes them; only of those
that are placed once Spark follows the database, so that it has seen them.

While the database is gone, orders wait, in order. Of a statement that was under way it is not known
whether it was committed; so it is repeated, and written so that this does no harm.
"""

import asyncio
from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal
from typing import Any, NamedTuple

import psycopg

from examples.demo.accounting import Check, Row, compare
from examples.demo.database import Database
from examples.demo.traffic import Event

_CREATE = (
    "CREATE TABLE orders (id bigint PRIMARY KEY, view text, amount numeric(10, 2), at timestamptz)"
)
_EVERY = 3
"""So many clicks lead to an order."""
_CANCELLED_EVERY = 8


class Order(NamedTuple):
    """An order, which a click on a view has led to."""

    id: int
    view: str
    page: str
    amount: Decimal
    at: datetime


class Shop:
    """Run `work` as a task; `take` gives it something to do."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._waiting: asyncio.Queue[tuple[str, tuple[Any, ...]]] = asyncio.Queue()
        self._clicks = 0
        self.orders: dict[int, Order] = {}
        self.cancelled: set[int] = set()
        self.may_cancel = False

    async def open(self) -> None:
        async with await self._database.connect() as connection:
            await connection.execute(_CREATE)

    def take(self, events: Iterable[Event]) -> None:
        """The orders that come of these events."""
        for event in events:
            if event.kind != "click":
                continue
            self._clicks += 1
            if self._clicks % _EVERY:
                continue
            number = len(self.orders) + 1
            amount = Decimal(number * 37 % 10_000) / 100
            order = Order(number, event.view, event.page, amount, event.at)
            self.orders[number] = order
            values = (order.id, order.view, order.amount, order.at)
            self._do("INSERT INTO orders VALUES (%s, %s, %s, %s) ON CONFLICT DO NOTHING", *values)
            if self.may_cancel and number % _CANCELLED_EVERY == 0:
                self.cancelled.add(number)
                self._do("DELETE FROM orders WHERE id = %s", number)

    def _do(self, statement: str, *values: Any) -> None:
        self._waiting.put_nowait((statement, values))

    async def work(self) -> None:
        """Bring orders into the database, one transaction each, whatever happens to it."""
        connection = await self._database.connect()
        try:
            while True:
                statement, values = await self._waiting.get()
                while True:
                    try:
                        await connection.execute(statement, values)
                        break
                    except psycopg.OperationalError:  # the server is gone
                        connection = await self._database.connect()
                self._waiting.task_done()
        finally:
            await connection.close()

    async def settle(self) -> None:
        """Wait until all is in the database."""
        await self._waiting.join()

    async def rows(self) -> list[tuple[int, str, Decimal]]:
        """What the database has."""
        async with await self._database.connect() as connection:
            return await (
                await connection.execute("SELECT id, view, amount FROM orders")
            ).fetchall()

    @property
    def changes(self) -> int:
        """How many the database has made."""
        return len(self.orders) + len(self.cancelled)

    # -- the promises ---------------------------------------------------------------------------

    def check_changes(self, changes: Iterable[Row]) -> Check:
        """Every order and every cancellation is a record, whether Spark was there or not."""
        expected: dict[tuple[str, int], object] = {
            ("placed", each.id): (each.view, each.amount) for each in self.orders.values()
        } | {("cancelled", each): None for each in self.cancelled}
        found = [
            (("cancelled", row["id"]), None)
            if row["op"] == "d"
            else (("placed", row["id"]), (row["view"], Decimal(str(row["amount"]))))
            for row in changes
        ]
        differences = compare(expected, found)
        return Check(
            "every change of the database is in the topic, once",
            bool(self.orders) and bool(self.cancelled) and not differences,
            f"{len(self.orders):,} orders, {len(self.cancelled):,} cancelled: {differences}",
        )

    def check_replay(
        self, changes: Iterable[Row], rows: Iterable[tuple[int, str, Decimal]]
    ) -> Check:
        """The changes in their order, applied one by one, are the table."""
        copy: dict[int, tuple[str, Decimal]] = {}
        for row in changes:
            if row["op"] == "d":
                copy.pop(row["id"], None)
            else:
                copy[row["id"]] = row["view"], Decimal(str(row["amount"]))
        differences = compare(
            {number: (view, amount) for number, view, amount in rows}, copy.items()
        )
        return Check(
            "the changes, replayed, are the table in the database",
            bool(copy) and not differences,
            f"{len(copy):,} rows: {differences}",
        )

    def check_joined(self, rows: Iterable[Row]) -> Check:
        expected = {each.id: (each.view, each.page, each.amount) for each in self.orders.values()}
        found = [(row["id"], (row["view"], row["page"], row["amount"])) for row in rows]
        differences = compare(expected, found)
        return Check(
            "every order is joined to its view, in the Parquet table",
            bool(expected) and not differences,
            f"{len(expected):,} orders: {differences}",
        )
