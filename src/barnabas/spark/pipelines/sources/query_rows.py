"""Rows of a query as a connector: by position, where columns say what is new, or as a whole.

**Rows that commit late.** A transaction may get an id or a time and commit after others that got
greater ones. A reader that has seen these would never look back. So a value counts as an end only
`delay_s` after it was first seen: a transaction with a smaller one has committed by then, if
transactions take no longer. This needs no clock of the database's, and works for ids and times.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from pyspark.sql.types import StructType

from barnabas.errors import InvalidArgument
from barnabas.spark.connector.connector import Connector, Position
from barnabas.spark.connector.row_batches import RowError
from barnabas.spark.pipelines.databases.query_driver import driver_of, fetched, reading
from barnabas.spark.pipelines.databases.query_place import QueryPlace
from barnabas.spark.pipelines.databases.query_values import (
    Convert,
    converters,
    from_json,
    to_json,
)
from barnabas.spark.pipelines.postgres.connection import shown

Values = tuple[Any, ...]


@dataclass
class QueryRows(Connector):
    """What a query gives; `by` are the columns that say what is new, in their order."""

    place: QueryPlace
    query: str
    fields: str | StructType
    by: tuple[str, ...]
    delay_s: int
    every_s: int
    max_rows_per_batch: int
    _seen: list[tuple[float, Values]] = field(default_factory=list, init=False)
    """What the greatest values were, and when that was first seen."""
    _asked_at: float | None = field(default=None, init=False)
    _last: Values | None = field(default=None, init=False)
    _is_bounded: bool = field(default=False, init=False)
    _readings_left: int | None = field(default=None, init=False)

    def describe(self) -> str:
        return f"query {' '.join(self.query.split())!r} of {shown(self.place.url)}"

    def schema(self) -> str | StructType:
        return self.fields

    def resolved(self, folder: Path) -> Self:
        return replace(self, place=self.place.resolved(folder))

    # -- positions --------------------------------------------------------------------------------

    def initial(self) -> Position:
        return {"after": None} if self.by else {"reading": 0, "at": 0}

    def bound(self, start: Position) -> None:
        del start
        if not self.by:
            self._readings_left = 1
            return
        self._last = self._newest()
        self._is_bounded = True
        time.sleep(self.delay_s)

    def latest(self, start: Position) -> Position:
        if not self.by:
            return self._next_reading(start)
        settled = self._last if self._is_bounded else self._settled()
        after = _values(start)
        if settled is None or settled == after or not self._has_rows(after, settled):
            return start
        return {"after": [to_json(each) for each in self._limited(after, settled)]}

    def _has_rows(self, after: Values | None, end: Values) -> bool:
        """Whether there are any between; texts have an order that only the database knows."""
        condition, values = self._between(after, end)
        return self._one(condition, values) is not None

    def _next_reading(self, start: Position) -> Position:
        now = int(time.time())
        if self._readings_left == 0 or (
            self._readings_left is None and now < start["at"] + self.every_s
        ):
            return start
        if self._readings_left is not None:
            self._readings_left -= 1
        return {"reading": start["reading"] + 1, "at": now}

    def _settled(self) -> Values | None:
        """The greatest values that were first seen long enough ago."""
        now = time.monotonic()
        if self._asked_at is None or now - self._asked_at >= self.every_s:
            self._asked_at = now
            newest = self._newest()
            if newest is not None and (not self._seen or self._seen[-1][1] != newest):
                self._seen.append((now, newest))
        old = [values for at, values in self._seen if at <= now - self.delay_s]
        self._seen = self._seen[max(len(old) - 1, 0) :]
        return old[-1] if old else None

    def _newest(self) -> Values | None:
        order = ", ".join(f"{each} DESC" for each in self.by)
        given = " AND ".join(f"{each} IS NOT NULL" for each in self.by)
        return self._one(f"WHERE {given} ORDER BY {order}", ())

    def _limited(self, after: Values | None, end: Values) -> Values:
        """Where a batch ends that has not too many rows."""
        condition, values = self._between(after, end)
        rows = f"{condition} ORDER BY {', '.join(self.by)}"
        return self._one(rows, values, self.max_rows_per_batch) or end

    # -- reading ----------------------------------------------------------------------------------

    def read(self, start: Position, end: Position) -> Iterator[Values]:
        schema = self.fields
        assert isinstance(schema, StructType)
        condition, values = "", ()
        if self.by:
            last = _values(end)
            assert last is not None
            condition, values = self._between(_values(start), last)
            condition += f" ORDER BY {', '.join(self.by)}"
        convert = converters(schema)
        statement = f"SELECT * FROM {self._asked} {condition}"  # noqa: S608 - the user's
        for names, rows in self._rows(statement, values):
            places = _places(names, schema)
            for row in rows:
                yield tuple(
                    _converted(each, row[place], to)
                    for each, place, to in zip(schema.names, places, convert, strict=True)
                )

    def _between(self, after: Values | None, end: Values) -> tuple[str, Values]:
        """The condition that holds for rows after one position and up to another."""
        conditions, values = [], []
        for sign, limit in ((">", after), ("<=", end)):
            if limit is not None:
                text, given = self._compared(sign, limit)
                conditions.append(text)
                values += given
        return f"WHERE {' AND '.join(conditions)}", tuple(values)

    def _compared(self, sign: str, limit: Values) -> tuple[str, list[Any]]:
        mark = driver_of(self.place).mark
        if len(self.by) == 1:
            return f"{self.by[0]} {sign} {mark}", [limit[0]]
        first, second = self.by
        text = f"({first} {sign[0]} {mark} OR ({first} = {mark} AND {second} {sign} {mark}))"
        return text, [limit[0], limit[0], limit[1]]

    @property
    def _asked(self) -> str:
        query = self.query.strip().rstrip(";")
        if driver_of(self.place).mark == "%s":
            query = query.replace("%", "%%")
        return f"({query}) q" if " " in query or "\n" in query else query

    def _one(self, condition: str, values: Sequence[Any], number: int = 1) -> Values | None:
        """The columns of a row by its number, from 1; None if there are fewer."""
        statement = f"SELECT {', '.join(self.by)} FROM {self._asked} {condition}"  # noqa: S608 - the user's
        if driver_of(self.place).has_limit:
            statement += f" LIMIT 1 OFFSET {number - 1}"
            number = 1
        for _, rows in self._rows(statement, values, number):
            if len(rows) >= number:
                return rows[number - 1]
            number -= len(rows)
        return None

    def _rows(
        self, statement: str, values: Sequence[Any], max_rows: int = 0
    ) -> Iterator[tuple[list[str], list[Values]]]:
        with reading(self.place) as connection:
            yield from fetched(self.place, connection, statement, values, max_rows)


def _values(position: Position) -> Values | None:
    after = position["after"]
    return None if after is None else tuple(from_json(each) for each in after)


def _places(names: Sequence[str], schema: StructType) -> list[int]:
    """Where the columns of the schema are in the rows of the query."""
    by_name = {name.lower(): place for place, name in enumerate(names)}
    for name in schema.names:
        if name.lower() not in by_name:
            raise InvalidArgument(
                f"the query has no column {name}, which the schema names; it has {', '.join(names)}"
            )
    return [by_name[name.lower()] for name in schema.names]


def _converted(name: str, value: Any, convert: Convert) -> Any:
    if value is None:
        return None
    try:
        return convert(value)
    except (TypeError, ValueError, ArithmeticError) as error:
        raise RowError(f"column {name}: {value!r} does not fit the schema: {error}") from error
