"""Tables that are read again while changes go on, as signals ask for it, and after kills."""

import json
import logging
import os
import signal
import subprocess
import sys
from pathlib import Path
from random import Random

import psycopg
import pytest

from barnabas.changes.events import Change
from barnabas.changes.postgres.changes import PostgresChanges
from barnabas.changes.postgres.connection import ChangesError
from barnabas.changes.postgres.envelope import Envelope
from barnabas.changes.postgres.position import ChangePosition, position_of
from barnabas.changes.postgres.settings import change_settings
from tests.changes.postgres.conftest import Read, Settings
from tests.changes.postgres.replica import Replica
from tests.changes.postgres.test_changes import after, present, rest, whole
from tests.changes.postgres.workload import TABLES, Workload
from tests.support.wait import wait_until

SIGNALS = "CREATE TABLE signals (id text PRIMARY KEY, type text NOT NULL, data text)"
GIVEN = {
    "signal__data__collection": "public.signals",
    "table__exclude__list": "public.signals,public.notes",
    "incremental__snapshot__chunk__size": "30",
}


def send(connection: psycopg.Connection, number: str, kind: str, *tables: str) -> None:
    data = json.dumps({"data-collections": tables, "type": "incremental"}) if tables else None
    connection.execute("INSERT INTO signals VALUES (%s, %s, %s)", (number, kind, data))


def step(changes: PostgresChanges, position: ChangePosition) -> tuple[list[Change], ChangePosition]:
    """One batch, as a process that saves its position has it."""
    changes.commit(position)
    end = changes.latest(position)
    end = position_of(json.loads(json.dumps(end.json())))
    return [each for each in changes.read(position, end) if isinstance(each, Change)], end


@pytest.fixture
def table(connection: psycopg.Connection) -> None:
    connection.execute(SIGNALS)
    connection.execute("CREATE TABLE a (id int PRIMARY KEY, name text)")
    connection.execute("INSERT INTO a SELECT n, 'a' || n FROM generate_series(1, 70) n")


@pytest.mark.usefixtures("table")
def test_a_table_is_read_again_in_chunks_among_its_changes(
    connection: psycopg.Connection, read: Read, settings: Settings
) -> None:
    changes = read(snapshot__mode="no_data", **GIVEN)
    position = changes.initial()
    send(connection, "1", "execute-snapshot", "public.a")
    found, position = step(changes, position)
    assert found == []
    assert position.signals == ("1",)
    sizes = []
    for number in range(1, 4):
        connection.execute("UPDATE a SET name = 'changed' WHERE id = %s", (number,))
        found, position = step(changes, position)
        assert found[0].op == "u", "changes come first"
        rows = [each for each in found if each.op == "r"]
        assert all(each.is_incremental for each in rows)
        sizes.append(len(rows))
    assert sizes == [30, 30, 10]
    assert position.incremental is None
    assert connection.execute("SELECT count(*) FROM signals").fetchone() == (0,)
    assert rest(changes, position)[0] == []
    (record,) = Envelope(change_settings(settings())).records(rows[0])
    assert record.value is not None
    assert json.loads(record.value)["source"]["snapshot"] == "incremental"


@pytest.mark.usefixtures("table")
def test_a_change_that_was_under_way_wins_over_the_row(
    connection: psycopg.Connection, read: Read, settings: Settings, database: str
) -> None:
    """Its transaction has written before the chunk was read, and commits after."""
    changes = read(snapshot__mode="no_data", **GIVEN)
    position = changes.initial()
    with psycopg.connect(connection.info.dsn) as other:
        other.execute("UPDATE a SET name = 'new' WHERE id = 7")
        send(connection, "1", "execute-snapshot", "public.a")
        found, position = rest(changes, position)
        (row,) = [each for each in found if after(each) == {"id": 7, "name": "a7"}]
    (change,), _ = rest(changes, position)
    assert after(change) == {"id": 7, "name": "new"}
    assert change.lsn > row.lsn, "the change has to win by the greatest lsn, too"


