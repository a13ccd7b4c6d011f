"""Queries by JDBC, for databases that have a driver in Java: a JVM in this process, by JPype.

Spark's own JDBC reader has no streams, and its drivers have to be on the class path before Spark
starts. A JVM in the worker that reads can load any JAR, and what `query_rows` does for other
databases works as it is.

Times are in UTC, since the JVM is. SQL differs between databases: `LIMIT` is not used, and the
number of rows is set with the statement instead.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import date, datetime
from decimal import Decimal
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import Any

from barnabas.errors import InvalidArgument
from barnabas.spark.pipelines.databases.query_place import QueryPlace
from barnabas.spark.pipelines.databases.query_values import NanoText
from barnabas.spark.sessions.java import libjvm

_JVM_OPTIONS = ("-Duser.timezone=UTC", "-Xmx256m", "-XX:+UseSerialGC", "-Xrs")
_LOGIN_TIMEOUT_S = 10
_FETCHED_ROWS = 5_000
_MICROSECONDS = len("2026-01-01 00:00:00.000000")
_starting = Lock()


class JdbcError(Exception):
    """What a driver says is wrong."""


def check_jdbc(place: QueryPlace) -> None:
    """Raise `InvalidArgument` if a JAR is missing, or none is given."""
    if not place.jars:
        raise InvalidArgument("a jdbc: URL needs jar=PATH, the JDBC driver of the database")
    for each in place.jars:
        if Path(each).suffix != ".jar":
            raise InvalidArgument(f"jar has to be the path of a .jar file, not {each!r}")


class JdbcConnection:
    """A connection, as far as queries need it."""

    def __init__(self, place: QueryPlace) -> None:
        self._java = _started(place.jars)
        self._timeout_s = place.timeout_s
        properties = self._java.JClass("java.util.Properties")()
        for name, value in (("user", place.user), ("password", place.password)):
            if value is not None:
                properties.setProperty(name, value)
        with self.explained():
            self._connection = _driver(self._java, place).connect(place.url, properties)
            self._connection.setAutoCommit(False)  # or some drivers fetch all rows at once
        executor = self._java.JClass("java.util.concurrent.ForkJoinPool").commonPool()
        for name, values in (
            ("setNetworkTimeout", (executor, place.timeout_s * 1000)),
            ("setReadOnly", (True,)),
        ):
            with suppress(self._java.JException):  # not every driver has each of them
                getattr(self._connection, name)(*values)

    def cursor(self, max_rows: int) -> "JdbcCursor":
        """For one statement, which gives at most so many rows; 0 for all."""
        return JdbcCursor(self, max_rows)

    def prepared(self, statement: str, values: Sequence[Any], max_rows: int) -> Any:
        made = self._connection.prepareStatement(statement)
        made.setMaxRows(max_rows)
        made.setFetchSize(min(_FETCHED_ROWS, max_rows or _FETCHED_ROWS))
        with suppress(self._java.JException):
            made.setQueryTimeout(self._timeout_s)
        for at, value in enumerate(values, start=1):
            _set(self._java, made, at, value)
        return made

    def explained(self) -> "_Explained":
        return _Explained(self._java)

    def close(self) -> None:
        with self.explained():
            self._connection.rollback()  # Derby refuses to close in a transaction
            self._connection.close()


class JdbcCursor:
    """The rows of one statement."""

    def __init__(self, connection: JdbcConnection, max_rows: int) -> None:
        self._connection = connection
        self._max_rows = max_rows
        self._statement: Any = None
        self._rows: Any = None
        self._getters: list[Callable[[Any, int], Any]] = []
        self.description: list[tuple[str]] = []

    def execute(self, statement: str, values: Sequence[Any] = ()) -> None:
        with self._connection.explained():
            self._statement = self._connection.prepared(statement, values, self._max_rows)
            self._rows = self._statement.executeQuery()
            columns = self._rows.getMetaData()
            places = range(1, columns.getColumnCount() + 1)
            self._getters = [_getter(int(columns.getColumnType(at))) for at in places]
            self.description = [(str(columns.getColumnLabel(at)),) for at in places]

    def fetchmany(self, count: int) -> list[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = []
        with self._connection.explained():
            while len(found) < count and self._rows.next():
                found.append(
                    tuple(get(self._rows, at) for at, get in enumerate(self._getters, start=1))
                )
        return found

    def close(self) -> None:
        if self._statement is not None:
            with self._connection.explained():
                self._statement.close()


class _Explained:
    """Turns exceptions of Java into `JdbcError`."""

    def __init__(self, java: Any) -> None:
        self._java = java

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, self._java.JException):
            raise JdbcError(str(error.getMessage() or error.getClass().getName())) from None


def _started(jars: Sequence[str]) -> Any:
    """JPype, with a JVM that knows these JARs. A process has one JVM, and keeps it."""
    for each in jars:
        if not Path(each).is_file():
            raise JdbcError(f"JAR {each} does not exist")
    jpype: Any = import_module("jpype")
    with _starting:
        if not jpype.isJVMStarted():
            jpype.startJVM(str(libjvm()), *_JVM_OPTIONS, classpath=list(jars), convertStrings=True)
            jpype.JClass("java.sql.DriverManager").setLoginTimeout(_LOGIN_TIMEOUT_S)
        else:
            known = jpype.getClassPath().split(":")
            for each in jars:
                if each not in known:
                    jpype.addClassPath(each)
    return jpype


def _driver(java: Any, place: QueryPlace) -> Any:
    """The driver that takes the URL, among those that the JARs register."""
    loader = java.JClass("java.lang.ClassLoader").getSystemClassLoader()
    registered = java.JClass("java.util.ServiceLoader").load(java.JClass("java.sql.Driver"), loader)
    for each in registered:
        if each.acceptsURL(place.url):
            return each
    raise JdbcError(f"no driver in {', '.join(place.jars)} takes this URL")


# -- values ---------------------------------------------------------------------------------------


def _set(java: Any, statement: Any, at: int, value: Any) -> None:
    """Set a parameter; the values are those of positions."""
    if isinstance(value, NanoText | datetime):
        text = value if isinstance(value, NanoText) else value.strftime("%Y-%m-%d %H:%M:%S.%f")
        statement.setTimestamp(at, java.JClass("java.sql.Timestamp").valueOf(str(text)))
    elif isinstance(value, date):
        statement.setDate(at, java.JClass("java.sql.Date").valueOf(value.isoformat()))
    elif isinstance(value, Decimal):
        statement.setBigDecimal(at, java.JClass("java.math.BigDecimal")(str(value)))
    elif isinstance(value, int):
        statement.setLong(at, value)
    elif isinstance(value, float):
        statement.setDouble(at, value)
    else:
        statement.setString(at, value)


def _text(rows: Any, at: int) -> str | None:
    found = rows.getString(at)
    return None if found is None else str(found)


def _number(rows: Any, at: int) -> int | None:
    found = _text(rows, at)
    return None if found is None else int(found)


def _decimal(rows: Any, at: int) -> Decimal | None:
    found = rows.getBigDecimal(at)
    return None if found is None else Decimal(str(found))


def _real(rows: Any, at: int) -> float | None:
    found = float(rows.getDouble(at))
    return None if rows.wasNull() else found


def _boolean(rows: Any, at: int) -> bool | None:
    found = bool(rows.getBoolean(at))
    return None if rows.wasNull() else found


def _bytes(rows: Any, at: int) -> bytes | None:
    found = rows.getBytes(at)
    return None if found is None else bytes(found)


def _date(rows: Any, at: int) -> date | None:
    found = rows.getDate(at)
    return None if found is None else date.fromisoformat(str(found.toString()))


def _time(rows: Any, at: int) -> datetime | NanoText | None:
    found = rows.getTimestamp(at)
    if found is None:
        return None
    text = str(found.toString())  # with as many digits as it has
    return NanoText(text) if len(text) > _MICROSECONDS else datetime.fromisoformat(text)


_GETTERS: dict[int, Callable[[Any, int], Any]] = {
    -7: _boolean,  # BIT
    -6: _number,  # TINYINT
    -5: _number,  # BIGINT
    -4: _bytes,  # LONGVARBINARY
    -3: _bytes,  # VARBINARY
    -2: _bytes,  # BINARY
    2: _decimal,  # NUMERIC
    3: _decimal,  # DECIMAL
    4: _number,  # INTEGER
    5: _number,  # SMALLINT
    6: _real,  # FLOAT
    7: _real,  # REAL
    8: _real,  # DOUBLE
    16: _boolean,  # BOOLEAN
    91: _date,
    93: _time,  # TIMESTAMP
    2004: _bytes,  # BLOB
    2014: _time,  # TIMESTAMP WITH TIME ZONE
}
"""By the codes of `java.sql.Types`; others are read as text."""


def _getter(code: int) -> Callable[[Any, int], Any]:
    return _GETTERS.get(code, _text)
