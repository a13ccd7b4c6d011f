"""Random schemas, later versions of them, and values."""

import copy
import random
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

LOGICAL: list[dict[str, Any]] = [
    {"type": "int", "logicalType": "date"},
    {"type": "long", "logicalType": "timestamp-millis"},
    {"type": "long", "logicalType": "timestamp-micros"},
    {"type": "bytes", "logicalType": "decimal", "precision": 20, "scale": 3},
    {"type": "string", "logicalType": "uuid"},
]
PLAIN = ["boolean", "int", "long", "float", "double", "bytes", "string"]
PROMOTED = {
    "int": ["long", "float", "double"],
    "long": ["float", "double"],
    "float": ["double"],
    "string": ["bytes"],
    "bytes": ["string"],
}
EDGES = [0, 1, -1, 63, 64, -64, -65, 8191, 2**31 - 1, -(2**31), 2**62, 2**63 - 1, -(2**63)]
_CHOICES: dict[str, list[Any]] = {
    "null": [None],
    "boolean": [True, False],
    "int": [each for each in EDGES if -(2**31) <= each < 2**31],
    "float": [0.0, -1.5, 2.0**100, float("inf")],
    "double": [0.0, 0.1, -1e300, float("-inf")],
    "bytes": [each.encode() for each in ("", "ä", "a" * 200)],  # which may be read as a string
    "string": ["", "plain", "ä€😀", "x" * 100, "12345678é"],
}


class RandomAvro:
    """Everything that one seed makes."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self._names = 0

    def _name(self, stem: str) -> str:
        self._names += 1
        return f"{stem}{self._names}"

    def record(self, depth: int = 0, name: str | None = None) -> dict[str, Any]:
        count = self.random.randint(1, 6 if depth == 0 else 3)
        fields = [{"name": self._name("f"), "type": self.type(depth)} for _ in range(count)]
        return {"type": "record", "name": name or self._name("R"), "fields": fields}

    def type(self, depth: int) -> Any:
        kind = self.random.random()
        if kind < 0.45 or depth > 2:
            return self.random.choice(PLAIN)
        if kind < 0.6:
            return dict(self.random.choice(LOGICAL))
        if kind < 0.65:
            return {"type": "fixed", "name": self._name("X"), "size": self.random.randint(0, 9)}
        if kind < 0.7:
            return {"type": "enum", "name": self._name("E"), "symbols": ["A", "B", "C"]}
        if kind < 0.8:
            return ["null", self._not_union(depth + 1)]
        if kind < 0.87:
            return {"type": "array", "items": self.type(depth + 1)}
        if kind < 0.93:
            return {"type": "map", "values": self.type(depth + 1)}
        return self.record(depth + 1)

    def _not_union(self, depth: int) -> Any:
        while isinstance(found := self.type(depth), list):
            pass
        return found

    # -- later versions ------------------------------------------------------------------------

    def changed(self, schema: dict[str, Any]) -> dict[str, Any]:
        """A schema that reads what the given one writes."""
        made = copy.deepcopy(schema)
        self._change(made)
        return made

    def _change(self, record: dict[str, Any]) -> None:
        fields = record["fields"]
        if self.random.random() < 0.5:
            fields.insert(self.random.randint(0, len(fields)), self._added())
        if len(fields) > 1 and self.random.random() < 0.3:
            fields.pop(self.random.randrange(len(fields)))
        if self.random.random() < 0.3:
            self.random.shuffle(fields)
        for field in fields:
            if "default" in field:
                continue
            if self.random.random() < 0.15:
                field["aliases"] = [*field.get("aliases", []), field["name"]]
                field["name"] = self._name("g")
            field["type"] = self._changed_type(field["type"])

    def _added(self) -> dict[str, Any]:
        kind, default = self.random.choice(
            [
                ("int", 7),
                ("string", "né"),
                ("bytes", "\u00ff\u0001"),
                ("double", 1.5),
                (["null", "long"], None),
                ({"type": "array", "items": "int"}, [1, 2]),
                ({"type": "map", "values": "string"}, {"a": "b"}),
                ({"type": "map", "values": "string"}, {}),
                ({"type": "enum", "name": self._name("E"), "symbols": ["P", "Q"]}, "Q"),
            ]
        )
        return {"name": self._name("n"), "type": kind, "default": default}

    def _changed_type(self, kind: Any) -> Any:
        if isinstance(kind, list):
            return [self._changed_type(each) for each in kind]
        if isinstance(kind, str) and kind in PROMOTED and self.random.random() < 0.3:
            return self.random.choice(PROMOTED[kind])
        if isinstance(kind, dict):
            if kind["type"] == "record":
                self._change(kind)
            elif kind["type"] == "array":
                kind["items"] = self._changed_type(kind["items"])
            elif kind["type"] == "map":
                kind["values"] = self._changed_type(kind["values"])
            elif kind["type"] == "enum" and self.random.random() < 0.3:
                kind["symbols"] = self.random.choice([["A", "B", "C", "D"], ["C", "A", "B"]])
        return kind

    # -- values --------------------------------------------------------------------------------

    def value(self, kind: Any) -> Any:
        if isinstance(kind, list):
            return self.value(self.random.choice(kind))
        name = kind if isinstance(kind, str) else kind["type"]
        logical = None if isinstance(kind, str) else kind.get("logicalType")
        if logical is not None:
            return self._logical(logical)
        if name in _CHOICES:
            return self.random.choice(_CHOICES[name])
        match name:
            case "long":
                return self.random.choice([*EDGES, self.random.randint(-(2**63), 2**63 - 1)])
            case "fixed":
                return self.random.randbytes(kind["size"])
            case "enum":
                return self.random.choice(kind["symbols"])
            case "array":
                return [self.value(kind["items"]) for _ in range(self.random.choice([0, 1, 3]))]
            case "map":
                return {
                    f"k{n}é": self.value(kind["values"])
                    for n in range(self.random.choice([0, 1, 3]))
                }
        return {each["name"]: self.value(each["type"]) for each in kind["fields"]}

    def _logical(self, name: str) -> Any:
        match name:
            case "date":
                return date(1970, 1, 1) + timedelta(self.random.randint(-9999, 9999))
            case "timestamp-millis":
                return datetime.fromtimestamp(self.random.randint(-(10**9), 10**9), UTC)
            case "timestamp-micros":
                seconds = self.random.randint(-(10**9), 10**9)
                return datetime.fromtimestamp(seconds, UTC) + timedelta(microseconds=123457)
            case "decimal":
                return Decimal(self.random.choice([0, 1, -1, 10**20 - 1, -(10**20) + 1])).scaleb(-3)
        return str(self._uuid())

    def _uuid(self) -> Any:
        from uuid import UUID

        return UUID(int=self.random.getrandbits(128))
