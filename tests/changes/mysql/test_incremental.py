"""Tables of a MariaDB that are read again while changes go on, as signals ask for it."""

import json
import logging
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from random import Random

import pytest

from barnabas.changes.errors import ChangesError
from barnabas.changes.events import Change
from barnabas.changes.mysql.changes import MySqlChanges
from barnabas.changes.mysql.envelope import MySqlEnvelope
from barnabas.changes.mysql.position import BinlogPosition, binlog_position_of
from barnabas.changes.mysql.settings import mysql_settings
from tests.changes.mysql.conftest import Execute, Read, Settings
from tests.changes.mysql.test_changes import after, connected, present, rest
from tests.changes.mysql.workload import TABLES, Workload
from tests.changes.postgres.replica import Replica
from tests.support.mariadb import MariaDb
from tests.support.wait import wait_until

SIGNALS = "CREATE TABLE signals (id varchar(64) PRIMARY KEY, type varchar(32) NOT NULL, data text)"


@pytest.fixture
def given(database: str) -> dict[str, str]:
    return {
        "signal__data__collection": f"{database}.signals",
        "table__exclude__list": f"{database}.signals,{database}.notes",
        "incremental__snapshot__chunk__size": "30",
        "snapshot__mode": "no_data",
    }


@pytest.fixture
def table(run: Execute) -> None:
    run(
        SIGNALS,
        "CREATE TABLE a (id int PRIMARY KEY, name text)",
        "INSERT INTO a SELECT seq, concat('a', seq) FROM seq_1_to_70",
    )


def send(run: Execute, number: str, kind: str, *tables: str) -> None:
    data = json.dumps({"data-collections": tables, "type": "incremental"}) if tables else ""
    run(f"INSERT INTO signals VALUES ('{number}', '{kind}', '{data}')")


def step(changes: MySqlChanges, position: BinlogPosition) -> tuple[list[Change], BinlogPosition]:
    """One batch, as a process that saves its position has it."""
    changes.commit(position)
    end = changes.latest(position)
    end = binlog_position_of(json.loads(json.dumps(end.json())))
    return [each for each in changes.read(position, end) if isinstance(each, Change)], end


@pytest.mark.usefixtures("table")
def test_a_table_is_read_again_in_chunks_among_its_changes(
    run: Execute, read: Read, settings: Settings, given: dict[str, str], database: str
) -> None:
    changes = read(**given)
    position = changes.initial()
    send(run, "1", "execute-snapshot", f"{database}.a")
    found, position = step(changes, position)
    assert found == []
    assert position.signals == ("1",)
    sizes = []
    for number in range(1, 4):
        run(f"UPDATE a SET name = 'changed' WHERE id = {number}")
        found, position = step(changes, position)
        assert found[0].op == "u", "changes come first"
        rows = [each for each in found if each.op == "r"]
        assert all(each.is_incremental for each in rows)
        sizes.append(len(rows))
        assert after(rows[0])["id"] == 30 * (number - 1) + 1
    assert sizes == [30, 30, 10]
    assert position.incremental is None
    assert run("SELECT count(*) FROM signals") == [(0,)], "no signal, and no watermark"
    assert rest(changes, position)[0] == []
    (record,) = MySqlEnvelope(mysql_settings(settings())).records(rows[0])
    assert record.value is not None
    assert json.loads(record.value)["source"]["snapshot"] == "incremental"


@pytest.mark.usefixtures("table")
def test_a_change_that_was_under_way_wins_over_the_row(
    run: Execute, read: Read, server: MariaDb, database: str, given: dict[str, str]
) -> None:
    """Its transaction has written before the chunk was read, and commits after."""
    changes = read(**given)
    position = changes.initial()
    with connected(server, database) as other, other.cursor() as cursor:
        cursor.execute("START TRANSACTION")
        cursor.execute("UPDATE a SET name = 'new' WHERE id = 7")
        send(run, "1", "execute-snapshot", f"{database}.a")
        found, position = rest(changes, position)
        (row,) = [each for each in found if after(each) == {"id": 7, "name": "a7"}]
        cursor.execute("COMMIT")
    (change,) = [each for each in rest(changes, position)[0] if each.op == "u"]
    assert after(change) == {"id": 7, "name": "new"}
    assert change.lsn > row.lsn, "the change has to win by the greatest lsn, too"


@pytest.mark.usefixtures("table")
def test_a_chunk_that_is_read_again_may_be_newer_and_its_changes_follow(
    run: Execute, read: Read, settings: Settings, given: dict[str, str], database: str
) -> None:
    changes = read(**given)
    position = changes.initial()
    send(run, "1", "execute-snapshot", f"{database}.a")
    _, position = step(changes, position)
    end = changes.latest(position)
    first = list(changes.read(position, end))
    run("UPDATE a SET name = 'newer' WHERE id = 3", "DELETE FROM a WHERE id = 4")
    replica = Replica()
    again = read(**given)
    replica.apply(again.read(position, end))
    assert len(replica.tables[f"{database}.a"]) == len(first) - 1
    replica.apply(rest(again, end)[0])
    assert replica.shown() == present(settings(), "signals")


