"""Associations that are created, changed and deleted."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from barnabas.registry.model.associations import (
    LIFECYCLES,
    STRONG,
    TOPIC,
    TYPES,
    WEAK,
    Association,
)
from barnabas.registry.model.contents import Json, JsonObject, objects
from barnabas.registry.model.deletion import forgotten_subject
from barnabas.registry.model.errors import (
    association_frozen,
    association_not_found,
    invalid_association,
    no_active_version,
    resource_is_associated,
    subject_is_associated,
    subject_is_strongly_associated,
)
from barnabas.registry.model.image import RegistryImage
from barnabas.registry.model.lookups import versions_of
from barnabas.registry.model.names import SubjectName
from barnabas.registry.model.records import LogRecord, association_record
from barnabas.registry.model.registration import RegistryChange


@dataclass(frozen=True, slots=True)
class WantedAssociation:
    """One of a request; what is None stays, or is the default of a new one."""

    association_type: str
    subject: str
    lifecycle: str | None
    frozen: bool | None
    schema: JsonObject | None = None
    """One to register first."""
    normalize: bool = False


@dataclass(frozen=True, slots=True)
class WantedAssociations:
    """A request for a resource."""

    resource_name: str
    resource_namespace: str
    resource_id: str
    associations: Sequence[WantedAssociation]


def wanted_associations(
    body: JsonObject, qualified: Callable[[str], str], resource_id: str | None = None
) -> WantedAssociations:
    """What a request asks for; `qualified` gives the full name of a subject.

    Raises `RegistryRefusal`, which names the field.
    """
    name, namespace = _name(body, "resourceName"), _name(body, "resourceNamespace")
    asked_id = body.get("resourceId") or resource_id
    if not isinstance(asked_id, str) or not asked_id:
        raise invalid_association("resourceId", "cannot be null or empty")
    if resource_id not in (None, asked_id):
        raise invalid_association("resourceId", f"{asked_id!r} is not that of the path")
    if body.get("resourceType") not in (None, "", TOPIC):
        raise invalid_association("resourceType", f"must be '{TOPIC}'")
    asked = objects(body.get("associations"))
    if not asked:
        raise invalid_association("associations", "cannot be null or empty")
    default = SubjectName(f".{namespace}", name).qualified
    found = [_wanted(each, default, qualified) for each in asked]
    if len({each.association_type for each in found}) < len(found):
        raise invalid_association("associationType", "has to differ within a request")
    if len({each.frozen for each in found} - {None}) > 1:
        raise invalid_association("frozen", "has to be the same for all of a resource")
    return WantedAssociations(name, namespace, asked_id, found)


def associate(
    image: RegistryImage,
    wanted: WantedAssociations,
    new_guid: Callable[[], str],
    *,
    update: bool,
    registered: Collection[str] = (),
) -> RegistryChange[list[Association]]:
    """Create associations; with `update` those that exist may change. Raises `RegistryRefusal`.

    `registered` are subjects that will have a version before this is written.
    """
    there = {
        each.association_type: each for each in image.associations.of_resource(wanted.resource_id)
    }
    answer, records = [], list[LogRecord]()
    for each in wanted.associations:
        before = there.get(each.association_type)
        after = (
            _new(wanted, each, new_guid())
            if before is None
            else _changed(before, wanted, each, update=update)
        )
        if after != before:
            _check_subject(image, after)
            has_schema = after.subject in registered or versions_of(image, after.subject)
            if before is None and not has_schema:
                raise no_active_version(after.subject)
            records.append(association_record(after.key, after))
        answer.append(after)
    return RegistryChange(answer, records)


def delete_associations(
    image: RegistryImage, entries: Sequence[Association], resource_id: str, *, cascade: bool
) -> RegistryChange[None]:
    """With `cascade` the subjects of strong ones too, for good. Raises `RegistryRefusal`."""
    if not entries:
        raise association_not_found(resource_id)
    records = []
    for each in entries:
        if each.frozen and not cascade:
            raise association_frozen(each.association_type, each.subject)
        records.append(association_record(each.key, None))
        if cascade and each.is_strong:
            records += forgotten_subject(image, each.subject)
    return RegistryChange(None, records)


def _name(body: JsonObject, field: str) -> str:
    value = body.get(field)
    if not isinstance(value, str) or not value.strip():
        raise invalid_association(field, "cannot be null or empty")
    if not value.isprintable():
        raise invalid_association(field, "cannot have control characters")
    return value


def _wanted(asked: JsonObject, default: str, qualified: Callable[[str], str]) -> WantedAssociation:
    kind = asked.get("associationType") or "value"
    if kind not in TYPES:
        raise invalid_association("associationType", f"must be one of {', '.join(TYPES)}")
    lifecycle, frozen, schema = (asked.get(each) for each in ("lifecycle", "frozen", "schema"))
    if lifecycle is not None and lifecycle not in LIFECYCLES:
        raise invalid_association("lifecycle", f"must be one of {', '.join(LIFECYCLES)}")
    if frozen is not None and not isinstance(frozen, bool):
        raise invalid_association("frozen", "must be true or false")
    if schema is not None and not isinstance(schema, dict):
        raise invalid_association("schema", "must be an object")
    subject: Json = asked.get("subject") or f"{default}-{kind}"
    if not isinstance(subject, str):
        raise invalid_association("subject", "must be a string")
    subject = qualified(subject)
    if frozen and subject != f"{default}-{kind}":
        raise invalid_association("subject", f"frozen associations have '{default}-{kind}'")
    if frozen and lifecycle == WEAK:
        raise invalid_association("lifecycle", "frozen associations are STRONG")
    return WantedAssociation(
        str(kind),
        subject,
        None if lifecycle is None else str(lifecycle),
        frozen,
        schema,
        asked.get("normalize") is True,
    )


def _new(wanted: WantedAssociations, each: WantedAssociation, guid: str) -> Association:
    return Association(
        each.subject,
        guid,
        wanted.resource_name,
        wanted.resource_namespace,
        wanted.resource_id,
        TOPIC,
        each.association_type,
        each.lifecycle or (STRONG if each.frozen else WEAK),
        bool(each.frozen),
    )


def _changed(
    before: Association, wanted: WantedAssociations, each: WantedAssociation, *, update: bool
) -> Association:
    names = (wanted.resource_name, wanted.resource_namespace, each.subject)
    after = replace(
        before,
        lifecycle=each.lifecycle or (STRONG if each.frozen else before.lifecycle),
        frozen=before.frozen if each.frozen is None else each.frozen,
    )
    is_same = names == (before.resource_name, before.resource_namespace, before.subject)
    if before.frozen and (not is_same or after != before):
        raise association_frozen(before.association_type, before.subject)
    if not is_same or (after != before and not update):
        raise resource_is_associated(before.association_type, wanted.resource_id)
    return after


def _check_subject(image: RegistryImage, after: Association) -> None:
    """A strong association is the only one of its subject."""
    others = [
        each for each in image.associations.of_subject(after.subject) if each.key != after.key
    ]
    if any(each.is_strong for each in others):
        raise subject_is_strongly_associated(after.subject)
    if others and after.is_strong:
        raise subject_is_associated(after.subject)
