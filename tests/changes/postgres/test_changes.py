"""Changes of a real PostgreSQL: what is read, again and again, and after kills."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from random import Random

import psycopg
import pytest

from barnabas.changes.events import Change, TransactionEnd
from barnabas.changes.postgres.changes import PostgresChanges
from barnabas.changes.postgres.position import ChangePosition, position_of
from tests.changes.postgres.conftest import Read, Settings
from tests.changes.postgres.replica import Replica, plain
from tests.changes.postgres.workload import TABLES, Workload
from tests.support.postgres import Postgres
from tests.support.wait import wait_until

NO_KEY = "public.notes"
"""Rows that have no key may come twice, if a snapshot was interrupted."""


def rest(
    changes: PostgresChanges, position: ChangePosition, *, max_changes: int | None = None
) -> tuple[list[Change], ChangePosition]:
    """All changes from a position on, and where they end."""
    found: list[Change] = []
    while (end := changes.latest(position, max_changes)) != position:
        found += [each for each in changes.read(position, end) if isinstance(each, Change)]
        position = end
    return found, position


def after(change: Change) -> object:
    return None if change.after is None else json.loads(change.table.row_json(change.after))


def whole(change: Change) -> tuple[object, ...]:
    """All that is known of a change; tables are not equal, since they have functions."""
    table = change.table
    rows = [None if row is None else table.row_json(row) for row in (change.before, change.after)]
    return (change.op, table.full_name, *rows, change.lsn, change.time_us, change.transaction)


def present(settings: Settings, *, by_key: bool = False) -> dict[str, dict[str, object]]:
    """The rows of the database, as a snapshot has them; those of tables with a key if `by_key`."""
    replica = Replica()
    more = {"slot__name": "other_" + settings().get("slot.name", ""), "publication__name": "other"}
    with PostgresChanges(plain(settings(**more))) as changes:
        position = changes.initial()
        while position.snapshot is not None:
            end = changes.latest(position)
            replica.apply(changes.read(position, end))
            position = end
    if by_key:
        replica.tables.pop("public.notes", None)  # there may be no row
    return replica.shown()


def test_a_snapshot_in_chunks_and_then_changes(
    connection: psycopg.Connection, read: Read, settings: Settings
) -> None:
    connection.execute("CREATE TABLE a (id int PRIMARY KEY, name text)")
    connection.execute('CREATE TABLE b (name text COLLATE "C", n int, PRIMARY KEY (name, n))')
    connection.execute("INSERT INTO a SELECT n, 'a' || n FROM generate_series(1, 25) n")
    connection.execute("INSERT INTO b SELECT 'b' || n, n FROM generate_series(1, 12) n")
    changes = read(snapshot__fetch__size="10")
    position = changes.initial()
    connection.execute("INSERT INTO a VALUES (26, 'later')")
    connection.execute("DELETE FROM a WHERE id = 1")
    in_log, seen = rest(read(snapshot__fetch__size="7"), position)  # from another process
    found, end = rest(changes, position)
    assert end == seen
    assert list(map(whole, found)) == list(map(whole, in_log))
    assert [each.op for each in found] == ["r"] * 37 + ["c", "d"]
    of_a = [each for each in found[:37] if each.table.name == "a"]
    assert [after(each) for each in of_a] == [{"id": n, "name": f"a{n}"} for n in range(1, 26)]
    assert {each.lsn for each in found[:37]} == {position.lsn}
    assert after(found[37]) == {"id": 26, "name": "later"}
    assert position_of(json.loads(json.dumps(position.json()))) == position
    assert rest(changes, end) == ([], end)


def test_a_snapshot_goes_on_after_its_process_was_killed(
    connection: psycopg.Connection, read: Read, settings: Settings
) -> None:
    connection.execute(TABLES)
    Workload(connection, 1).fill(400)
    first = read(snapshot__fetch__size="20", table__exclude__list=NO_KEY)
    position = first.initial()
    replica = Replica()
    for _ in range(4):
        end = first.latest(position)
        replica.apply(first.read(position, end))
        position = end
    assert position.snapshot is not None
    first.close()  # and the exported snapshot with it
    Workload(connection, 2).run(60)
    second = read(snapshot__fetch__size="20", table__exclude__list=NO_KEY)
    found, position = rest(second, position)
    replica.apply(found)
    assert replica.shown() == present(settings, by_key=True)
    Workload(connection, 3).run(30)
    replica.apply(rest(second, position)[0])
    assert replica.shown() == present(settings, by_key=True)


def test_replayed_transactions_give_the_database(
    connection: psycopg.Connection, read: Read, settings: Settings
) -> None:
    connection.execute(TABLES)
    workload = Workload(connection, 20260101)
    workload.fill(100)
    changes = read(skipped__operations="none", snapshot__fetch__size="30")
    position = changes.initial()
    replica = Replica()
    random = Random(5)
    for _ in range(12):
        workload.run(random.randrange(10, 60))
        found, end = rest(changes, position, max_changes=random.choice([None, 20, 100]))
        another = read(skipped__operations="none", snapshot__fetch__size="30")
        if position.snapshot is None:
            again = rest(another, position)[0]
            assert list(map(whole, again)) == list(map(whole, found)), "not the same again"
        another.close()
        replica.apply(found)
        position = end
        changes.commit(position)
    assert replica.shown() == present(settings)


def test_a_limit_keeps_transactions_whole(connection: psycopg.Connection, read: Read) -> None:
    connection.execute("CREATE TABLE a (id int PRIMARY KEY)")
    changes = read(snapshot__mode="no_data")
    position = changes.initial()
    for number in range(40):
        connection.execute(
            "INSERT INTO a SELECT generate_series(%s::int, %s::int)",
            (number * 100, number * 100 + 29),
        )
    sizes = []
    while (end := changes.latest(position, 50)) != position:
        events = list(changes.read(position, end))
        sizes.append(sum(isinstance(each, Change) for each in events))
        assert sizes[-1] == 30 * sum(isinstance(each, TransactionEnd) for each in events)
        position = end
        changes.commit(position)
    assert sum(sizes) == 1200
    assert max(sizes) <= 90, sizes


def test_a_reader_that_is_killed_again_and_again(
    connection: psycopg.Connection, server: Postgres, settings: Settings, tmp_path: Path
) -> None:
    connection.execute(TABLES)
    workload = Workload(connection, 7)
    workload.fill(300)
    file = tmp_path / "replica.json"
    given = settings(
        table__exclude__list=NO_KEY, snapshot__fetch__size="40", slot__retry__delay__ms="50"
    )
    command = [
        sys.executable, "-W", "ignore", "-m", "tests.changes.postgres.replica", str(file),
        json.dumps(given),
    ]  # fmt: skip

    def steps() -> int:
        return int(json.loads(file.read_text())["steps"]) if file.exists() else -1

    random = Random(11)
    for _ in range(4):
        before = steps()
        with subprocess.Popen(command) as process:
            wanted = before + random.randrange(1, 6)
            try:
                while steps() < wanted:
                    assert process.poll() is None, "the reader has failed"
                    workload.run(5)
            finally:
                os.kill(process.pid, signal.SIGKILL)
    workload.run(20)
    expected = present(settings, by_key=True)

    def is_equal() -> bool:
        replica = Replica()
        replica.tables = json.loads(file.read_text())["tables"]
        return replica.shown() == expected

    with subprocess.Popen(command) as process:
        try:
            wait_until(is_equal)
        finally:
            process.kill()


@pytest.mark.long
def test_a_server_that_is_killed(read: Read) -> None:
    """Its slot may go back to an earlier position, and nothing comes twice or is missing."""
    server = Postgres(wal_level="logical")
    try:
        settings = {
            "database.hostname": str(server.folder),
            "database.user": "postgres",
            "database.dbname": "postgres",
            "topic.prefix": "shop",
            "skipped.operations": "none",
        }
        with server.connect() as connection:
            connection.execute(TABLES)
            Workload(connection, 1).fill(50)
        replica = Replica()
        with PostgresChanges(plain(settings)) as changes:
            found, position = rest(changes, changes.initial())
        replica.apply(found)
        seen = set()
        for round_ in range(2):
            with server.connect() as connection:
                Workload(connection, 100 + round_).run(40)
            with PostgresChanges(plain(settings)) as changes:
                found, position = rest(changes, position)
                changes.commit(position)
            numbers = {(each.transaction, each.total_order) for each in found}
            assert not numbers & seen, "came twice"
            seen |= numbers
            replica.apply(found)
            server.kill()
            server.start()
        assert replica.shown() == present(lambda **more: settings | _dotted(more))
    finally:
        server.close()


def _dotted(more: dict[str, str]) -> dict[str, str]:
    return {name.replace("__", "."): value for name, value in more.items()} | {"slot.name": "other"}
