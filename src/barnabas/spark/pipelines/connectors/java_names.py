"""Class names of connectors for Kafka Connect, and how their settings are said here.

A translation takes the settings and returns those of the kind. What it leaves alone goes to the
kind under its own name, which refuses what it does not know.
"""

import glob
import re
from collections.abc import Callable, Mapping
from typing import NamedTuple
from urllib.parse import quote, urlencode

from barnabas.errors import InvalidArgument
from barnabas.spark.pipelines.connectors.converters import converter_of

_HISTORY = "schema.history.internal"
Translate = Callable[[Mapping[str, str]], dict[str, str]]


class JavaName(NamedTuple):
    """What a class of Java is here."""

    kind: str
    translate: Translate


def _postgres_changes(given: Mapping[str, str]) -> dict[str, str]:
    found = dict(given)
    plugin = found.pop("plugin.name", "pgoutput")
    if plugin != "pgoutput":
        raise InvalidArgument(f"plugin.name: only pgoutput is supported, not {plugin}")
    _require(found, "database.hostname", "database.dbname", "topic.prefix", "table.include.list")
    host, port = found.pop("database.hostname"), found.pop("database.port", "5432")
    place = {"host": host} if host.startswith("/") else {}  # a folder with a socket
    address = "" if place else f"{_in_url(host)}:{port}"
    database = quote(found.pop("database.dbname"), safe="")
    found["url"] = f"postgresql://{_who(found)}{address}/{database}"
    if place:
        found["url"] += f"?{urlencode({**place, 'port': port})}"
    found["tables"] = found.pop("table.include.list")
    return found


def _mysql_changes(scheme: str) -> Translate:
    """Settings of Debezium's connectors for MySQL and MariaDB, which differ by their names only."""

    def translate(given: Mapping[str, str]) -> dict[str, str]:
        found = dict(given)
        _require(found, "database.hostname", "database.user", "topic.prefix", "table.include.list")
        for name in found:
            if name.startswith(_HISTORY):
                raise InvalidArgument(
                    f"{name}: leave it out: shapes of tables come from the log and the catalog, no "
                    "history is kept"
                )
        tables = found["tables"] = found.pop("table.include.list")
        host, port = found.pop("database.hostname"), found.pop("database.port", "3306")
        # Names of tables are whole, so the database of the URL, which has to have one, is not used.
        database = quote(re.split(r"[^\w$-]", tables.strip(), maxsplit=1)[0] or "mysql", safe="")
        found["url"] = f"{scheme}://{_who(found)}{_in_url(host)}:{port}/{database}"
        return found

    return translate


def _require(given: Mapping[str, str], *names: str) -> None:
    for name in names:
        if name not in given:
            raise InvalidArgument(f"Missing required setting {name!r}, which has no default value")


def _who(settings: dict[str, str]) -> str:
    """Takes user and password from settings, as a URL has them."""
    user, password = settings.pop("database.user", ""), settings.pop("database.password", "")
    who = quote(user, safe="") + (f":{quote(password, safe='')}" if password else "")
    return who and f"{who}@"


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _lines_of_a_file(given: Mapping[str, str]) -> dict[str, str]:
    found = dict(given)
    if "file" not in found:
        raise InvalidArgument("Missing required setting 'file': standard input is not read here")
    if converter_of(found) == "json":
        raise InvalidArgument("value.converter: lines are written as text; use StringConverter")
    found["pattern"] = glob.escape(found.pop("file"))
    found.setdefault("transform.sql", "SELECT value FROM source")
    return found


JAVA_NAMES = {
    "io.debezium.connector.postgresql.PostgresConnector": JavaName(
        "from_postgres_changes", _postgres_changes
    ),
    "io.debezium.connector.mysql.MySqlConnector": JavaName(
        "from_mysql_changes", _mysql_changes("mysql")
    ),
    "io.debezium.connector.mariadb.MariaDbConnector": JavaName(
        "from_mysql_changes", _mysql_changes("mariadb")
    ),
    "org.apache.kafka.connect.file.FileStreamSourceConnector": JavaName(
        "from_log_files", _lines_of_a_file
    ),
}