@pytest.mark.usefixtures("table")
def test_a_chunk_that_is_read_again_may_be_newer_and_its_changes_follow(
    connection: psycopg.Connection, read: Read, settings: Settings
) -> None:
    changes = read(snapshot__mode="no_data", **GIVEN)
    position = changes.initial()
    send(connection, "1", "execute-snapshot", "public.a")
    _, position = step(changes, position)
    end = changes.latest(position)
    first = [whole(each) for each in changes.read(position, end) if isinstance(each, Change)]
    connection.execute("UPDATE a SET name = 'newer' WHERE id = 3")
    connection.execute("DELETE FROM a WHERE id = 4")
    replica = Replica()
    again = read(snapshot__mode="no_data", **GIVEN)
    replica.apply(again.read(position, end))
    assert len(replica.tables["public.a"]) == len(first) - 1
    replica.apply(rest(again, end)[0])
    assert replica.shown() == {"public.a": present(settings)["public.a"]}


@pytest.mark.usefixtures("table")
def test_signals_pause_resume_and_stop(connection: psycopg.Connection, read: Read) -> None:
    connection.execute("CREATE TABLE b (id int PRIMARY KEY)")
    connection.execute("INSERT INTO b SELECT generate_series(1, 40)")
    changes = read(snapshot__mode="no_data", **GIVEN)
    position = changes.initial()
    send(connection, "1", "execute-snapshot", "public.*")
    _, position = step(changes, position)
    assert position.incremental is not None
    assert position.incremental.tables == ("public.a", "public.b")
    first, position = step(changes, position)
    send(connection, "2", "pause-snapshot")
    _, position = step(changes, position)
    for _ in range(2):
        found, position = step(changes, position)
        assert found == []
    send(connection, "3", "resume-snapshot")
    send(connection, "4", "stop-snapshot", "public.a")
    more, position = rest(changes, position)
    assert [each.table.name for each in first] == ["a"] * 30
    assert [each.table.name for each in more] == ["b"] * 40
    send(connection, "5", "execute-snapshot", "public.b")
    send(connection, "6", "stop-snapshot")
    assert rest(changes, position)[0] == []


@pytest.mark.usefixtures("table")
@pytest.mark.parametrize(
    ("kind", "data", "problem"),
    [
        ("execute-snapshot", '{"data-collections": ["public.none"]}', "table.include.list"),
        ("execute-snapshot", '{"data-collections": "public.a"}', "has to be a list of tables"),
        ("execute-snapshot", '{"data-collections": ["("]}', "no regular expressions"),
        ("execute-snapshot", "[", "not a JSON object"),
        ("execute-snapshot", '{"data-collections": ["public.a"], "type": "blocking"}', "blocking"),
        (
            "execute-snapshot",
            '{"data-collections": ["public.a"], "additional-conditions": [{"filter": "x"}]}',
            "additional-conditions is not supported",
        ),
        ("dance", "", "use execute-snapshot"),
    ],
)
def test_a_bad_signal_is_said_and_stops_nothing(
    connection: psycopg.Connection,
    read: Read,
    caplog: pytest.LogCaptureFixture,
    kind: str,
    data: str,
    problem: str,
) -> None:
    changes = read(snapshot__mode="no_data", **GIVEN)
    position = changes.initial()
    connection.execute("INSERT INTO signals VALUES ('bad', %s, %s)", (kind, data))
    connection.execute("INSERT INTO a VALUES (100, 'new')")
    with caplog.at_level(logging.WARNING):
        found, position = rest(changes, position)
    assert problem in caplog.text
    assert [after(each) for each in found] == [{"id": 100, "name": "new"}]
    changes.commit(position)
    assert position.incremental is None


def test_a_table_of_signals_that_is_not_there(connection: psycopg.Connection, read: Read) -> None:
    connection.execute("CREATE TABLE a (id int PRIMARY KEY)")
    changes = read(snapshot__mode="no_data", **GIVEN)
    position = changes.initial()
    with pytest.raises(ChangesError, match=r"CREATE TABLE public.signals \(id text PRIMARY KEY"):
        changes.latest(position)


