"""Debezium's envelope, of changes in a real PostgreSQL."""

import json
from typing import Any

import psycopg
import pytest

from barnabas.changes.postgres.changes import PostgresChanges
from barnabas.changes.postgres.envelope import ChangeRecord, Envelope
from barnabas.changes.postgres.settings import change_settings
from tests.changes.postgres.conftest import Settings


def read_all(settings: dict[str, str], *statements: str | list[str]) -> list[ChangeRecord]:
    """The records of these transactions."""
    checked = change_settings(settings)
    envelope = Envelope(checked)
    found = []
    with (
        PostgresChanges(checked) as changes,
        psycopg.connect(
            host=settings["database.hostname"],
            user=settings["database.user"],
            dbname=settings["database.dbname"],
            autocommit=True,
        ) as connection,
    ):
        position = changes.initial()
        while position.snapshot is not None:  # a TRUNCATE empties snapshots too
            end = changes.latest(position)
            for event in changes.read(position, end):
                found += envelope.records(event)
            position = end
        for each in statements:
            with connection.transaction():
                for statement in [each] if isinstance(each, str) else each:
                    connection.execute(statement)
        while (end := changes.latest(position)) != position:
            for event in changes.read(position, end):
                found += envelope.records(event)
            position = end
    return found


def value(record: ChangeRecord) -> Any:
    return None if record.value is None else json.loads(record.value)


@pytest.fixture
def orders(connection: psycopg.Connection) -> None:
    connection.execute("CREATE TABLE orders (id int PRIMARY KEY, item text)")
    connection.execute("INSERT INTO orders VALUES (1, 'lamp')")


def test_each_operation(settings: Settings, database: str, orders: None) -> None:
    found = read_all(
        settings(skipped__operations="none"),
        "INSERT INTO orders VALUES (2, 'chair')",
        "UPDATE orders SET item = 'desk' WHERE id = 2",
        "UPDATE orders SET id = 3 WHERE id = 2",
        "DELETE FROM orders WHERE id = 3",
        "TRUNCATE orders",
    )
    assert {each.topic for each in found} == {"shop.public.orders"}
    shown = [
        (each.key, None)
        if each.value is None
        else (each.key, value(each)["op"], value(each)["before"], value(each)["after"])
        for each in found
    ]
    assert shown == [
        ('{"id":1}', "r", None, {"id": 1, "item": "lamp"}),
        ('{"id":2}', "c", None, {"id": 2, "item": "chair"}),
        ('{"id":2}', "u", None, {"id": 2, "item": "desk"}),
        ('{"id":2}', "d", {"id": 2, "item": None}, None),
        ('{"id":2}', None),
        ('{"id":3}', "c", None, {"id": 3, "item": "desk"}),
        ('{"id":3}', "d", {"id": 3, "item": None}, None),
        ('{"id":3}', None),
        (None, "t", None, None),
    ]
    snapshot, created = value(found[0]), value(found[1])
    assert list(created) == ["before", "after", "source", "op", "ts_ms", "transaction"]
    assert (
        created["source"].items()
        >= {
            "connector": "postgresql",
            "name": "shop",
            "db": database,
            "schema": "public",
            "table": "orders",
            "snapshot": "false",
            "xmin": None,
        }.items()
    )
    assert created["source"]["ts_ms"] == created["ts_ms"] == created["source"]["ts_us"] // 1000
    assert json.loads(created["source"]["sequence"])[1] == str(created["source"]["lsn"])
    assert created["source"]["txId"] < value(found[2])["source"]["txId"]
    assert (snapshot["source"]["snapshot"], snapshot["source"]["txId"]) == ("true", None)


def test_before_with_a_full_replica_identity(
    connection: psycopg.Connection, settings: Settings, orders: None
) -> None:
    connection.execute("ALTER TABLE orders REPLICA IDENTITY FULL")
    found = read_all(
        settings(snapshot__mode="no_data", tombstones__on__delete="false"),
        "UPDATE orders SET item = 'desk'",
        "DELETE FROM orders",
    )
    assert [each.key for each in found] == ['{"id":1}'] * 2, "of the primary key, not of all"
    assert [value(each)["before"]["item"] for each in found] == ["lamp", "desk"]


def test_transactions_with_their_tables_and_messages(
    connection: psycopg.Connection, settings: Settings, orders: None
) -> None:
    connection.execute("CREATE TABLE items (name text PRIMARY KEY)")
    given = settings(
        snapshot__mode="no_data",
        provide__transaction__metadata="true",
        message__prefix__include__list="mine.*",
    )
    found = read_all(
        given,
        [
            "INSERT INTO orders VALUES (2, 'a')",
            "INSERT INTO items VALUES ('a')",
            "SELECT pg_logical_emit_message(true, 'mine-1', 'hello')",
            "SELECT pg_logical_emit_message(true, 'other', 'hello')",
            "INSERT INTO orders VALUES (3, 'b')",
        ],
    )
    topics = [each.topic.removeprefix("shop.") for each in found]
    assert topics == [
        "transaction", "public.orders", "public.items", "message", "public.orders", "transaction",
    ]  # fmt: skip
    begin, first, item, message, last, end = map(value, found)
    assert (begin["status"], end["status"]) == ("BEGIN", "END")
    assert begin["id"] == end["id"] == first["transaction"]["id"]
    assert json.loads(found[0].key or "") == {"id": begin["id"]}
    orders_of = [(each["transaction"]["total_order"], each["transaction"]["data_collection_order"])
                 for each in (first, item, last)]  # fmt: skip
    assert orders_of == [(1, 1), (2, 1), (3, 2)]
    assert end["event_count"] == 3
    assert end["data_collections"] == [
        {"data_collection": "public.items", "event_count": 1},
        {"data_collection": "public.orders", "event_count": 2},
    ]
    assert message["op"] == "m"
    assert message["message"] == {"prefix": "mine-1", "content": "aGVsbG8="}
