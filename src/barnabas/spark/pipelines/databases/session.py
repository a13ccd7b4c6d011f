"""A connection to a database, as little of it as is used here."""

from collections.abc import Iterable, Sequence
from typing import Any, Protocol


class Session(Protocol):
    """Runs statements. Nothing counts before `COMMIT`, if `BEGIN` came before."""

    def execute(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run a statement, and return its rows if it has any."""

    def execute_many(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run a statement for each row."""

    def close(self) -> None:
        """Close the connection; what is not committed is lost."""


class CursorSession:
    """A session of any driver that follows Python's database API."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection

    def execute(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        cursor = self.connection.cursor()
        try:
            cursor.execute(statement, tuple(values))
            return list(cursor.fetchall()) if cursor.description is not None else []
        finally:
            cursor.close()

    def execute_many(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        cursor = self.connection.cursor()
        try:
            cursor.executemany(statement, list(rows))
        finally:
            cursor.close()

    def close(self) -> None:
        self.connection.close()
