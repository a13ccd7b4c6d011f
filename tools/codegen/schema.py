"""The schema table: what the files in src/barnabas/wire/schema say, as a tree.

One block per message, blocks separated by an empty line:

    NAME KIND key=K versions=A-B flexible=C+
      FIELD TYPE VERSIONS [nullable=V] [tagged=V tag=N] [default=D] [ignorable]

KIND is request, response or record. VERSIONS are `3+`, `0-7` or `2`. TYPE is a basic type, a
structure whose fields follow two spaces deeper, or `[]` and one of these. A line `struct NAME`
starts a structure that several fields use by name. `#` starts a comment.

Tags from 10000 on are our own: Kafka's clients and brokers skip them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

MAX = 32767
FIRST_OWN_TAG = 10_000
BASIC = {
    "bool": ("?", "bool"),
    "int8": ("b", "int"),
    "int16": ("h", "int"),
    "uint16": ("H", "int"),
    "int32": ("i", "int"),
    "int64": ("q", "int"),
    "float64": ("d", "float"),
    "uuid": ("16s", "bytes"),
    "string": ("", "str"),
    "bytes": ("", "bytes"),
    "records": ("", "Buffer"),
}
BASIC_TEXT = ("string", "bytes")


@dataclass(frozen=True)
class Versions:
    """A closed range of versions; empty when `low > high`."""

    low: int
    high: int

    def __contains__(self, version: int) -> bool:
        return self.low <= version <= self.high

    def clip(self, other: Versions) -> Versions:
        return Versions(max(self.low, other.low), min(self.high, other.high))


NO_VERSION = Versions(1, 0)


@dataclass
class Field:
    """One field of a message or structure."""

    name: str
    type: str
    versions: Versions
    nullable: Versions = NO_VERSION
    tagged: Versions = NO_VERSION
    tag: int | None = None
    default: str | None = None
    ignorable: bool = False
    fields: list[Field] = field(default_factory=list)

    @property
    def is_array(self) -> bool:
        return self.type.startswith("[]")

    @property
    def element(self) -> str:
        return self.type.removeprefix("[]")

    @property
    def is_basic(self) -> bool:
        return self.element in BASIC

    @property
    def attribute(self) -> str:
        return snake(self.name)

    @property
    def is_own(self) -> bool:
        """Whether Kafka does not have it."""
        return self.tag is not None and self.tag >= FIRST_OWN_TAG


@dataclass
class Block:
    """One message."""

    name: str
    kind: str
    key: int | None
    versions: Versions
    flexible: Versions
    fields: list[Field]
    structs: dict[str, list[Field]]


def snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def parse_versions(text: str) -> Versions:
    if text == "none":
        return NO_VERSION
    if text.endswith("+"):
        return Versions(int(text[:-1]), MAX)
    low, _, high = text.partition("-")
    return Versions(int(low), int(high or low))


def _parse_field(line: str) -> Field:
    name, type_, versions, *rest = line.split()
    parsed = Field(name, type_, parse_versions(versions))
    for word in rest:
        key, _, value = word.partition("=")
        match key:
            case "nullable":
                parsed.nullable = parse_versions(value)
            case "tagged":
                parsed.tagged = parse_versions(value)
            case "tag":
                parsed.tag = int(value)
            case "default":
                parsed.default = value
            case "ignorable":
                parsed.ignorable = True
            case _:
                raise ValueError(f"unknown word {word!r} in {line!r}")
    return parsed


def _parse_block(lines: list[str]) -> Block:
    name, kind, *rest = lines[0].split()
    words = dict(word.split("=") for word in rest)
    structs: dict[str, list[Field]] = {}
    top: list[Field] = []
    levels: list[list[Field]] = [top]
    for line in lines[1:]:
        depth = (len(line) - len(line.lstrip())) // 2
        text = line.strip()
        del levels[depth:]
        if text.startswith("struct "):
            body: list[Field] = []
            structs[text.split()[1]] = body
            levels.append(body)
            continue
        parsed = _parse_field(text)
        levels[depth - 1].append(parsed)
        levels.append(parsed.fields)
    return Block(
        name,
        kind,
        int(words["key"]) if "key" in words else None,
        parse_versions(words["versions"]),
        parse_versions(words["flexible"]),
        top,
        structs,
    )


def parse(path: Path) -> list[Block]:
    """All messages of one schema file, in its order."""
    blocks: list[Block] = []
    lines: list[str] = []
    for raw in [*path.read_text().splitlines(), ""]:
        line = raw.split("#")[0].rstrip()
        if line:
            lines.append(line)
        elif lines:
            blocks.append(_parse_block(lines))
            lines = []
    return blocks
