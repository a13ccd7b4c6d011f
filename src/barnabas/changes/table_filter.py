"""Which tables and columns are read, as Debezium's lists of regular expressions say."""

import re
from typing import NamedTuple, TypeAlias

from barnabas.errors import InvalidArgument

Patterns: TypeAlias = tuple[re.Pattern[str], ...]


def patterns(setting: str, text: str) -> Patterns:
    """Regular expressions with commas between them; case does not matter."""
    found = []
    for each in re.split(r"(?<!\\),", text):
        if not each.strip():
            continue
        try:
            found.append(re.compile(each.strip(), re.IGNORECASE))
        except re.error as error:
            raise InvalidArgument(
                f"{setting}: {each.strip()!r} is not a regular expression ({error})"
            ) from None
    return tuple(found)


class TableFilter(NamedTuple):
    """What is included, unless it is excluded. An empty list of what is included means all.

    Names are matched as a whole: `schema`, `schema.table`, `schema.table.column`.
    """

    system: frozenset[str] = frozenset()
    """Schemas of the server itself, which are never read."""
    schemas: Patterns = ()
    not_schemas: Patterns = ()
    tables: Patterns = ()
    not_tables: Patterns = ()
    columns: Patterns = ()
    not_columns: Patterns = ()

    def has_table(self, schema: str, name: str) -> bool:
        if schema in self.system:
            return False
        return _chosen(schema, self.schemas, self.not_schemas) and _chosen(
            f"{schema}.{name}", self.tables, self.not_tables
        )

    def has_column(self, schema: str, table: str, name: str) -> bool:
        return _chosen(f"{schema}.{table}.{name}", self.columns, self.not_columns)


def _chosen(name: str, included: Patterns, excluded: Patterns) -> bool:
    if included and not any(each.fullmatch(name) for each in included):
        return False
    return not any(each.fullmatch(name) for each in excluded)