def test_a_new_table_gets_its_rows(
    connection: psycopg.Connection, read: Read, settings: Settings
) -> None:
    connection.execute(SIGNALS)
    connection.execute("CREATE TABLE a (id int PRIMARY KEY)")
    _, position = rest(read(**GIVEN), read(**GIVEN).initial())
    connection.execute("CREATE TABLE b (id int PRIMARY KEY, name text)")
    connection.execute("INSERT INTO b SELECT n, 'b' FROM generate_series(1, 50) n")
    changes = read(**GIVEN)  # as after a restart
    replica = Replica()
    send(connection, "1", "execute-snapshot", "public.b")
    while (end := changes.latest(position)) != position:
        replica.apply(changes.read(position, end))
        connection.execute("UPDATE b SET name = name || 'b' WHERE id % 7 = 1 AND length(name) < 4")
        connection.execute("DELETE FROM b WHERE id = 30")
        position = end
    assert replica.shown()["public.b"] == present(settings)["public.b"]


@pytest.mark.long
def test_a_reader_that_is_killed_while_tables_are_read_again(
    connection: psycopg.Connection, settings: Settings, tmp_path: Path
) -> None:
    """Its copy starts empty: everything in it comes by signals and changes."""
    connection.execute(SIGNALS)
    connection.execute(TABLES)
    workload = Workload(connection, 77)
    workload.fill(600)
    file = tmp_path / "replica.json"
    given = settings(snapshot__mode="no_data", slot__retry__delay__ms="50", **GIVEN)
    command = [
        sys.executable, "-W", "ignore", "-m", "tests.changes.postgres.replica", str(file),
        json.dumps(given),
    ]  # fmt: skip

    def saved(name: str) -> object:
        return json.loads(file.read_text())[name] if file.exists() else None

    random = Random(12)
    with subprocess.Popen(command) as process:
        wait_until(lambda: saved("steps") is not None)
        process.kill()
    send(connection, "1", "execute-snapshot", "public.accounts", "public.items", "public.moves")
    for _ in range(5):
        before = saved("steps")
        assert isinstance(before, int)
        with subprocess.Popen(command) as process:
            wanted = before + random.randrange(1, 5)
            try:
                while (steps := saved("steps")) is None or int(str(steps)) < wanted:
                    assert process.poll() is None, "the reader has failed"
                    workload.run(4)
            finally:
                os.kill(process.pid, signal.SIGKILL)
    workload.run(10)
    expected = present(settings, by_key=True)
    expected.pop("public.signals", None)

    def is_equal() -> bool:
        replica = Replica()
        replica.tables = json.loads(file.read_text())["tables"]
        return replica.shown() == expected

    with subprocess.Popen(command) as process:
        try:
            wait_until(is_equal)
        finally:
            process.kill()


# -- snapshot.mode -------------------------------------------------------------------------------


@pytest.mark.usefixtures("table")
def test_always_reads_the_tables_at_each_start(connection: psycopg.Connection, read: Read) -> None:
    given = {"snapshot__mode": "always", "table__include__list": "public.a"}
    first = read(**given)
    found, position = rest(first, first.initial())
    assert [each.op for each in found] == ["r"] * 70
    connection.execute("INSERT INTO a VALUES (71, 'new')")
    found, position = rest(first, position)
    assert [each.op for each in found] == ["c"]
    found, position = rest(read(**given), position)
    assert [each.op for each in found] == ["r"] * 71


@pytest.mark.usefixtures("table")
@pytest.mark.parametrize("is_planned", [False, True])
@pytest.mark.parametrize("is_created_again", [False, True])
def test_a_lost_slot_is_replaced_when_needed(
    connection: psycopg.Connection, read: Read, is_planned: bool, is_created_again: bool
) -> None:
    given = {"snapshot__mode": "when_needed", "table__include__list": "public.a"}
    changes = read(**given)
    found, position = rest(changes, changes.initial())
    assert len(found) == 70
    changes.close()
    connection.execute("INSERT INTO a VALUES (71, 'planned')")
    end = read(**given).latest(position)
    name = connection.info.dbname
    connection.execute("SELECT pg_drop_replication_slot(%s)", (name,))
    connection.execute("INSERT INTO a VALUES (72, 'not in a log')")
    if is_created_again:
        connection.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", (name,))
    changes = read(**given)
    replica = Replica()
    if is_planned:
        replica.apply(changes.read(position, end))
        position = end
    found, position = rest(changes, position)
    replica.apply(found)
    assert len(replica.tables["public.a"]) == 72
    connection.execute("INSERT INTO a VALUES (73, 'later')")
    assert [each.op for each in rest(changes, position)[0]] == ["c"]
