"""Class names of connectors for Kafka Connect, and how their settings are said here.

A translation takes the settings and returns those of the kind. What it leaves alone goes to the
kind under its own name, which refuses what it does not know.
"""

import glob
from collections.abc import Callable, Mapping
from typing import NamedTuple
from urllib.parse import quote, urlencode

from barnabas.errors import InvalidArgument

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
    for name in ("database.hostname", "database.dbname", "topic.prefix", "table.include.list"):
        if name not in found:
            raise InvalidArgument(f"Missing required setting {name!r}, which has no default value")
    user, password = found.pop("database.user", ""), found.pop("database.password", "")
    host, port = found.pop("database.hostname"), found.pop("database.port", "5432")
    who = quote(user, safe="") + (f":{quote(password, safe='')}" if password else "")
    place = {"host": host} if host.startswith("/") else {}  # a folder with a socket
    address = "" if place else f"{host}:{port}"
    database = quote(found.pop("database.dbname"), safe="")
    found["url"] = f"postgresql://{who and who + '@'}{address}/{database}"
    if place:
        found["url"] += f"?{urlencode({**place, 'port': port})}"
    found["tables"] = found.pop("table.include.list")
    return found


def _lines_of_a_file(given: Mapping[str, str]) -> dict[str, str]:
    found = dict(given)
    if "file" not in found:
        raise InvalidArgument("Missing required setting 'file': standard input is not read here")
    found["pattern"] = glob.escape(found.pop("file"))
    found.setdefault("transform.sql", "SELECT value FROM source")
    return found


JAVA_NAMES = {
    "io.debezium.connector.postgresql.PostgresConnector": JavaName(
        "from_postgres_changes", _postgres_changes
    ),
    "org.apache.kafka.connect.file.FileStreamSourceConnector": JavaName(
        "from_log_files", _lines_of_a_file
    ),
}
