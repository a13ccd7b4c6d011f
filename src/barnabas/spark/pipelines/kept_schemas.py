"""The versions of registered schemas that a pipeline has its columns from, in its folder.

    FOLDER/NAME/schemas.json   {SOURCE: {"subject": ..., "schemas": [[ID, KIND, TEXT, REFERENCES]]}}

A pipeline that has run keeps its columns when it starts again, whatever has been registered since.
With `evolve="add"` it takes those of the latest version too.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

from barnabas.formats.registered.address import RegistryAddress
from barnabas.formats.registered.schema import RegisteredSchema
from barnabas.spark.decoding.registered_schemas import registry_at, schemas_from, schemas_text

Evolve: TypeAlias = Literal["add"]
_MAX_VERSIONS = 100


@dataclass(frozen=True)
class KeptSchemas:
    """The schemas of one pipeline. Without a file they are kept in memory only."""

    file: Path | None = None
    has_run: bool = False
    """Whether what is in the file counts."""
    _known: dict[tuple[str, str], list[RegisteredSchema]] = field(default_factory=dict)

    def of(
        self, source: str, address: RegistryAddress, subject: str, evolve: Evolve | None
    ) -> list[RegisteredSchema]:
        """The versions of a source, the newest last. Asks the registry if it has to."""
        place = (source, subject)
        if place not in self._known:
            self._known[place] = self._found(source, address, subject, evolve)
            self._write()
        return self._known[place]

    def _found(
        self, source: str, address: RegistryAddress, subject: str, evolve: Evolve | None
    ) -> list[RegisteredSchema]:
        kept = self._read(source, subject)
        if kept and evolve is None:
            return kept
        latest = registry_at(address).latest(subject).schema
        earlier = [each for each in kept if each.id != latest.id]
        return [*earlier[-_MAX_VERSIONS:], latest]

    def _read(self, source: str, subject: str) -> list[RegisteredSchema]:
        found = self._file_content().get(source)
        if found is None or found["subject"] != subject:
            return []
        return schemas_from(json.dumps(found["schemas"]))

    def _file_content(self) -> Mapping[str, Any]:
        if self.file is None or not self.has_run:
            return {}
        try:
            found: Mapping[str, Any] = json.loads(self.file.read_text("utf-8"))
        except FileNotFoundError:
            return {}
        return found

    def _write(self) -> None:
        if self.file is None:
            return
        self.file.parent.mkdir(parents=True, exist_ok=True)
        new = self.file.with_name(f".schemas-{os.getpid()}.json")
        text = dict(self._file_content()) | {
            source: {"subject": subject, "schemas": json.loads(schemas_text(schemas))}
            for (source, subject), schemas in self._known.items()
        }
        new.write_text(json.dumps(text), "utf-8")
        new.replace(self.file)
