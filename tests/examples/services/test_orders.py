"""The order service, killed at random moments: every order ends, stock and money add up."""

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

import barnabas
from examples.services import orders
from tests.support.wait import wait_until

ROOT = Path(__file__).parents[3]
SERVICE = """
from examples.services.orders import app
app.consumer_options["instance_id"] = "orders-1"  # its partitions are its own after a restart
app.run()
"""
ITEMS = {"lamp": 30, "rare lamp": 3}
CUSTOMERS = {"ada": 10_000, "bob": 50, "eve": 10_000}


@pytest.fixture(autouse=True)
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "orders.db"
    monkeypatch.setattr(orders, "DATABASE", str(path))
    with closing(sqlite3.connect(path)) as db, db:
        db.executescript(orders.TABLES)
        db.executemany("INSERT INTO stock VALUES (?, ?)", ITEMS.items())
        db.executemany("INSERT INTO accounts VALUES (?, ?)", CUSTOMERS.items())
    return path


def place(number: int) -> None:
    customer = ("ada", "bob", "eve")[number % 3]
    item = "rare lamp" if number % 5 == 0 else "lamp"
    orders.place(f"{number}", customer, item, 10, "" if number % 7 == 0 else "Main Street 1")


def open_orders() -> int:
    with orders.transaction() as db:
        open_ones = "SELECT count(*) FROM orders WHERE state NOT IN ('shipped', 'cancelled')"
        return int(db.execute(open_ones).fetchone()[0])


def check_books(count: int) -> Counter[str]:
    with orders.transaction() as db:
        stock = dict(map(tuple, db.execute("SELECT * FROM stock")))
        accounts = dict(map(tuple, db.execute("SELECT * FROM accounts")))
        rows = db.execute("SELECT * FROM orders").fetchall()
    assert len(rows) == count
    assert {row["state"] for row in rows} <= {"shipped", "cancelled"}
    shipped = [row for row in rows if row["state"] == "shipped"]
    sold = Counter(row["item"] for row in shipped)
    spent = Counter(dict.fromkeys(CUSTOMERS, 0))
    for row in shipped:
        spent[row["customer"]] += row["price"]
    assert {name: ITEMS[name] - left for name, left in stock.items()} == {**sold}
    assert {name: CUSTOMERS[name] - left for name, left in accounts.items()} == {**spent}
    return Counter(row["state"] for row in rows)


def test_orders_are_shipped_or_undone() -> None:
    with orders.app.test() as run:
        for number in range(30):
            place(number)
        for _ in range(8):
            run.advance("100ms")
        run.send("order-events", orders.Event("29", "placed"), key="29")  # sent twice
        run.advance("1s")
        states = check_books(30)
        assert states["shipped"] >= 10
        assert states["cancelled"] >= 10
        assert run.dead_letters("order-events-dead") == []


def start(servers: str, database: Path) -> "subprocess.Popen[bytes]":
    environment = {**os.environ, "BARNABAS_BOOTSTRAP": servers, "ORDERS_DATABASE": str(database)}
    with database.with_suffix(".log").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-c", SERVICE], cwd=ROOT, env=environment, stdout=log, stderr=log
        )


def test_a_killed_service_loses_and_repeats_nothing(
    broker: barnabas.Cluster, database: Path
) -> None:
    broker.create_topic("order-events", partitions=3)
    chance = random.Random(11)
    count, kills = 45, 3
    log = database.with_suffix(".log")
    service = start(broker.bootstrap_servers, database)
    try:
        for number in range(count):
            place(number)
            if number % (count // kills) == 7:
                left = open_orders()
                wait_until(
                    lambda left=left: open_orders() < left, database.with_suffix(".log").read_text
                )
                time.sleep(chance.random() * 0.2)  # the moment is the point
                service.send_signal(signal.SIGKILL)
                service.wait()
                service = start(broker.bootstrap_servers, database)
        wait_until(lambda: not open_orders(), log.read_text)
    finally:
        service.kill()
        service.wait()
    check_books(count)
