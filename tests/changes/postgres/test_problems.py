"""What can go wrong with a real PostgreSQL, and that the error names what to do."""

from base64 import b64encode

import psycopg
import pytest

from barnabas.changes.errors import ChangesError
from barnabas.changes.events import Change
from barnabas.changes.postgres.changes import PostgresChanges
from barnabas.changes.postgres.lsn import format_lsn, parse_lsn
from barnabas.changes.postgres.position import ChangePosition
from barnabas.changes.postgres.settings import change_settings
from barnabas.errors import DataLost
from tests.changes.postgres.conftest import Read, Settings
from tests.changes.postgres.replica import plain
from tests.changes.postgres.test_changes import after, rest
from tests.support.postgres import Postgres
from tests.support.wait import wait_until

SECRET = "s3cret-of-nobody"


@pytest.fixture
def table(connection: psycopg.Connection) -> None:
    connection.execute("CREATE TABLE a (id int PRIMARY KEY, name text)")
    connection.execute("INSERT INTO a VALUES (1, 'one')")


def confirmed(connection: psycopg.Connection, slot: str) -> str:
    row = connection.execute(
        "SELECT confirmed_flush_lsn::text FROM pg_replication_slots WHERE slot_name = %s", (slot,)
    ).fetchone()
    assert row is not None
    return str(row[0])


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ({"database__user": "stranger"}, 'role "stranger" does not exist.*database.user right'),
        ({"database__dbname": "nowhere"}, 'database "nowhere" does not exist.*database.dbname'),
        ({"database__hostname": "/nowhere"}, "is the server running"),
        ({"database__port": "1"}, "can't connect to .*:1 as postgres"),
    ],
)
def test_a_database_that_cannot_be_reached(
    read: Read, wrong: dict[str, str], complaint: str
) -> None:
    with pytest.raises(ChangesError, match=complaint) as raised:
        read(**wrong, database__password=SECRET).initial()
    assert SECRET not in str(raised.value)
    assert SECRET not in repr(plain_settings(wrong))


def plain_settings(wrong: dict[str, str]) -> object:
    given = {"database.dbname": "x", "topic.prefix": "y", "database.password": SECRET}
    return change_settings(given | {name.replace("__", "."): each for name, each in wrong.items()})


def test_a_user_without_the_rights(
    connection: psycopg.Connection, read: Read, table: None, database: str
) -> None:
    connection.execute(f"CREATE ROLE {database}_plain LOGIN")
    changes = read(database__user=f"{database}_plain")
    try:
        with pytest.raises(ChangesError, match=r"can't create publication.*needs the attribute"):
            changes.initial()
    finally:
        changes.close()
        connection.execute(f"DROP ROLE {database}_plain")


@pytest.mark.long
def test_a_server_without_logical_decoding_and_one_that_removes_its_log() -> None:
    server = Postgres(wal_level="replica", max_slot_wal_keep_size="1MB", min_wal_size="32MB")
    given = {
        "database.hostname": str(server.folder),
        "database.user": "postgres",
        "database.dbname": "postgres",
        "topic.prefix": "shop",
    }
    try:
        with server.connect() as connection:
            connection.execute("CREATE TABLE a (id int PRIMARY KEY, name text)")
        with (
            PostgresChanges(plain(given)) as changes,
            pytest.raises(ChangesError, match="ALTER SYSTEM SET wal_level = logical and restart"),
        ):
            changes.initial()
        server.stop()
        server.configure(wal_level="logical", max_wal_size="32MB")
        server.start()
    except BaseException:
        server.close()
        raise
    try:
        with PostgresChanges(plain(given)) as changes, server.connect() as connection:
            _, position = rest(changes, changes.initial())

            def is_lost() -> bool:
                connection.execute("SELECT pg_logical_emit_message(false, 'x', repeat('x', 999))")
                connection.execute("SELECT pg_switch_wal()")
                connection.execute("CHECKPOINT")
                row = connection.execute("SELECT wal_status FROM pg_replication_slots").fetchone()
                return row == ("lost",)

            wait_until(is_lost)
            with pytest.raises(DataLost, match=r"slot barnabas_shop is lost.*pipeline reset"):
                changes.latest(position)
    finally:
        server.close()


