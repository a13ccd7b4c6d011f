"""Questions that the REST API answers from the image."""

from collections.abc import Iterable, Mapping
from enum import Enum

from barnabas.registry.model.checks import Resolve
from barnabas.registry.model.config import ALIAS
from barnabas.registry.model.contents import Reference, SchemaContent, mapping
from barnabas.registry.model.entries import SchemaVersion
from barnabas.registry.model.errors import (
    invalid_version,
    schema_not_found,
    subject_not_found,
    version_not_found,
)
from barnabas.registry.model.image import RegistryImage
from barnabas.registry.model.names import (
    ALL_CONTEXTS,
    DEFAULT_CONTEXT,
    SubjectName,
    beside,
    context_of,
    parse_subject,
    qualified,
)

LATEST = "latest"
_MAX_VERSION = 2**31 - 1


class Deleted(Enum):
    """Whether soft-deleted versions are seen."""

    HIDDEN = "hidden"
    SHOWN = "shown"
    ALONE = "alone"

    def shows(self, *, deleted: bool) -> bool:
        return self is Deleted.SHOWN or deleted is (self is Deleted.ALONE)


def subject_of_alias(image: RegistryImage, subject: str) -> str:
    """The subject that a name stands for."""
    name = qualified(subject)
    alias = (image.config(name) or {}).get(ALIAS)
    return beside(name, alias) if isinstance(alias, str) and alias else name


def versions_of(
    image: RegistryImage, subject: str, deleted: Deleted = Deleted.HIDDEN
) -> list[SchemaVersion]:
    """In ascending order."""
    found = image.schemas.versions(subject)
    return [found[each] for each in sorted(found) if deleted.shows(deleted=found[each].deleted)]


def subjects_with(
    image: RegistryImage, prefix: str = ALL_CONTEXTS, deleted: Deleted = Deleted.HIDDEN
) -> list[str]:
    """Subjects that start with a prefix. With `ALONE`, those without any version that is left."""
    found = []
    for each in image.schemas.subjects():
        if not has_prefix(each, prefix):
            continue
        is_deleted = all(each.deleted for each in image.schemas.versions(each).values())
        if deleted.shows(deleted=is_deleted):
            found.append(each)
    return found


def has_prefix(subject: str, prefix: str) -> bool:
    """Whether a subject is one of a prefix; `:*:` is any context, and one without the default."""
    if prefix.startswith(ALL_CONTEXTS):
        return parse_subject(subject).subject.startswith(prefix.removeprefix(ALL_CONTEXTS))
    if not prefix:
        return context_of(subject) == DEFAULT_CONTEXT
    wanted = parse_subject(prefix)
    there = parse_subject(subject)
    return there.context == wanted.context and there.subject.startswith(wanted.subject)


def schemas_with(
    image: RegistryImage, prefix: str, deleted: Deleted, *, latest_only: bool
) -> list[SchemaVersion]:
    """Versions of all subjects of a prefix."""
    found = []
    for subject in image.schemas.subjects():
        if has_prefix(subject, prefix):
            versions = versions_of(image, subject, deleted)
            found += versions[-1:] if latest_only else versions
    return found


def existing_subject(
    image: RegistryImage, subject: str, deleted: Deleted = Deleted.HIDDEN
) -> list[SchemaVersion]:
    """The versions of a subject; raises `RegistryRefusal` if there are none."""
    found = versions_of(image, subject, deleted)
    if not found:
        raise subject_not_found(subject)
    return found


def parse_version(text: str) -> int | None:
    """A number, None for the latest. Raises `RegistryRefusal`."""
    if text in (LATEST, "-1"):
        return None
    if not (text.isascii() and text.isdecimal()) or not 1 <= int(text) <= _MAX_VERSION:
        raise invalid_version(text)
    return int(text)


def existing_version(
    image: RegistryImage, subject: str, number: int | None, deleted: Deleted = Deleted.HIDDEN
) -> SchemaVersion:
    """A version, None for the latest; raises `RegistryRefusal`."""
    if not versions_of(image, subject, Deleted.SHOWN):
        raise subject_not_found(subject)
    versions = versions_of(image, subject, Deleted.HIDDEN if number is None else deleted)
    if number is None:
        if not versions:
            raise subject_not_found(subject)
        return versions[-1]
    for each in versions:
        if each.version == number:
            return each
    raise version_not_found(number)


def with_id(image: RegistryImage, schema_id: int, subject: str = "") -> SchemaVersion:
    """A version that has an id; raises `RegistryRefusal`.

    The subject says in which context to look, and one of the default context may be of any.
    """
    name = parse_subject(subject)
    places = [name]
    if name.context == DEFAULT_CONTEXT and name.subject:
        places += [SubjectName(each, name.subject) for each in image.contexts[1:]]
    for place in places:
        for each in image.schemas.holders(place.context, schema_id):
            if each.subject == place.qualified:
                return each
    for each in image.schemas.holders(name.context, schema_id):
        return each
    raise schema_not_found(schema_id)


def holders_of_id(
    image: RegistryImage, schema_id: int, subject: str, deleted: Deleted
) -> list[SchemaVersion]:
    """All versions that have an id, in the context of one that the subject names."""
    first = with_id(image, schema_id, subject)
    found = image.schemas.holders(context_of(first.subject), schema_id)
    return sorted(
        (each for each in found if deleted.shows(deleted=each.deleted)),
        key=lambda each: (each.subject, each.version),
    )


def with_guid(image: RegistryImage, guid: str) -> SchemaVersion:
    """A version with a GUID; raises `RegistryRefusal`."""
    for context, schema_id in image.schemas.by_guid(guid.lower()):
        for each in image.schemas.holders(context, schema_id):
            if each.content.guid == guid.lower():
                return each
    raise schema_not_found(guid)


def latest_with_metadata(
    image: RegistryImage, subject: str, wanted: Mapping[str, str], deleted: Deleted
) -> SchemaVersion:
    """The latest version whose metadata has these properties; raises `RegistryRefusal`."""
    for each in reversed(existing_subject(image, subject, deleted)):
        properties = mapping((each.content.metadata or {}).get("properties"))
        if all(properties.get(name) == value for name, value in wanted.items()):
            return each
    raise schema_not_found()


def referring_ids(entries: Iterable[SchemaVersion]) -> list[int]:
    return sorted({each.id for each in entries})


def resolver(image: RegistryImage) -> Resolve:
    """Finds the schemas of references whose subjects are qualified (`absolute`)."""

    def resolve(reference: Reference) -> SchemaContent:
        versions = image.schemas.versions(reference.subject)
        number = reference.version
        if number == -1:
            number = max(
                (each.version for each in versions.values() if not each.deleted), default=0
            )
        found = versions.get(number)
        if found is None:
            raise LookupError(
                f"no schema for reference {reference.name!r}: subject {reference.subject!r} has no "
                f"version {reference.version}"
            )
        return absolute(found.content, reference.subject)

    return resolve


def absolute(content: SchemaContent, subject: str) -> SchemaContent:
    """A schema of a subject, with qualified subjects in its references."""
    if not content.references:
        return content
    references = tuple(
        Reference(each.name, beside(subject, each.subject), each.version)
        for each in content.references
    )
    return SchemaContent(content.kind, content.text, references, content.metadata, content.rules)
