"""Changes of a real MariaDB: what is read, again and again, and after kills."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import pymysql
import pytest

from barnabas.changes.events import Change, TransactionEnd
from barnabas.changes.mysql.changes import MySqlChanges
from barnabas.changes.mysql.position import BinlogPosition, binlog_position_of
from tests.changes.mysql.conftest import LOGGED, Execute, Read, Settings
from tests.changes.mysql.replica import plain
from tests.changes.mysql.workload import TABLES, Workload
from tests.changes.postgres.replica import Replica
from tests.support.mariadb import MariaDb
from tests.support.wait import wait_until


def rest(
    changes: MySqlChanges, position: BinlogPosition, *, max_changes: int | None = None
) -> tuple[list[Change], BinlogPosition]:
    """All changes from a position on, and where they end."""
    found: list[Change] = []
    while (end := changes.latest(position, max_changes)) != position:
        found += [each for each in changes.read(position, end) if isinstance(each, Change)]
        position = end
    return found, position


def after(change: Change) -> Any:
    return None if change.after is None else json.loads(change.table.row_json(change.after))


def whole(change: Change) -> tuple[object, ...]:
    """All that is known of a change; tables are not equal, since they have functions."""
    table = change.table
    rows = [None if row is None else table.row_json(row) for row in (change.before, change.after)]
    return (change.op, table.full_name, *rows, change.lsn, change.time_us, change.transaction)


def present(given: dict[str, str], *leave_out: str) -> dict[str, dict[str, object]]:
    """The rows of the database, as a snapshot has them."""
    replica = Replica()
    with MySqlChanges(plain(given)) as changes:
        position = changes.initial()
        while position.snapshot is not None:
            end = changes.latest(position)
            replica.apply(changes.read(position, end))
            position = end
    return {
        name: rows
        for name, rows in replica.shown().items()
        if name.partition(".")[2] not in leave_out
    }


@contextmanager
def connected(server: MariaDb, database: str) -> Iterator[Any]:
    connection = pymysql.connect(
        unix_socket=str(server.socket), user="root", database=database, autocommit=True
    )
    with connection:
        yield connection


def test_a_snapshot_in_chunks_and_then_changes(run: Execute, read: Read) -> None:
    run(
        "CREATE TABLE a (id int PRIMARY KEY, name text)",
        "CREATE TABLE b (name varchar(20), n int, PRIMARY KEY (name, n))",
        "INSERT INTO a SELECT seq, concat('a', seq) FROM seq_1_to_25",
        "INSERT INTO b SELECT concat('B', seq DIV 4), seq FROM seq_1_to_12",
    )
    changes = read(snapshot__fetch__size="10")
    position = changes.initial()
    run("INSERT INTO a VALUES (26, 'later')", "DELETE FROM a WHERE id = 1")
    found, end = rest(changes, position)
    assert [each.op for each in found] == ["r"] * 37 + ["c", "d"]
    of_a = [each for each in found[:37] if each.table.name == "a"]
    assert [after(each) for each in of_a] == [{"id": n, "name": f"a{n}"} for n in range(1, 26)]
    assert {each.lsn for each in found[:37]} == {position.lsn}
    assert after(found[37]) == {"id": 26, "name": "later"}
    assert binlog_position_of(json.loads(json.dumps(position.json()))) == position
    assert rest(changes, end) == ([], end)


def test_a_snapshot_goes_on_in_another_process(
    run: Execute, read: Read, server: MariaDb, database: str, settings: Settings
) -> None:
    run(*TABLES)
    with connected(server, database) as connection:
        Workload(connection, 1).fill(400)
        more = {"snapshot__fetch__size": "20", "table__exclude__list": f"{database}.notes"}
        first = read(**more)
        position = first.initial()
        replica = Replica()
        for _ in range(4):
            end = first.latest(position)
            replica.apply(first.read(position, end))
            position = end
        assert position.snapshot is not None
        first.close()  # and its transaction with it
        Workload(connection, 2).run(60)
        second = read(**more)
        found, position = rest(second, position)
        replica.apply(found)
        assert replica.shown() == present(settings(), "notes")


def test_replayed_transactions_give_the_database(
    run: Execute, read: Read, server: MariaDb, database: str, settings: Settings
) -> None:
    run(*TABLES)
    replica = Replica()
    random = Random(5)
    with connected(server, database) as connection:
        workload = Workload(connection, 20260101)
        workload.fill(100)
        changes = read(skipped__operations="none", snapshot__fetch__size="30")
        found, position = rest(changes, changes.initial())
        replica.apply(found)
        for _ in range(8):
            workload.run(random.randrange(10, 60))
            if random.random() < 0.3:
                run("FLUSH BINARY LOGS")
            found, end = rest(changes, position, max_changes=random.choice([None, 20, 100]))
            again = rest(read(skipped__operations="none"), position)[0]
            assert list(map(whole, again)) == list(map(whole, found)), "not the same again"
            replica.apply(found)
            position = end
    numbers = [each.lsn for each in found]
    assert numbers == sorted(numbers)
    assert replica.shown() == present(settings())


@pytest.mark.long
def test_a_limit_keeps_transactions_whole(run: Execute, read: Read) -> None:
    run("CREATE TABLE a (id int PRIMARY KEY)")
    changes = read(snapshot__mode="no_data")
    position = changes.initial()
    for number in range(40):
        first = number * 100
        run(f"INSERT INTO a SELECT seq FROM seq_{first}_to_{first + 29}")
    sizes = []
    while (end := changes.latest(position, 50)) != position:
        events = list(changes.read(position, end))
        sizes.append(sum(isinstance(each, Change) for each in events))
        assert sizes[-1] == 30 * sum(isinstance(each, TransactionEnd) for each in events)
        position = end
    assert sum(sizes) == 1200
    assert max(sizes) <= 90, sizes


@pytest.mark.long
def test_a_reader_that_is_killed_again_and_again(
    run: Execute, server: MariaDb, database: str, settings: Settings, tmp_path: Path
) -> None:
    run(*TABLES)
    file = tmp_path / "replica.json"
    given = settings(table__exclude__list=f"{database}.notes", snapshot__fetch__size="40")
    command = [
        sys.executable, "-W", "ignore", "-m", "tests.changes.mysql.replica", str(file),
        json.dumps(given),
    ]  # fmt: skip

    def steps() -> int:
        return int(json.loads(file.read_text())["steps"]) if file.exists() else -1

    random = Random(11)
    with connected(server, database) as connection:
        workload = Workload(connection, 7)
        workload.fill(300)
        for _ in range(4):
            wanted = steps() + random.randrange(1, 6)
            with subprocess.Popen(command) as process:
                try:
                    while steps() < wanted:
                        assert process.poll() is None, "the reader has failed"
                        workload.run(5)
                finally:
                    os.kill(process.pid, signal.SIGKILL)
        workload.run(20)
    expected = present(settings(), "notes")

    def found() -> dict[str, dict[str, Any]]:
        replica = Replica()
        replica.tables = json.loads(file.read_text())["tables"]
        return replica.shown()

    with subprocess.Popen(command) as process:
        try:
            wait_until(lambda: found() == expected, lambda: _difference(found(), expected))
        finally:
            process.kill()


@pytest.mark.long
def test_a_server_that_is_killed() -> None:
    """Nothing comes twice or is missing, and the log goes on in another file."""
    server = MariaDb(*LOGGED, "--sync-binlog=1")
    try:
        given = {
            "database.hostname": "localhost",
            "database.unix.socket": str(server.socket),
            "database.user": "root",
            "database.include.list": "shop",
            "topic.prefix": "shop",
            "skipped.operations": "none",
        }
        for each in TABLES:
            server.execute(each, "shop")
        replica = Replica()
        with MySqlChanges(plain(given)) as changes:
            position = changes.initial()
            found, position = rest(changes, position)
        replica.apply(found)
        seen: set[tuple[object, int]] = set()
        for round_ in range(2):
            with connected(server, "shop") as connection:
                Workload(connection, 100 + round_).run(40)
            server.kill()
            server.start()
            with MySqlChanges(plain(given)) as changes:
                before = position
                found, position = rest(changes, position)
            assert position.file != before.file
            numbers = {(each.transaction, each.total_order) for each in found}
            assert not numbers & seen, "came twice"
            seen |= numbers
            replica.apply(found)
        assert replica.shown() == present(given)
    finally:
        server.close()


def _difference(found: dict[str, Any], expected: dict[str, Any]) -> str:
    rows = [
        (table, key, found.get(table, {}).get(key), expected.get(table, {}).get(key))
        for table in expected
        for key in found.get(table, {}).keys() | expected[table].keys()
    ]
    return str([each for each in rows if each[2] != each[3]][:5])
