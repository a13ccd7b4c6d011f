"""What goes wrong, and that it is said with what to do."""

import struct

import pytest

from barnabas.changes.errors import ChangesError
from barnabas.changes.events import Change
from barnabas.changes.mysql.changes import MySqlChanges
from barnabas.changes.mysql.position import binlog_position_of
from barnabas.changes.mysql.settings import mysql_settings
from barnabas.changes.mysql.table_map import MalformedEvent, table_map_of
from barnabas.errors import DataLost, InvalidArgument
from tests.changes.mysql.conftest import Execute, Read, Settings
from tests.changes.mysql.test_changes import after, rest
from tests.support.mariadb import MariaDb
from tests.support.wait import wait_until

LEAST = {"database.hostname": "localhost", "database.user": "changes", "topic.prefix": "shop"}


def test_a_log_that_was_purged(run: Execute, read: Read) -> None:
    run("CREATE TABLE a (id int PRIMARY KEY)")
    changes = read(snapshot__mode="no_data")
    position = changes.initial()
    run("INSERT INTO a VALUES (1)", "FLUSH BINARY LOGS", "INSERT INTO a VALUES (2)")
    found, end = rest(changes, position)
    assert [after(each) for each in found] == [{"id": 1}, {"id": 2}]

    def is_purged() -> bool:
        # The server keeps a file that it is sending, also for a moment after the reader has left.
        run(f"PURGE BINARY LOGS TO '{end.file}'")
        return run("SHOW BINARY LOGS")[0][0] == end.file

    wait_until(is_purged)
    with pytest.raises(DataLost, match=r"no longer has its log from .* reset"):
        changes.latest(position)
    with pytest.raises(DataLost, match="no longer has its log"):
        list(changes.read(position, end))
    with pytest.raises(DataLost, match="was its log reset"):
        changes.latest(end._replace(pos=end.pos + 1_000_000))


@pytest.mark.parametrize(
    ("options", "fix"),
    [
        ((), "start it with --log-bin"),
        (("--log-bin=bin", "--binlog-format=MIXED"), "SET GLOBAL binlog_format = ROW"),
        (
            ("--log-bin=bin", "--binlog-format=ROW", "--binlog-row-image=MINIMAL"),
            "SET GLOBAL binlog_row_image = FULL",
        ),
    ],
)
@pytest.mark.long
def test_a_server_that_does_not_log_enough(options: tuple[str, ...], fix: str) -> None:
    server = MariaDb(*options)
    try:
        given = mysql_settings(
            {**LEAST, "database.user": "root", "database.unix.socket": str(server.socket)}
        )
        with MySqlChanges(given) as changes, pytest.raises(ChangesError, match=fix):
            changes.initial()
    finally:
        server.close()


def test_rows_without_all_columns(run: Execute, read: Read) -> None:
    run("CREATE TABLE a (id int PRIMARY KEY, b int)")
    changes = read(snapshot__mode="no_data")
    position = changes.initial()
    run("SET STATEMENT binlog_row_image = MINIMAL FOR INSERT INTO a (id) VALUES (1)")
    with pytest.raises(MalformedEvent, match="SET GLOBAL binlog_row_image = FULL"):
        rest(changes, position)


def test_a_table_that_was_altered_without_names_in_the_log(run: Execute, read: Read) -> None:
    run("SET GLOBAL binlog_row_metadata = NO_LOG")
    try:
        run("CREATE TABLE a (id int PRIMARY KEY)")
        changes = read(snapshot__mode="no_data")
        position = changes.initial()
        run("INSERT INTO a VALUES (1)")
        found, position = rest(changes, position)
        assert [after(each) for each in found] == [{"id": 1}]
        run("ALTER TABLE a ADD b int FIRST", "INSERT INTO a VALUES (7, 2)")
        found, position = rest(changes, position)
        assert [after(each) for each in found] == [{"b": 7, "id": 2}]
        run("INSERT INTO a VALUES (8, 3)", "ALTER TABLE a DROP b")
        with pytest.raises(ChangesError, match="SET GLOBAL binlog_row_metadata = FULL"):
            rest(read(), position)
    finally:
        run("SET GLOBAL binlog_row_metadata = FULL")