def test_a_slot_that_is_gone_or_another_one_or_ahead(
    connection: psycopg.Connection, read: Read, table: None, database: str
) -> None:
    changes = read()
    _, position = rest(changes, changes.initial())
    connection.execute("INSERT INTO a VALUES (2, 'two')")
    connection.execute("SELECT pg_drop_replication_slot(%s)", (database,))
    with pytest.raises(DataLost, match=f"slot {database} does not exist .* was it dropped"):
        changes.latest(position)
    connection.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", (database,))
    # Going on where the slot is would skip a row.
    for use in (changes.latest, lambda at: list(changes.read(at, at))):
        with pytest.raises(DataLost, match="it was created again, or something else has read"):
            use(position)
    ahead = ChangePosition(position.lsn + (1 << 40))
    with pytest.raises(DataLost, match="restored from a backup"):
        changes.latest(ahead)


def test_a_slot_of_another_database(server: Postgres, read: Read, table: None) -> None:
    with server.connect() as elsewhere:
        elsewhere.execute("SELECT pg_create_logical_replication_slot('odd', 'pgoutput')")
        try:
            with pytest.raises(ChangesError, match=r"in database postgres, .* set slot.name to"):
                read(slot__name="odd").initial()
        finally:
            elsewhere.execute("SELECT pg_drop_replication_slot('odd')")


def test_a_slot_that_is_in_use(
    connection: psycopg.Connection, server: Postgres, read: Read, table: None, database: str
) -> None:
    changes = read(slot__max__retries="1", slot__retry__delay__ms="10")
    _, position = rest(changes, changes.initial())
    connection.execute("INSERT INTO a VALUES (2, 'two')")
    holder = psycopg.connect(
        server.url, dbname=database, autocommit=True, replication="database",
        application_name="the other one",
    )  # fmt: skip
    try:
        holder.pgconn.send_query(
            f"START_REPLICATION SLOT {database} LOGICAL 0/0 (proto_version '1', "
            f"publication_names '{database}')".encode()
        )
        holder.pgconn.flush()
        wait_until(
            lambda: connection.execute(
                "SELECT 1 FROM pg_replication_slots WHERE active AND slot_name = %s", (database,)
            ).fetchone()
        )
        end = changes.latest(position)
        with pytest.raises(ChangesError, match=r"in use by process \d+ \(the other one at"):
            list(changes.read(position, end))
    finally:
        holder.close()
    found, _ = rest(read(slot__retry__delay__ms="20", slot__max__retries="200"), position)
    assert [after(each) for each in found] == [{"id": 2, "name": "two"}]


def test_a_slot_moves_by_commits_alone(
    connection: psycopg.Connection, read: Read, table: None, database: str
) -> None:
    changes = read()
    start = changes.initial()
    assert confirmed(connection, database) == format_lsn(start.lsn)
    _, position = rest(changes, start)
    connection.execute("INSERT INTO a VALUES (2, 'two')")
    found, end = rest(changes, position)
    assert len(found) == 1
    changes.commit(position)
    assert parse_lsn(confirmed(connection, database)) <= position.lsn
    assert len(rest(changes, position)[0]) == 1
    changes.commit(end)
    assert start.lsn < parse_lsn(confirmed(connection, database)) <= end.lsn
    changes.commit(position)  # never back
    assert parse_lsn(confirmed(connection, database)) > position.lsn


def test_idle_tables_and_other_databases_do_not_hold_the_log(
    connection: psycopg.Connection, server: Postgres, read: Read, table: None, database: str
) -> None:
    changes = read(heartbeat__interval__ms="1")
    _, position = rest(changes, changes.initial())
    with server.connect() as elsewhere:
        elsewhere.execute("CREATE TABLE busy AS SELECT generate_series(1, 10000)")
        elsewhere.execute("DROP TABLE busy")
    before = position.lsn
    for _ in range(3):
        position = changes.latest(position)
        changes.commit(position)
    assert parse_lsn(confirmed(connection, database)) > before + 100_000


def test_tables_without_a_key(connection: psycopg.Connection, read: Read, table: None) -> None:
    connection.execute("CREATE TABLE b (id int)")
    with pytest.raises(ChangesError, match=r"public.b without a primary key.*IDENTITY FULL"):
        read().initial()
    assert not connection.execute("SELECT FROM pg_publication").fetchall()
    connection.execute("ALTER TABLE b REPLICA IDENTITY FULL")
    changes = read()
    position = changes.initial()
    connection.execute("INSERT INTO b VALUES (1)")
    connection.execute("UPDATE b SET id = 2")
    found, _ = rest(changes, position)
    inserted, updated = [each for each in found if each.op != "r"]
    assert inserted.table.key == ()
    assert updated.before == ("1",)
    assert updated.after == ("2",)


def test_no_table_is_chosen(read: Read, table: None) -> None:
    with pytest.raises(ChangesError, match=r"no table is chosen; table.include.list is public.b"):
        read(table__include__list="public.b").initial()


