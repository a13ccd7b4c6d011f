"""Whether the server logs what is needed, and where its log is."""

from typing import Final

from barnabas.changes.errors import ChangesError
from barnabas.changes.mysql.connection import Connection, explained, rows
from barnabas.changes.mysql.position import BinlogPosition
from barnabas.changes.mysql.settings import MySqlSettings
from barnabas.errors import DataLost

_NEEDED: Final = {
    "log_bin": ("ON", "the server has no binary log: start it with --log-bin"),
    "binlog_format": ("ROW", "SET GLOBAL binlog_format = ROW, and let applications reconnect"),
    "binlog_row_image": ("FULL", "SET GLOBAL binlog_row_image = FULL, and let them reconnect"),
    "binlog_row_value_options": ("", "SET GLOBAL binlog_row_value_options = ''"),
    "binlog_transaction_compression": ("OFF", "SET GLOBAL binlog_transaction_compression = OFF"),
}
_ON: Final = {"ON": "1", "OFF": "0"}


def variables(connection: Connection, settings: MySqlSettings) -> dict[str, str]:
    """Global variables about the log."""
    with explained(settings, "can't look at the server's settings"):
        found = rows(connection, "SHOW GLOBAL VARIABLES LIKE '%%bin%%'")
        found += rows(connection, "SHOW GLOBAL VARIABLES LIKE 'version'")
    return {str(name): str(value) for name, value in found}


def check_server(connection: Connection, settings: MySqlSettings) -> None:
    """Refuse a server whose log lacks what is needed."""
    found = variables(connection, settings)
    for name, (wanted, fix) in _NEEDED.items():
        value = found.get(name, wanted).upper()
        if value not in (wanted, _ON.get(wanted)):
            raise ChangesError(f"{name} of the server is {value or 'empty'}: {fix}")


def is_mariadb(connection: Connection) -> bool:
    return "mariadb" in str(connection.get_server_info()).lower()


def log_end(connection: Connection, settings: MySqlSettings) -> BinlogPosition:
    """Where the log ends now."""
    with explained(settings, "can't look at the binary log"):
        # MySQL 8.4 has the second name only.
        is_new = not is_mariadb(connection) and _version(connection) >= (8, 4)
        statement = "SHOW BINARY LOG STATUS" if is_new else "SHOW MASTER STATUS"
        found = rows(connection, statement)
    if not found:
        raise ChangesError(_NEEDED["log_bin"][1])
    return BinlogPosition(str(found[0][0]), int(found[0][1]))


def check_not_purged(
    connection: Connection, settings: MySqlSettings, start: BinlogPosition
) -> None:
    """Refuse to go on where the server has removed, or never had, the log."""
    with explained(settings, "can't look at the binary log"):
        files = {str(row[0]): int(row[1]) for row in rows(connection, "SHOW BINARY LOGS")}
    size = files.get(start.file)
    if size is not None and start.pos <= size:
        return
    what = (
        f"the server no longer has its log from {start.file}, position {start.pos}, on: it starts "
        f"with {next(iter(files), 'nothing')}"
        if size is None
        else f"{start.file} has {size} bytes, less than position {start.pos}: is it another "
        "server's, or was its log reset?"
    )
    raise DataLost(
        f"{what}. Changes are lost: read the tables again with a new checkpoint (barnabas pipeline "
        "reset), and keep the log for longer (binlog_expire_logs_seconds, expire_logs_days)"
    )


def _version(connection: Connection) -> tuple[int, ...]:
    text = str(connection.get_server_info()).partition("-")[0]
    return tuple(int(each) for each in text.split(".")[:2] if each.isdecimal())