@pytest.mark.usefixtures("table")
def test_rows_have_all_changes_before_them(
    run: Execute, read: Read, server: MariaDb, database: str, given: dict[str, str]
) -> None:
    """A transaction is in the log before others see it: here it waits for a replica in between."""
    changes = read(**given)
    position = changes.initial()
    send(run, "1", "execute-snapshot", f"{database}.a")
    _, position = step(changes, position)
    changes.commit(position)
    before = changes.end(position).lsn

    def update() -> None:
        server.execute("UPDATE a SET name = 'new' WHERE id = 7", database)

    def release() -> None:
        server.execute("SET GLOBAL rpl_semi_sync_master_enabled = OFF")

    writer, later = threading.Thread(target=update), threading.Timer(0.5, release)
    run(
        "SET GLOBAL rpl_semi_sync_master_wait_point = AFTER_SYNC",
        "SET GLOBAL rpl_semi_sync_master_timeout = 100000",
        "SET GLOBAL rpl_semi_sync_master_enabled = ON",
    )
    try:
        writer.start()
        wait_until(lambda: changes.end(position).lsn > before)
        assert run("SELECT name FROM a WHERE id = 7") == [("a7",)], "others do not see it yet"
        events = changes.read(position, changes.latest(position))
        later.start()
        found = [(each.op, after(each)) for each in events if isinstance(each, Change)]
        new = {"id": 7, "name": "new"}
        assert [each for each in found if each[1]["id"] == 7] == [("u", new), ("r", new)]
    finally:
        release()
        writer.join()


@pytest.mark.usefixtures("table")
def test_signals_pause_resume_and_stop(
    run: Execute, read: Read, given: dict[str, str], database: str
) -> None:
    run("CREATE TABLE b (id int PRIMARY KEY)", "INSERT INTO b SELECT seq FROM seq_1_to_40")
    changes = read(**given)
    position = changes.initial()
    send(run, "1", "execute-snapshot", f"{database}.*")
    _, position = step(changes, position)
    assert position.incremental is not None
    assert position.incremental.tables == (f"{database}.a", f"{database}.b")
    first, position = step(changes, position)
    send(run, "2", "pause-snapshot")
    _, position = step(changes, position)
    for _ in range(2):
        found, position = step(changes, position)
        assert found == []
    send(run, "3", "resume-snapshot")
    send(run, "4", "stop-snapshot", f"{database}.a")
    more, position = rest(changes, position)
    assert [each.table.name for each in first] == ["a"] * 30
    assert [each.table.name for each in more] == ["b"] * 40


@pytest.mark.usefixtures("table")
def test_a_bad_signal_is_said_and_stops_nothing(
    run: Execute, read: Read, given: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    changes = read(**given)
    position = changes.initial()
    send(run, "1", "execute-snapshot", "elsewhere.a")
    run("INSERT INTO a VALUES (100, 'new')")
    with caplog.at_level(logging.WARNING):
        found, position = rest(changes, position)
    assert "table.include.list" in caplog.text
    assert [after(each) for each in found] == [{"id": 100, "name": "new"}]
    assert position.incremental is None


def test_a_table_of_signals_that_is_not_there_or_can_not_be_written(
    run: Execute, read: Read, given: dict[str, str], database: str, server: MariaDb
) -> None:
    run("CREATE TABLE a (id int PRIMARY KEY)", "INSERT INTO a VALUES (1)")
    changes = read(**given)
    position = changes.initial()
    with pytest.raises(ChangesError, match=r"signals \(id VARCHAR\(64\) PRIMARY KEY"):
        changes.latest(position)
    run(
        SIGNALS,
        f"CREATE USER reader_{database}",
        f"GRANT REPLICATION SLAVE, BINLOG MONITOR ON *.* TO reader_{database}",
        f"GRANT SELECT ON {database}.* TO reader_{database}",
    )
    send(run, "1", "execute-snapshot", f"{database}.a")
    changes = read(**given, database__user=f"reader_{database}")
    end = changes.latest(position)
    with pytest.raises(ChangesError, match=r"GRANT SELECT, INSERT, DELETE ON .*denied"):
        list(changes.read(end, changes.latest(end)))
    server.execute(f"DROP USER reader_{database}")


@pytest.mark.long  # MariaDB once died of it, and with it all tests that share the server
def test_a_reader_that_is_killed_while_tables_are_read_again(
    run: Execute,
    server: MariaDb,
    database: str,
    settings: Settings,
    given: dict[str, str],
    tmp_path: Path,
) -> None:
    """Its copy starts empty: everything in it comes by signals and changes."""
    run(SIGNALS, *TABLES)
    file = tmp_path / "replica.json"
    command = [
        sys.executable, "-W", "ignore", "-m", "tests.changes.mysql.replica", str(file),
        json.dumps(settings(**given)),
    ]  # fmt: skip

    def steps() -> int:
        return int(json.loads(file.read_text())["steps"]) if file.exists() else -1

    def found() -> dict[str, dict[str, object]]:
        replica = Replica()
        replica.tables = json.loads(file.read_text())["tables"]
        return replica.shown()

    random = Random(12)
    with connected(server, database) as connection:
        workload = Workload(connection, 77)
        workload.fill(300)
        with subprocess.Popen(command) as process:
            wait_until(lambda: steps() >= 0)
            process.kill()
        tables = [f"{database}.{each}" for each in ("accounts", "items", "moves")]
        send(run, "1", "execute-snapshot", *tables)
        for _ in range(5):
            wanted = steps() + random.randrange(1, 5)
            with subprocess.Popen(command) as process:
                try:
                    while steps() < wanted:
                        assert process.poll() is None, "the reader has failed"
                        workload.run(4)
                finally:
                    os.kill(process.pid, signal.SIGKILL)
        workload.run(10)
    expected = present(settings(), "signals", "notes")
    with subprocess.Popen(command) as process:
        try:
            wait_until(lambda: found() == expected)
        finally:
            process.kill()