def test_a_publication_of_the_users_own(
    connection: psycopg.Connection, read: Read, table: None
) -> None:
    connection.execute("CREATE TABLE b (id int PRIMARY KEY)")
    own = {"publication__name": "own", "publication__autocreate__mode": "disabled"}
    with pytest.raises(ChangesError, match="publication own does not exist: CREATE PUBLICATION"):
        read(**own).initial()
    connection.execute("CREATE PUBLICATION own FOR TABLE a")
    with pytest.raises(ChangesError, match=r"publication own lacks public.b: ALTER PUBLICATION"):
        read(**own).initial()
    changes = read(**own, table__include__list="public.a")
    assert len(rest(changes, changes.initial())[0]) == 1
    # One of ours gets tables that are new.
    ours = read(slot__name="ours", publication__name="own")
    position = ours.initial()
    connection.execute("INSERT INTO b VALUES (7)")
    assert [each.op for each in rest(ours, position)[0]] == ["r", "c"]


def test_names_that_need_quotes_and_unknown_types(
    connection: psycopg.Connection, read: Read
) -> None:
    connection.execute('CREATE SCHEMA "My Schema"')
    connection.execute("CREATE TYPE pair AS (a int, b text)")
    connection.execute(
        'CREATE TABLE "My Schema"."A ""table""" '
        '("The Key" uuid PRIMARY KEY, v pair, r int4range, t tsvector)'
    )
    insert = 'INSERT INTO "My Schema"."A ""table""" VALUES (%s, (1, \'x\'), \'[1,3)\', \'word\')'
    connection.execute(insert, ("00000000-0000-0000-0000-000000000001",))
    changes = read(snapshot__fetch__size="1")
    position = changes.initial()
    connection.execute(insert, ("00000000-0000-0000-0000-000000000002",))
    found, _ = rest(changes, position)
    assert [after(each) for each in found] == [
        {
            "The Key": f"00000000-0000-0000-0000-00000000000{number}",
            "v": "(1,x)",
            "r": "[1,3)",
            "t": "'word'",
        }
        for number in (1, 2)
    ]


EVERY_TYPE: list[tuple[str, str, object]] = [
    ("bool", "true", True),
    ("smallint", "-5", -5),
    ("bigint", "9223372036854775807", 2**63 - 1),
    ("real", "1.5", 1.5),
    ("double precision", "'NaN'", "NaN"),
    ("numeric", "123456789012345678901234567890.5", 123456789012345678901234567890.5),
    ("money", "-1234.5", -1234.5),
    ("text", "E'a\\t\\\\b\\nü'", "a\t\\b\nü"),
    ("char(3)", "'x'", "x  "),
    ("bytea", "'\\x00ff'", "AP8="),
    ("date", "'0044-03-15 BC'", "-0043-03-15"),
    ("time", "'12:00'", "12:00:00.000000"),
    ("timetz", "'12:00+02'", "10:00:00.000000Z"),
    ("timestamp", "'2026-01-02 03:04:05.6'", "2026-01-02T03:04:05.600000"),
    ("timestamptz(0)", "'2026-01-02 03:04:05+09'", "2026-01-01T18:04:05Z"),
    ("timestamptz", "'infinity'", "infinity"),
    ("interval", "'1 year -2 days 03:04:05.5'", "P1Y0M-2DT3H4M5.5S"),
    ("interval", "'-1 mon -00:00:00.25'", "P0Y-1M0DT0H0M-0.25S"),
    ("uuid", "'00000000-0000-0000-0000-000000000001'", "00000000-0000-0000-0000-000000000001"),
    ("json", """'{"a": [1, null]}'""", '{"a": [1, null]}'),
    ("jsonb", "'1e3'", "1000"),
    ("int[]", "'{1,NULL}'", [1, None]),
    ("text[]", """'{"a,b","\\"",NULL,"NULL"}'""", ["a,b", '"', None, "NULL"]),
    ("int[]", "'[0:1][1:1]={{1},{2}}'", [[1], [2]]),
    ("date[]", "'{2026-01-01}'", ["2026-01-01"]),
    ("timestamptz[]", "'{2026-01-01 00:00+00}'", ["2026-01-01T00:00:00.000000Z"]),
    ("mood", "'ok'", "ok"),
    ("mood[]", "'{ok,sad}'", ["ok", "sad"]),
    ("price", "1.5", 1.5),
    ("int4range", "'[1,3)'", "[1,3)"),
    ("inet", "'10.0.0.1/8'", "10.0.0.1/8"),
    ("bit(3)", "B'101'", "101"),
    ("varbit", "B'1'", "1"),
    ("oid", "4000000000", 4000000000),
    ("xml", "'<a/>'", "<a/>"),
    ("name", "'n'", "n"),
]


