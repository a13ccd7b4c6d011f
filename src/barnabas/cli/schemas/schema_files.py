"""Schema files of a folder or a git revision, and what they refer to among each other."""

import json
import posixpath
from collections.abc import Iterator
from pathlib import Path
from typing import Self
from urllib.parse import urldefrag

from barnabas.cli.base.command import CommandError
from barnabas.cli.schemas.git_revision import files_in_revision
from barnabas.schemas.parsing import ParsedSchema, parse
from barnabas.schemas.protobuf.parser import parse_file
from barnabas.schemas.schema import InvalidSchemaError, Json, Schema, SchemaKind, SchemaReference

_SUFFIXES = {
    ".avsc": SchemaKind.AVRO,
    ".json": SchemaKind.JSON,
    ".proto": SchemaKind.PROTOBUF,
}


class SchemaFiles:
    """Texts by path. References are found by what the files say, as no registry is asked."""

    def __init__(
        self, texts: dict[str, str], kind: SchemaKind | None = None, only: str | None = None
    ) -> None:
        """`kind` is that of the files that are checked, `only` the only one of them."""
        self._texts = texts
        self._kind = kind
        self._only = only
        self._avro_names: dict[str, str] | None = None

    @classmethod
    def of_path(cls, path: Path, kind: SchemaKind | None) -> Self:
        if path.is_file():
            if kind is None and path.suffix not in _SUFFIXES:
                raise CommandError(f"{path}: give --type, or a name with .avsc, .json or .proto")
            around = {each.name: _text(each) for each in path.parent.glob(f"*{path.suffix}")}
            return cls(around, kind, path.name)
        found = sorted(each for each in path.rglob("*") if each.suffix in _SUFFIXES)
        return cls({each.relative_to(path).as_posix(): _text(each) for each in found}, kind)

    @classmethod
    def of_revision(cls, folder: Path, revision: str, kind: SchemaKind | None) -> Self:
        return cls(files_in_revision(folder, revision, tuple(_SUFFIXES)), kind)

    def paths(self) -> list[str]:
        return sorted(path for path in self._texts if self._wanted(path))

    def _wanted(self, path: str) -> bool:
        if self._only is not None:
            return path == self._only
        return self._kind is None or self._by_name(path) is self._kind

    def _by_name(self, path: str) -> SchemaKind | None:
        return _SUFFIXES.get(posixpath.splitext(path)[1])

    def parsed(self, path: str) -> ParsedSchema:
        """Raises InvalidSchemaError."""
        return parse(self._schema(path), lambda reference: self._schema(reference.subject))

    def _schema(self, path: str) -> Schema:
        text = self._texts[path]
        kind = self._by_name(path)
        if self._kind is not None and self._wanted(path):
            kind = self._kind
        assert kind is not None
        names = dict.fromkeys(self._references(path, kind, text))
        references = tuple(SchemaReference(name, found, 1) for name, found in names)
        return Schema(kind, text, references)

    def _references(self, path: str, kind: SchemaKind, text: str) -> Iterator[tuple[str, str]]:
        """Names that a file uses, and the files they mean."""
        folder = posixpath.dirname(path)
        if kind is SchemaKind.AVRO:
            own, used = _avro_names(text)
            for name in sorted(used - own):
                found = self._defined_in(name)
                if found is not None and found != path:
                    yield name, found
            return
        if kind is SchemaKind.PROTOBUF:
            names = _imports(text)
        else:
            names = [urldefrag(each).url for each in _json_references(text)]
        for name in names:
            for other in (posixpath.normpath(posixpath.join(folder, name)), name):
                if name and other in self._texts and other != path:
                    yield name, other
                    break

    def _defined_in(self, name: str) -> str | None:
        if self._avro_names is None:
            self._avro_names = {}
            for path, text in sorted(self._texts.items()):
                if self._by_name(path) is SchemaKind.AVRO:
                    for each in _avro_names(text)[0]:
                        self._avro_names.setdefault(each, path)
        return self._avro_names.get(name)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{path} can't be read: {error}") from None


def _imports(text: str) -> list[str]:
    try:
        file = parse_file(text)
    except InvalidSchemaError:
        return []  # parsing reports it
    return [*file.imports, *file.public_imports]


def _avro_names(text: str) -> tuple[set[str], set[str]]:
    """Full names of the types that a schema defines, and of those it uses."""
    own: set[str] = set()
    used: set[str] = set()

    def walk(value: Json, namespace: str) -> None:
        if isinstance(value, str):
            used.add(value if "." in value or not namespace else f"{namespace}.{value}")
            used.add(value)
        elif isinstance(value, list):
            for each in value:
                walk(each, namespace)
        elif isinstance(value, dict):
            name = value.get("name")
            if isinstance(name, str) and value.get("type") in ("record", "error", "enum", "fixed"):
                space = value.get("namespace", namespace)
                full = name if "." in name or not space else f"{space}.{name}"
                own.add(full)
                namespace = full.rpartition(".")[0]
                fields = value.get("fields")
                for field in fields if isinstance(fields, list) else []:
                    if isinstance(field, dict):
                        walk(field.get("type"), namespace)
                return
            for key in ("type", "items", "values"):
                walk(value.get(key), namespace)

    try:
        walk(json.loads(text), "")
    except (ValueError, RecursionError):
        return set(), set()  # parsing reports it
    return own, used


def _json_references(text: str) -> Iterator[str]:
    try:
        todo: list[Json] = [json.loads(text)]
    except (ValueError, RecursionError):
        return
    while todo:
        value = todo.pop()
        if isinstance(value, list):
            todo += value
        elif isinstance(value, dict):
            reference = value.get("$ref")
            if isinstance(reference, str):
                yield reference
            todo += value.values()