def test_tables_as_they_were_at_the_time_of_the_change(run: Execute, read: Read) -> None:
    run("CREATE TABLE a (id int PRIMARY KEY, b int, c enum('x', 'y'))")
    changes = read(snapshot__mode="no_data")
    position = changes.initial()
    run(
        "INSERT INTO a VALUES (1, 2, 'y')",
        "ALTER TABLE a CHANGE b renamed varchar(10), MODIFY c enum('z', 'y', 'x')",
        "INSERT INTO a VALUES (2, 'two', 'z')",
        "ALTER TABLE a DROP PRIMARY KEY, ADD PRIMARY KEY (id, renamed)",
        "INSERT INTO a VALUES (3, 'three', 'x')",
        "RENAME TABLE a TO b",
        "DROP TABLE b",
    )
    found, _ = rest(changes, position)
    assert [after(each) for each in found] == [
        {"id": 1, "b": 2, "c": "y"},
        {"id": 2, "renamed": "two", "c": "z"},
        {"id": 3, "renamed": "three", "c": "x"},
    ]
    last = found[-1]
    assert last.after is not None
    assert last.table.key_json(last.after) == '{"id":3,"renamed":"three"}'


def test_a_compressed_log(run: Execute, read: Read) -> None:
    run("CREATE TABLE a (id int PRIMARY KEY, large text)", "SET GLOBAL log_bin_compress = ON")
    try:
        changes = read(snapshot__mode="no_data")
        position = changes.initial()
        run(
            "INSERT INTO a VALUES (1, repeat('x', 5000))",
            "UPDATE a SET large = repeat('y', 5000)",
            "DELETE FROM a",
        )
        found, _ = rest(changes, position)
    finally:
        run("SET GLOBAL log_bin_compress = OFF")
    assert [each.op for each in found] == ["c", "u", "d"]
    assert after(found[1])["large"] == "y" * 5000


def test_a_transaction_larger_than_what_is_kept(run: Execute, read: Read) -> None:
    run("CREATE TABLE a (id int PRIMARY KEY, large longtext)")
    changes = read(snapshot__mode="no_data")
    position = changes.initial()
    run("INSERT INTO a SELECT seq, repeat('x', 1000000) FROM seq_1_to_20")
    events = changes.read(position, changes.latest(position))
    ids = [after(each)["id"] for each in events if isinstance(each, Change)]
    assert ids == list(range(1, 21))


def test_wrong_names_and_no_access(run: Execute, settings: Settings) -> None:
    run("CREATE TABLE a (id int PRIMARY KEY)")
    with (
        MySqlChanges(mysql_settings(settings(table__include__list="shop.nothing"))) as changes,
        pytest.raises(ChangesError, match=r"no table matches 'shop.nothing'"),
    ):
        changes.initial()
    given = settings(database__user="stranger", database__password="top-secret")
    with (
        MySqlChanges(mysql_settings(given)) as changes,
        pytest.raises(ChangesError, match=r"set database\.user and database\.password") as error,
    ):
        changes.initial()
    assert "top-secret" not in str(error.value)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"topic.prefix": ""}, "set topic.prefix"),
        ({"database.user": ""}, "set database.user"),
        ({"slot.name": "x"}, "unknown setting 'slot.name'"),
        ({"snapshot.mod": "initial"}, "did you mean snapshot.mode"),
        ({"gtid.source.includes": "x"}, "by file and offset"),
        ({"time.precision.mode": "adaptive"}, "use adaptive_time_microseconds"),
        ({"database.server.id": "0"}, "use a number, 1 to"),
        ({"include.schema.changes": "true"}, "only false is supported"),
    ],
)
def test_settings(given: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        mysql_settings({**LEAST, **given})


@pytest.mark.parametrize("saved", [{}, {"lsn": "0/1"}, {"file": "bin", "pos": 4}])
def test_positions_of_something_else(saved: dict[str, object]) -> None:
    with pytest.raises(InvalidArgument, match="written by another source"):
        binlog_position_of(saved)


def test_an_event_that_is_cut_off() -> None:
    body = struct.pack("<IHH", 1, 0, 0) + b"\x04shop\0\x01a\0\x02\x03\x0f\x02\x10\0\x03"
    assert table_map_of(body, is_mariadb=True).table == "a"
    for size in range(len(body)):
        with pytest.raises(MalformedEvent):
            table_map_of(body[:size], is_mariadb=True)


def test_a_server_that_is_frozen(run: Execute, read: Read, server: MariaDb) -> None:
    run("CREATE TABLE a (id int PRIMARY KEY)", "INSERT INTO a SELECT seq FROM seq_1_to_9")
    changes = read(database__query__timeout__ms="1000")
    start = changes.initial()
    with server.frozen(), pytest.raises(ChangesError, match="timed out"):
        changes.latest(start)
    assert len(list(changes.read(start, changes.latest(start)))) == 9, "it is asked again"