def test_every_type_is_the_same_in_snapshot_and_log(
    connection: psycopg.Connection, read: Read
) -> None:
    connection.execute("CREATE TYPE mood AS ENUM ('sad', 'ok')")
    connection.execute("CREATE DOMAIN price AS numeric(10, 2)")
    types = [each for each in EVERY_TYPE if each[0] != "xml" or _has_xml(connection)]
    columns = ", ".join(f"c{at} {each[0]}" for at, each in enumerate(types))
    values = ", ".join(each[1] for each in types)
    connection.execute(f"CREATE TABLE a (id int PRIMARY KEY, {columns})")
    connection.execute(f"INSERT INTO a VALUES (1, {values})")
    changes = read()
    position = changes.initial()
    connection.execute(f"INSERT INTO a VALUES (2, {values})")
    for number, change in enumerate(rest(changes, position)[0], 1):
        row = after(change)
        assert isinstance(row, dict)
        assert row.pop("id") == number
        for (kind, text, expected), value in zip(types, row.values(), strict=True):
            assert value == expected, f"{text}::{kind}"


def _has_xml(connection: psycopg.Connection) -> bool:
    try:
        connection.execute("SELECT '<a/>'::xml")
    except psycopg.errors.FeatureNotSupported:
        return False
    return True


def test_large_values_that_did_not_change(
    connection: psycopg.Connection, read: Read, settings: Settings
) -> None:
    connection.execute("CREATE TABLE a (id int PRIMARY KEY, n int, t text, b bytea, l text[])")
    connection.execute("ALTER TABLE a ALTER t SET STORAGE EXTERNAL")
    connection.execute("ALTER TABLE a ALTER b SET STORAGE EXTERNAL")
    connection.execute("ALTER TABLE a ALTER l SET STORAGE EXTERNAL")
    connection.execute(
        "INSERT INTO a SELECT 1, 1, repeat('x', 5000), repeat('x', 5000)::bytea, "
        "ARRAY[repeat('x', 5000)]"
    )
    changes = read(snapshot__mode="no_data")
    position = changes.initial()
    connection.execute("UPDATE a SET n = 2")
    connection.execute("UPDATE a SET id = 2")
    connection.execute("ALTER TABLE a REPLICA IDENTITY FULL")
    connection.execute("UPDATE a SET n = 3")
    found, end = rest(changes, position)
    update, _, moved, full = found
    assert after(update) == {"id": 1, "n": 2}
    assert update.row is not None
    assert update.table.unavailable(update.row) == ["t", "b", "l"]
    assert after(moved) == {"id": 2, "n": 2}
    whole = after(full)
    assert isinstance(whole, dict)
    assert whole["t"] == "x" * 5000
    # As Debezium has it.
    with PostgresChanges(change_settings(settings(snapshot__mode="no_data"))) as debezium:
        update = next(each for each in debezium.read(position, end) if isinstance(each, Change))
    text = "__debezium_unavailable_value"
    assert after(update) == {
        "id": 1,
        "n": 2,
        "t": text,
        "b": b64encode(text.encode()).decode(),
        "l": [text],
    }


def test_only_some_columns(connection: psycopg.Connection, read: Read, table: None) -> None:
    changes = read(column__exclude__list=r"public\.a\.name")
    (found,), _ = rest(changes, changes.initial())
    assert after(found) == {"id": 1}


def test_only_a_snapshot(connection: psycopg.Connection, read: Read, table: None) -> None:
    changes = read(snapshot__mode="initial_only")
    found, position = rest(changes, changes.initial())
    connection.execute("INSERT INTO a VALUES (2, 'two')")
    assert len(found) == 1
    assert rest(changes, position) == ([], position)


def test_keys_of_types_of_the_databases_own(connection: psycopg.Connection, read: Read) -> None:
    """They are compared as the index does, not as texts."""
    connection.execute("CREATE SCHEMA elsewhere")
    connection.execute("CREATE TYPE elsewhere.size AS ENUM ('small', 'medium', 'large')")
    connection.execute("CREATE TYPE elsewhere.pair AS (a int, b text)")
    connection.execute("CREATE TABLE a (s elsewhere.size, p elsewhere.pair, PRIMARY KEY (s, p))")
    expected = [(size, f"({n},x)") for size in ("small", "medium", "large") for n in (2, 9, 10)]
    for key in reversed(expected):
        connection.execute("INSERT INTO a VALUES (%s, %s::elsewhere.pair)", key)
    changes = read(snapshot__fetch__size="2")
    found, _ = rest(changes, changes.initial())
    assert [each.after for each in found] == expected
