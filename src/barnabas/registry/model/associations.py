"""Associations: which subject the keys or values of a topic have, where its name does not say it.

A resource, which is a topic, has a name, a namespace such as the id of its cluster, and an id. It
has at most one subject for its keys and one for its values. An association is WEAK, and a subject
may have several of these, or STRONG, and then the subject has no other: it belongs to the resource,
and can be deleted with it. A frozen one is not changed any more.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from barnabas.registry.model.contents import Json, JsonObject
from barnabas.registry.model.entries import text

TOPIC = "topic"
TYPES = ("key", "value")
STRONG = "STRONG"
WEAK = "WEAK"
LIFECYCLES = (STRONG, WEAK)
ANY_NAMESPACE = "-"
"""In questions."""


class AssociationKey(NamedTuple):
    """What Confluent's registry has in the keys of its records."""

    resource_name: str
    resource_namespace: str
    resource_type: str
    association_type: str
    subject: str


@dataclass(frozen=True, slots=True)
class Association:
    """One of them."""

    subject: str
    guid: str
    resource_name: str
    resource_namespace: str
    resource_id: str
    resource_type: str
    association_type: str
    lifecycle: str
    frozen: bool = False

    @property
    def key(self) -> AssociationKey:
        return AssociationKey(
            self.resource_name,
            self.resource_namespace,
            self.resource_type,
            self.association_type,
            self.subject,
        )

    @property
    def is_strong(self) -> bool:
        return self.lifecycle == STRONG


def association_json(given: Association) -> dict[str, Json]:
    """As in records and answers."""
    return {
        "subject": given.subject,
        "guid": given.guid,
        "resourceName": given.resource_name,
        "resourceNamespace": given.resource_namespace,
        "resourceId": given.resource_id,
        "resourceType": given.resource_type,
        "associationType": given.association_type,
        "lifecycle": given.lifecycle,
        "frozen": given.frozen,
    }


def association_key(value: JsonObject) -> AssociationKey:
    """Of the key of a record. Raises `MalformedEntryError`."""
    return AssociationKey(
        text(value, "resourceName"),
        text(value, "resourceNamespace"),
        text(value, "resourceType"),
        text(value, "associationType"),
        text(value, "subject"),
    )


def association_from(value: JsonObject) -> Association:
    """Of the value of a record. Raises `MalformedEntryError`."""
    return Association(
        text(value, "subject"),
        text(value, "guid"),
        text(value, "resourceName"),
        text(value, "resourceNamespace"),
        text(value, "resourceId"),
        text(value, "resourceType"),
        text(value, "associationType"),
        text(value, "lifecycle"),
        value.get("frozen") is True,
    )


class AssociationIndex:
    """All associations. Only `RegistryImage` changes it."""

    def __init__(self) -> None:
        self._all: dict[AssociationKey, Association] = {}
        self._by_name: dict[str, dict[AssociationKey, None]] = {}
        self._by_id: dict[str, dict[AssociationKey, None]] = {}
        self._by_subject: dict[str, dict[AssociationKey, None]] = {}

    def put(self, entry: Association) -> None:
        self.remove(entry.key)
        self._all[entry.key] = entry
        for index, name in self._places(entry):
            index.setdefault(name, {})[entry.key] = None

    def remove(self, key: AssociationKey) -> None:
        entry = self._all.pop(key, None)
        if entry is None:
            return
        for index, name in self._places(entry):
            del index[name][key]
            if not index[name]:
                del index[name]

    def _places(
        self, entry: Association
    ) -> Iterator[tuple[dict[str, dict[AssociationKey, None]], str]]:
        yield self._by_name, entry.resource_name
        yield self._by_id, entry.resource_id
        yield self._by_subject, entry.subject

    # -- questions ---------------------------------------------------------------------------------

    def of_name(self, namespace: str, name: str) -> list[Association]:
        """Those of the resources with a name, in a namespace or in any."""
        return [
            each
            for each in self._found(self._by_name.get(name, ()))
            if namespace in (ANY_NAMESPACE, each.resource_namespace)
        ]

    def of_resource(self, resource_id: str) -> list[Association]:
        return self._found(self._by_id.get(resource_id, ()))

    def of_subject(self, subject: str) -> list[Association]:
        return self._found(self._by_subject.get(subject, ()))

    def _found(self, keys: Iterable[AssociationKey]) -> list[Association]:
        return [self._all[each] for each in sorted(keys)]
