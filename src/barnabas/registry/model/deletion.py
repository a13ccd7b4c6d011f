"""Deleting versions and subjects: first softly, then for good."""

from collections.abc import Iterable

from barnabas.registry.model.config import READONLY, READONLY_OVERRIDE
from barnabas.registry.model.entries import SchemaVersion
from barnabas.registry.model.errors import (
    context_not_empty,
    not_permitted,
    reference_exists,
    subject_not_found,
    subject_not_soft_deleted,
    subject_soft_deleted,
    version_not_soft_deleted,
    version_soft_deleted,
)
from barnabas.registry.model.image import RegistryImage
from barnabas.registry.model.lookups import Deleted, existing_version, subjects_with, versions_of
from barnabas.registry.model.names import DEFAULT_CONTEXT, SubjectName, context_of
from barnabas.registry.model.records import (
    LogRecord,
    config_record,
    context_record,
    deleted_subject_record,
    mode_record,
    schema_record,
    schema_tombstone,
    writer_record,
)
from barnabas.registry.model.registration import RegistryChange


def delete_subject(
    image: RegistryImage, subject: str, *, permanent: bool
) -> RegistryChange[list[int]]:
    """Returns the numbers of the versions. Raises `RegistryRefusal`."""
    _check_writable(image, subject)
    every = versions_of(image, subject, Deleted.SHOWN)
    live = [each for each in every if not each.deleted]
    if not every:
        raise subject_not_found(subject)
    if permanent:
        if live:
            raise subject_not_soft_deleted(subject)
        _check_unreferenced(image, every)
        numbers = [each.version for each in every]
        return RegistryChange(numbers, _gone(image, subject, numbers))
    if not live:
        raise subject_soft_deleted(subject)
    _check_unreferenced(image, live)
    numbers = [each.version for each in live]
    records = [deleted_subject_record(subject, numbers[-1]), *_without_settings(image, subject)]
    return RegistryChange(numbers, records)


def delete_version(
    image: RegistryImage, subject: str, number: int | None, *, permanent: bool
) -> RegistryChange[int]:
    """Returns the number of the version; None is the latest. Raises `RegistryRefusal`."""
    _check_writable(image, subject)
    every = versions_of(image, subject, Deleted.SHOWN)
    if not every:
        raise subject_not_found(subject)
    if number is None and permanent:
        number = every[-1].version
    entry = existing_version(image, subject, number, Deleted.SHOWN)
    _check_unreferenced(image, [entry])
    if permanent:
        if not entry.deleted:
            raise version_not_soft_deleted(subject, entry.version)
        return RegistryChange(entry.version, _gone(image, subject, [entry.version]))
    if entry.deleted:
        raise version_soft_deleted(subject, entry.version)
    records = [schema_record(entry.with_deleted())]
    if all(each.deleted or each.version == entry.version for each in every):
        records += _without_settings(image, subject)
    return RegistryChange(entry.version, records)


def forgotten_subject(image: RegistryImage, subject: str) -> list[LogRecord]:
    """Deletes a subject for good, whether it is soft-deleted or not. Raises `RegistryRefusal`."""
    every = versions_of(image, subject, Deleted.SHOWN)
    if not every:
        return []
    _check_writable(image, subject)
    _check_unreferenced(image, every)
    numbers = [each.version for each in every]
    return [*_gone(image, subject, numbers), *_without_settings(image, subject)]


def delete_context(image: RegistryImage, context: str) -> RegistryChange[None]:
    """Forget a context without subjects. Raises `RegistryRefusal`."""
    if context == DEFAULT_CONTEXT or context not in image.contexts:
        raise not_permitted(f"Context {context} is not there, or the default one")
    prefix = SubjectName(context, "").qualified
    if subjects_with(image, prefix, Deleted.SHOWN):
        raise context_not_empty(context)
    return RegistryChange(None, [context_record(context, exists=False)])


def _check_writable(image: RegistryImage, subject: str) -> None:
    if image.mode_in_force(subject) in (READONLY, READONLY_OVERRIDE):
        raise not_permitted(
            f"Subject {subject} in context {context_of(subject)} is in read-only mode"
        )


def _check_unreferenced(image: RegistryImage, entries: Iterable[SchemaVersion]) -> None:
    for each in entries:
        if any(image.schemas.referrers(each.subject, each.version)):
            raise reference_exists(each.subject, each.version)


def _gone(image: RegistryImage, subject: str, numbers: Iterable[int]) -> list[LogRecord]:
    """Deletes for good, and remembers which ids were given."""
    tombstones = [schema_tombstone(subject, each) for each in numbers]
    return [*tombstones, writer_record(image.writer, image.max_ids)]


def _without_settings(image: RegistryImage, subject: str) -> list[LogRecord]:
    found = []
    if image.mode(subject) is not None:
        found.append(mode_record(subject, None))
    if image.config(subject) is not None:
        found.append(config_record(subject, None))
    return found
