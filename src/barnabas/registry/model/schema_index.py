"""Versions of subjects, found by subject, id, content, GUID and reference."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple, TypeVar

from barnabas.registry.model.contents import SchemaContent
from barnabas.registry.model.entries import SchemaVersion
from barnabas.registry.model.names import beside, context_of

_K = TypeVar("_K")
_P = TypeVar("_P")


class VersionKey(NamedTuple):
    """Which version."""

    subject: str
    version: int


_NONE: Mapping[int, SchemaVersion] = MappingProxyType({})


class SchemaIndex:
    """All versions, soft-deleted ones too. Only `RegistryImage` changes it."""

    def __init__(self) -> None:
        self._subjects: dict[str, dict[int, SchemaVersion]] = {}
        self._holders: dict[tuple[str, int], dict[VersionKey, None]] = {}
        self._ids: dict[tuple[str, SchemaContent], dict[int, int]] = {}
        self._by_guid: dict[str, dict[tuple[str, int], int]] = {}
        self._referrers: dict[VersionKey, dict[VersionKey, None]] = {}

    def put(self, entry: SchemaVersion) -> None:
        self.remove(entry.subject, entry.version)
        key = VersionKey(entry.subject, entry.version)
        context = context_of(entry.subject)
        self._subjects.setdefault(entry.subject, {})[entry.version] = entry
        self._holders.setdefault((context, entry.id), {})[key] = None
        _count(self._ids.setdefault((context, entry.content), {}), entry.id)
        _count(self._by_guid.setdefault(entry.content.guid, {}), (context, entry.id))
        for each in self._references(entry):
            self._referrers.setdefault(each, {})[key] = None

    def remove(self, subject: str, version: int) -> None:
        entry = self._subjects.get(subject, {}).pop(version, None)
        if entry is None:
            return
        if not self._subjects[subject]:
            del self._subjects[subject]
        key = VersionKey(subject, version)
        context = context_of(subject)
        _drop(self._holders, (context, entry.id), key)
        _uncount(self._ids, (context, entry.content), entry.id)
        _uncount(self._by_guid, entry.content.guid, (context, entry.id))
        for each in self._references(entry):
            _drop(self._referrers, each, key)

    # -- questions ---------------------------------------------------------------------------------

    def subjects(self) -> list[str]:
        return sorted(self._subjects)

    def versions(self, subject: str) -> Mapping[int, SchemaVersion]:
        """By number, in no particular order."""
        return self._subjects.get(subject, _NONE)

    def holders(self, context: str, schema_id: int) -> Iterator[SchemaVersion]:
        """The versions that have an id."""
        for key in self._holders.get((context, schema_id), ()):
            yield self._subjects[key.subject][key.version]

    def ids(self, context: str, content: SchemaContent) -> list[int]:
        """The ids of a content; several only if ids were imported."""
        return list(self._ids.get((context, content), ()))

    def by_guid(self, guid: str) -> list[tuple[str, int]]:
        """Contexts and ids."""
        return sorted(self._by_guid.get(guid, ()))

    def referrers(self, subject: str, version: int) -> Iterator[SchemaVersion]:
        """Versions that refer to one and are not deleted."""
        for key in self._referrers.get(VersionKey(subject, version), ()):
            entry = self._subjects[key.subject][key.version]
            if not entry.deleted:
                yield entry

    @staticmethod
    def _references(entry: SchemaVersion) -> set[VersionKey]:
        return {
            VersionKey(beside(entry.subject, each.subject), each.version)
            for each in entry.content.references
        }


def _count(counts: dict[_K, int], key: _K) -> None:
    counts[key] = counts.get(key, 0) + 1


def _uncount(places: dict[_P, dict[_K, int]], place: _P, key: _K) -> None:
    counts = places[place]
    counts[key] -= 1
    if not counts[key]:
        del counts[key]
    if not counts:
        del places[place]


def _drop(places: dict[_P, dict[_K, None]], place: _P, key: _K) -> None:
    del places[place][key]
    if not places[place]:
        del places[place]
