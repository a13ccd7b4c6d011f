"""An order service with an outbox, and a saga: reserve stock, charge, ship, or undo it all.

    barnabas server &
    barnabas app run examples.services.orders:app

Each step of an order is one database transaction: what the step does, a note that it was done, and
the event that follows, in the table `outbox`. A timer sends what is in the outbox. The database is
SQLite here; the same statements work in any other.
"""

import asyncio
import os
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from dataclasses import dataclass
from typing import NamedTuple

import barnabas

DATABASE = os.environ.get("ORDERS_DATABASE", "orders.db")
TABLES = """
CREATE TABLE IF NOT EXISTS stock (item TEXT PRIMARY KEY, left INTEGER);
CREATE TABLE IF NOT EXISTS accounts (customer TEXT PRIMARY KEY, balance INTEGER);
CREATE TABLE IF NOT EXISTS orders (id TEXT PRIMARY KEY, customer TEXT, item TEXT, price INTEGER,
    address TEXT, state TEXT);
CREATE TABLE IF NOT EXISTS outbox (id INTEGER PRIMARY KEY, order_id TEXT, what TEXT);
CREATE TABLE IF NOT EXISTS done (event TEXT PRIMARY KEY);
"""


class Step(NamedTuple):
    """A statement that changes one row, or none if it can't be done, and the event that follows."""

    statement: str
    then: str
    otherwise: str = ""


STEPS = {
    "placed": Step(
        "UPDATE stock SET left = left - 1 WHERE item = :item AND left > 0", "reserved", "cancelled"
    ),
    "reserved": Step(
        "UPDATE accounts SET balance = balance - :price"
        " WHERE customer = :customer AND balance >= :price",
        "charged",
        "declined",
    ),
    "charged": Step(
        "UPDATE orders SET state = 'packed' WHERE id = :id AND address <> ''", "shipped", "returned"
    ),
    # Compensations: what was done is undone, in reverse.
    "returned": Step(
        "UPDATE accounts SET balance = balance + :price WHERE customer = :customer", "declined"
    ),
    "declined": Step("UPDATE stock SET left = left + 1 WHERE item = :item", "cancelled"),
}


@dataclass
class Event:
    order: str
    what: str


@contextmanager
def transaction() -> Iterator[sqlite3.Connection]:
    """Commits at the end of the block, and rolls back if it raises."""
    with closing(sqlite3.connect(DATABASE, timeout=30, isolation_level=None)) as db, db:
        db.row_factory = sqlite3.Row
        db.execute("BEGIN IMMEDIATE")
        yield db


@asynccontextmanager
async def lifespan(_: barnabas.App) -> AsyncIterator[None]:
    with closing(sqlite3.connect(DATABASE, timeout=30)) as db:
        db.executescript(TABLES)
    yield


app = barnabas.App(os.environ.get("BARNABAS_BOOTSTRAP", "localhost:9092"), lifespan=lifespan)


def place(order: str, customer: str, item: str, price: int, address: str) -> None:
    """For a website: the order and its first event, both or neither."""
    with transaction() as db:
        row = (order, customer, item, price, address, "placed")
        db.execute("INSERT INTO orders VALUES (?, ?, ?, ?, ?, ?)", row)
        db.execute("INSERT INTO outbox (order_id, what) VALUES (?, 'placed')", (order,))


@app.every("100ms")
async def send_outbox() -> None:
    """After a crash some events are sent again; `advance` finds them in the table `done`."""
    with transaction() as db:
        waiting = db.execute("SELECT * FROM outbox ORDER BY id LIMIT 100").fetchall()
    events = [Event(row["order_id"], row["what"]) for row in waiting]
    await asyncio.gather(*(app.send("order-events", each, key=each.order) for each in events))
    with transaction() as db:
        db.executemany("DELETE FROM outbox WHERE id = ?", [(row["id"],) for row in waiting])


@app.handler(
    "order-events", group="saga", concurrency=8, retries=5, dead_letters="order-events-dead"
)
def advance(event: Event) -> None:
    """Do the next step of an order: once, and together with the event that follows."""
    with transaction() as db:
        note = (f"{event.order} {event.what}",)
        if not db.execute("INSERT OR IGNORE INTO done VALUES (?)", note).rowcount:
            return  # the event came twice
        step = STEPS.get(event.what)
        if step is None:  # shipped or cancelled
            db.execute("UPDATE orders SET state = ? WHERE id = ?", (event.what, event.order))
            return
        order = db.execute("SELECT * FROM orders WHERE id = ?", (event.order,)).fetchone()
        what = step.then if db.execute(step.statement, dict(order)).rowcount else step.otherwise
        db.execute("INSERT INTO outbox (order_id, what) VALUES (?, ?)", (event.order, what))
