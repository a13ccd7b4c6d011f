"""What reading Avro data may cost: fastavro itself has no limits.

It reads a type that contains itself by recursion in C, so a few thousand bytes overflow the stack
and end the process. And types without bytes (`null`, a record without fields) cost nothing to
repeat: six bytes are an array of a billion of them.

Schemas that can't do either, nearly all, are found out once, and their data is not looked at. Data
of the others is walked through before fastavro reads it.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

MAX_DEPTH = 200
"""Of values in values: fastavro needs up to 4 kB of stack for each."""
_MAX_EMPTY = 10_000
"""Values that take no bytes, in any record."""
_PER_BYTE = 4
"""As many values may come with each byte of the data."""
_NAMED = ("record", "error", "enum", "fixed")
_FIXED_SIZES = {"null": 0, "float": 4, "double": 8}
_VARINT_BYTES = 10

Check = Callable[[bytes, int], None]


class _Size(NamedTuple):
    """The least that a value of a type consists of."""

    length: int
    """Bytes."""
    values: int
    """Values that have no bytes of their own: `null`, and records."""
    depth: int


def avro_check(parsed: Any, named: Mapping[str, Any]) -> Check | None:
    """What checks data from a position on, if data of this schema has to be; else None.

    The check raises ValueError; so does this, for a schema whose data can't be read within bounds.
    """
    shape = _Shape(named)
    size = shape.size(parsed, 0)
    if size.values > _MAX_EMPTY:
        raise ValueError(f"records of it have {size.values} values without data")
    return _Walk(parsed, named).check if shape.is_unbounded else None


def _resolved(schema: Any, named: Mapping[str, Any]) -> Any:
    """Without names and `{"type": {"type": ...}}`."""
    while True:
        if isinstance(schema, str) and schema in named:
            schema = named[schema]
        elif isinstance(schema, dict) and (
            not isinstance(schema["type"], str) or schema["type"] in named
        ):
            schema = schema["type"]
        else:
            return schema


def _kind(schema: Any) -> str:
    return schema if isinstance(schema, str) else str(schema["type"])


class _Shape:
    """Whether data of few bytes can be deep or many values."""

    def __init__(self, named: Mapping[str, Any]) -> None:
        self.is_unbounded = False
        self._named = named
        self._known: dict[str, _Size] = {}
        self._open: set[str] = set()

    def size(self, schema: Any, above: int) -> _Size:
        """`above` is how deep it is; raises ValueError if that is too deep."""
        schema = _resolved(schema, self._named)
        if isinstance(schema, list):
            branches = [self.size(each, above + 1) for each in schema]
            depth = 1 + max((each.depth for each in branches), default=0)
            return self._within(_Size(1, 0, depth), above)
        kind = _kind(schema)
        if kind in ("record", "error"):
            return self._within(self._record(schema, above), above)
        if kind in ("array", "map"):
            return self._within(self._repeated(schema, kind, above), above)
        length = schema["size"] if kind == "fixed" else _FIXED_SIZES.get(kind, 1)
        return _Size(length, int(length == 0), 1)

    def _record(self, schema: Any, above: int) -> _Size:
        name = str(schema["name"])
        if name in self._known:
            return self._known[name]
        if name in self._open:
            self.is_unbounded = True
            return _Size(0, 1, 1)
        self._open.add(name)
        fields = [self.size(each["type"], above + 1) for each in schema["fields"]]
        self._open.discard(name)
        self._known[name] = _Size(
            sum(each.length for each in fields),
            1 + sum(each.values for each in fields),
            1 + max((each.depth for each in fields), default=0),
        )
        return self._known[name]

    def _within(self, size: _Size, above: int) -> _Size:
        if above + size.depth > MAX_DEPTH:
            raise ValueError(f"its types are nested more than {MAX_DEPTH} deep")
        return size

    def _repeated(self, schema: Any, kind: str, above: int) -> _Size:
        """Items are repeated as often as the data says."""
        items = _resolved(schema["items" if kind == "array" else "values"], self._named)
        index_length = int(isinstance(items, list))  # which branch of a union follows
        branches = items if isinstance(items, list) else [items]
        sizes = [self.size(each, above + 1 + index_length) for each in branches]
        for each in sizes:
            length = index_length + each.length
            if not length or each.values > _PER_BYTE * (length + 1):
                self.is_unbounded = True
        return _Size(1, 0, 1 + index_length + max((each.depth for each in sizes), default=0))


class _Walk:
    """Goes through data as fastavro would, without keeping any of it."""

    def __init__(self, parsed: Any, named: Mapping[str, Any]) -> None:
        self._parsed = parsed
        self._named = named

    def check(self, data: bytes, at: int = 0) -> None:
        """Raises ValueError for data that is too deep, has too many values, or is cut off."""
        _Values(self._named, data, at).walk(self._parsed, 0)


class _Values:
    def __init__(self, named: Mapping[str, Any], data: bytes, at: int) -> None:
        self._named = named
        self._data = data
        self._at = at
        self._left = _MAX_EMPTY + _PER_BYTE * len(data)

    def walk(self, schema: Any, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise ValueError(f"it is nested more than {MAX_DEPTH} deep")
        self._left -= 1
        if self._left < 0:
            raise ValueError("it has too many values without data")
        schema = _resolved(schema, self._named)
        if isinstance(schema, list):
            self.walk(schema[self._index(len(schema))], depth + 1)
            return
        match _kind(schema):
            case "record" | "error":
                for each in schema["fields"]:
                    self.walk(each["type"], depth + 1)
            case "array":
                self._items(schema["items"], depth, has_names=False)
            case "map":
                self._items(schema["values"], depth, has_names=True)
            case "fixed":
                self._skip(schema["size"])
            case "bytes" | "string":
                self._skip(self._long())
            case "boolean":
                self._skip(1)
            case "int" | "long" | "enum":
                self._long()
            case kind:
                self._skip(_FIXED_SIZES.get(kind, 0))

    def _items(self, schema: Any, depth: int, *, has_names: bool) -> None:
        while count := self._long():
            if count < 0:
                count = -count
                self._long()  # the size of the block
            for _ in range(count):
                if has_names:
                    self._skip(self._long())
                self.walk(schema, depth + 1)

    def _index(self, branches: int) -> int:
        index = self._long()
        if not 0 <= index < branches:
            raise ValueError(f"a union has no branch {index}")
        return index

    def _skip(self, length: int) -> None:
        if length < 0 or self._at + length > len(self._data):
            raise ValueError("it ends too early")
        self._at += length

    def _long(self) -> int:
        value = shift = 0
        for _ in range(_VARINT_BYTES):
            if self._at >= len(self._data):
                raise ValueError("it ends too early")
            byte = self._data[self._at]
            self._at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return (value >> 1) ^ -(value & 1)
            shift += 7
        raise ValueError("a number has more than 64 bits")
