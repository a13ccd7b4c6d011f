"""Types of columns, by their numbers: those that are built in, and those that a database has.

A number that neither knows, such as that of a type that was dropped since, is an unknown type,
whose values are strings.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple

Kind = Literal["base", "array", "enum", "range", "domain", "composite", "unknown"]

_KINDS: dict[str, Kind] = {
    "b": "base",
    "e": "enum",
    "r": "range",
    "m": "range",
    "d": "domain",
    "c": "composite",
}


class PostgresType(NamedTuple):
    """A type, and what it is made of."""

    name: str
    kind: Kind = "base"
    of: "PostgresType | None" = None
    """The type of an array's elements, or of what a domain restricts."""
    modifier: int = -1
    """A domain's, as `numeric(10, 2)` has one."""


UNKNOWN = PostgresType("unknown", "unknown")

_BASE = {
    16: "bool",
    17: "bytea",
    18: "char",
    19: "name",
    20: "int8",
    21: "int2",
    23: "int4",
    25: "text",
    26: "oid",
    114: "json",
    142: "xml",
    600: "point",
    650: "cidr",
    700: "float4",
    701: "float8",
    774: "macaddr8",
    790: "money",
    829: "macaddr",
    869: "inet",
    1042: "bpchar",
    1043: "varchar",
    1082: "date",
    1083: "time",
    1114: "timestamp",
    1184: "timestamptz",
    1186: "interval",
    1266: "timetz",
    1560: "bit",
    1562: "varbit",
    1700: "numeric",
    2950: "uuid",
    3802: "jsonb",
}
_ARRAYS = {
    1000: 16,
    1001: 17,
    1005: 21,
    1007: 23,
    1009: 25,
    1015: 1043,
    1016: 20,
    1021: 700,
    1022: 701,
    1115: 1114,
    1182: 1082,
    1183: 1083,
    1185: 1184,
    1187: 1186,
    1231: 1700,
    2951: 2950,
    199: 114,
    3807: 3802,
}
BUILT_IN: dict[int, PostgresType] = {number: PostgresType(name) for number, name in _BASE.items()}
BUILT_IN |= {
    number: PostgresType(f"_{_BASE[of]}", "array", BUILT_IN[of]) for number, of in _ARRAYS.items()
}


class TypeRow(NamedTuple):
    """What `pg_type` says of a type."""

    type_id: int
    name: str
    kind: str
    element: int
    """0 if it is not an array."""
    base: int
    """0 if it is not a domain."""
    modifier: int


@dataclass
class TypeCatalog:
    """Finds types by their numbers; `look_up` asks the database for those that are not known."""

    look_up: Callable[[Iterable[int]], Iterable[TypeRow]]

    def __post_init__(self) -> None:
        self._known = dict(BUILT_IN)

    def find(self, type_id: int) -> PostgresType:
        """The type of this number."""
        if type_id not in self._known:
            self._known[type_id] = UNKNOWN  # also while what it is made of is looked up
            for row in self.look_up([type_id]):
                self._known[type_id] = self._type(row)
        return self._known[type_id]

    def forget(self) -> None:
        """Look types up again, as after one of them has changed."""
        self._known = dict(BUILT_IN)

    def _type(self, row: TypeRow) -> PostgresType:
        if row.element:
            return PostgresType(row.name, "array", self.find(row.element))
        if row.base:
            return PostgresType(row.name, "domain", self.find(row.base), row.modifier)
        return PostgresType(row.name, _KINDS.get(row.kind, "unknown"))
