"""Random transactions: several tables, changed keys, rollbacks, savepoints, large values, DDL."""

from random import Random
from typing import Any

TABLES = (
    """CREATE TABLE accounts (id bigint unsigned PRIMARY KEY, name varchar(100),
        balance decimal(20, 6), large mediumtext)""",
    """CREATE TABLE items (kind varchar(20), number int, count int, data blob,
        PRIMARY KEY (kind, number))""",
    "CREATE TABLE notes (at timestamp(6) DEFAULT now(6), text text)",
    """CREATE TABLE moves (id int, day date, PRIMARY KEY (id, day))
        PARTITION BY HASH (id) PARTITIONS 3""",
)


class Workload:
    """Transactions that depend on the seed alone, on a connection of PyMySQL."""

    def __init__(self, connection: Any, seed: int) -> None:
        self.connection = connection
        self.random = Random(seed)
        self.columns = 0

    def run(self, transactions: int) -> None:
        import pymysql

        for _ in range(transactions):
            self._execute("START TRANSACTION")
            try:
                self._transaction()
            except pymysql.err.IntegrityError:  # a key that is there already
                self._execute("ROLLBACK")

    def fill(self, rows: int) -> None:
        """Rows before the first change."""
        for _ in range(rows):
            self._insert()

    def _execute(self, statement: str, *given: object) -> None:
        with self.connection.cursor() as cursor:
            cursor.execute(statement, given)

    def _transaction(self) -> None:
        random = self.random
        for _ in range(random.choice([1, 1, 2, 5])):
            if random.random() < 0.2:
                self._execute("SAVEPOINT part")
                self._statement()
                if random.random() < 0.5:
                    self._execute("ROLLBACK TO SAVEPOINT part")
            else:
                self._statement()
        self._execute("ROLLBACK" if random.random() < 0.1 else "COMMIT")
        if random.random() < 0.04:
            self._alter()

    def _statement(self) -> None:
        random, run = self.random, self._execute
        some = random.randrange(200)
        kind = random.randrange(100)
        if kind < 40:
            self._insert()
        elif kind < 52:
            run("UPDATE accounts SET balance = balance + 1 WHERE id %% 50 = %s %% 50", some)
        elif kind < 60:
            run("UPDATE accounts SET id = id + 1000, name = concat(name, 'x') WHERE id = %s", some)
        elif kind < 66:
            run("DELETE FROM accounts WHERE id = %s OR id = %s + 1000", some, some)
        elif kind < 74:
            run("UPDATE items SET count = count + 1 WHERE number = %s", some)
        elif kind < 80:
            run("UPDATE items SET kind = concat(kind, 'b') WHERE number = %s AND kind = 'a'", some)
        elif kind < 84:
            run("DELETE FROM items WHERE number %% 20 = %s %% 20", some)
        elif kind < 90:
            run("UPDATE notes SET text = concat(text, '!') WHERE text = %s", f"note {some}")
        elif kind < 93:
            run("DELETE FROM notes LIMIT 1")
        else:
            run("UPDATE moves SET day = day + INTERVAL 1 DAY WHERE id = %s", some)

    def _insert(self) -> None:
        random, run = self.random, self._execute
        number = random.randrange(200)
        large = random.randbytes(3_000).hex() if random.random() < 0.1 else "small"
        table = random.randrange(4)
        if table == 0:
            run(
                "INSERT IGNORE INTO accounts (id, name, balance, large) VALUES (%s, %s, %s, %s)",
                number, f'"{number}"\n é☃', number / 7, large,
            )  # fmt: skip
        elif table == 1:
            run(
                "INSERT INTO items VALUES (%s, %s, 1, %s), (%s, %s, 1, %s) "
                "ON DUPLICATE KEY UPDATE count = count + 1",
                *(random.choice("abc"), number, large.encode()),
                *(random.choice("abc"), number, b"\0\xff"),
            )
        elif table == 2:
            run("INSERT INTO notes (text) VALUES (%s)", f"note {number}")
        else:
            day = f"2026-01-{random.randrange(1, 31):02}"
            run("INSERT IGNORE INTO moves VALUES (%s, %s)", number, day)

    def _alter(self) -> None:
        kind = self.random.randrange(3)
        if kind == 0:
            self.columns += 1
            first = self.random.choice(["", " FIRST"])
            self._execute(f"ALTER TABLE accounts ADD IF NOT EXISTS more_{self.columns} int{first}")
            self._execute(f"UPDATE accounts SET name = 'm', more_{self.columns} = id WHERE id < 20")
        elif kind == 1 and self.columns > 1:
            number = self.random.randrange(self.columns)
            self._execute(f"ALTER TABLE accounts DROP IF EXISTS more_{number}")
        else:
            self._execute("TRUNCATE TABLE notes")
