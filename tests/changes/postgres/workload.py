"""Random transactions: several tables, changed keys, rollbacks, savepoints, large values, DDL."""

import secrets
from contextlib import suppress
from random import Random

import psycopg

TABLES = """
    CREATE TABLE accounts (id bigint PRIMARY KEY, name text, balance numeric, large text);
    ALTER TABLE accounts ALTER large SET STORAGE EXTERNAL;
    CREATE TABLE items (kind text, number int, count int, large text, PRIMARY KEY (kind, number));
    ALTER TABLE items ALTER large SET STORAGE EXTERNAL;
    ALTER TABLE items REPLICA IDENTITY FULL;
    CREATE TABLE notes (at timestamptz DEFAULT now(), text text);
    ALTER TABLE notes REPLICA IDENTITY FULL;
    CREATE TABLE moves (id int, day date, PRIMARY KEY (id, day)) PARTITION BY RANGE (day);
    CREATE TABLE moves_1 PARTITION OF moves FOR VALUES FROM ('2026-01-01') TO ('2026-01-15');
    CREATE TABLE moves_2 PARTITION OF moves FOR VALUES FROM ('2026-01-15') TO ('2026-02-01');
"""
_LARGE = 3_000  # bytes, beyond which a value leaves its row


class Workload:
    """Transactions that depend on the seed alone."""

    def __init__(self, connection: psycopg.Connection, seed: int) -> None:
        self.connection = connection
        self.random = Random(seed)
        self.columns = 0

    def fill(self, rows: int) -> None:
        """Rows before the first change."""
        for at in range(0, rows, 50):
            with self.connection.transaction():
                for _ in range(min(50, rows - at)):
                    self._insert()

    def run(self, transactions: int) -> None:
        for _ in range(transactions):
            with suppress(psycopg.errors.UniqueViolation):  # rolled back, as applications do
                self._transaction()

    def _transaction(self) -> None:
        random = self.random
        with self.connection.transaction() as whole:
            for _ in range(random.choice([1, 1, 2, 5])):
                if random.random() < 0.2:
                    with self.connection.transaction() as part:
                        self._statement()
                        if random.random() < 0.5:
                            raise psycopg.Rollback(part)
                else:
                    self._statement()
            if random.random() < 0.1:
                raise psycopg.Rollback(whole)

    def _statement(self) -> None:
        random = self.random
        run = self.connection.execute
        some = (random.randrange(200),)
        kind = random.randrange(100)
        if kind < 35:
            self._insert()
        elif kind < 50:
            run("UPDATE accounts SET balance = balance + 1 WHERE id %% 50 = %s %% 50", some)
        elif kind < 58:
            run(
                "UPDATE accounts SET id = id + 1000, large = large || 'x' WHERE id = %s AND NOT "
                "EXISTS (SELECT FROM accounts a WHERE a.id = accounts.id + 1000)",
                some,
            )
        elif kind < 66:
            run("DELETE FROM accounts WHERE id = %s OR id = %s + 1000", (*some, *some))
        elif kind < 74:
            run("UPDATE items SET count = count + 1 WHERE number = %s", some)
        elif kind < 80:
            run("UPDATE items SET kind = kind || 'b' WHERE number = %s AND kind = 'a'", some)
        elif kind < 84:
            run("DELETE FROM items WHERE number %% 20 = %s %% 20", some)
        elif kind < 90:
            run("UPDATE notes SET text = text || '!' WHERE text = %s", (f"note {some[0]}",))
        elif kind < 93:
            run("DELETE FROM notes WHERE ctid IN (SELECT ctid FROM notes LIMIT 1)")
        elif kind < 97:
            run("UPDATE moves SET day = day + 1 WHERE id = %s AND day < '2026-01-31'", some)
        elif kind < 98:
            self.columns += 1
            run(f"ALTER TABLE accounts ADD IF NOT EXISTS more_{self.columns} int")
            run(f"UPDATE accounts SET name = 'm', more_{self.columns} = id WHERE id < 20")
        elif kind < 99 and self.columns > 1:
            run(f"ALTER TABLE accounts DROP IF EXISTS more_{random.randrange(self.columns)}")
        else:
            run("TRUNCATE notes")

    def _insert(self) -> None:
        random = self.random
        run = self.connection.execute
        number = random.randrange(200)
        large = secrets.token_hex(_LARGE // 2) if random.random() < 0.1 else "small"
        table = random.randrange(4)
        if table == 0:
            run(
                "INSERT INTO accounts (id, name, balance, large) VALUES (%s, %s, %s, %s) "
                "ON CONFLICT DO NOTHING",
                (number, f'"{number}"\n', number / 7, large),
            )
        elif table == 1:
            run(
                "INSERT INTO items VALUES (%s, %s, 1, %s) ON CONFLICT DO NOTHING",
                (random.choice("abc"), number, large),
            )
        elif table == 2:
            run("INSERT INTO notes (text) VALUES (%s)", (f"note {number}",))
        else:
            day = f"2026-01-{random.randrange(1, 31):02}"
            run("INSERT INTO moves VALUES (%s, %s) ON CONFLICT DO NOTHING", (number, day))
