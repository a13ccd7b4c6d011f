"""A schema for a subject: the version that has it, or the records of a new one."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from barnabas.registry.model.checks import SchemaChecks, UnusableSchemaError
from barnabas.registry.model.config import (
    FORWARD,
    IMPORT,
    READONLY,
    READONLY_OVERRIDE,
    READWRITE,
    level_of,
    object_of,
)
from barnabas.registry.model.contents import JsonObject, SchemaContent, mapping
from barnabas.registry.model.contracts import (
    check_rules,
    merged_metadata,
    merged_rules,
    version_in,
    with_version,
)
from barnabas.registry.model.entries import SchemaVersion
from barnabas.registry.model.errors import (
    incompatible,
    invalid_schema,
    invalid_subject,
    not_permitted,
    schema_not_found,
    schema_too_large,
)
from barnabas.registry.model.image import RegistryImage
from barnabas.registry.model.lookups import (
    Deleted,
    absolute,
    existing_subject,
    resolver,
    versions_of,
)
from barnabas.registry.model.names import DEFAULT_CONTEXT, context_of, is_valid_subject
from barnabas.registry.model.records import LogRecord, context_record, schema_record

T = TypeVar("T")
_LARGEST = 900_000
"""A record with it has to fit into a batch of 1 MB, the default of Kafka's topics."""
MAX_ID = 2**31 - 1
_SKIPPED_IDS = 1_000
"""How far above the next id of its context users may import one who only have rights on subjects.
New ids are larger than all before, and whoever imports the largest leaves none to the others."""


@dataclass(frozen=True, slots=True)
class RegistryChange(Generic[T]):
    """What a request is answered with, once its records are written."""

    answer: T
    records: Sequence[LogRecord] = ()


@dataclass(frozen=True, slots=True)
class WantedSchema:
    """A request to register a schema."""

    subject: str
    content: SchemaContent
    id: int | None = None
    """The id that it has elsewhere, if it is imported."""
    version: int = 0
    """The number that it is to have: 0 for any, -1 for the next, which metadata then names."""
    normalize: bool = False
    may_skip_ids: bool = True
    """Whether an imported id may be far above those that were given."""


def register(
    image: RegistryImage, checks: SchemaChecks, wanted: WantedSchema
) -> RegistryChange[SchemaVersion]:
    """Raises `RegistryRefusal`."""
    subject = wanted.subject
    if not is_valid_subject(subject):
        raise invalid_subject(subject)
    mode = _checked_mode(image, wanted)
    is_import = mode in (IMPORT, FORWARD)
    config = image.config_in_force(subject)
    live = versions_of(image, subject)
    number = max(image.schemas.versions(subject), default=0) + 1
    content = stored_form(image, checks, wanted, live, config)
    same = None if wanted.version else _version_with(image, subject, content, wanted.id)
    if same is not None:
        return RegistryChange(same)
    if is_import:
        return _imported(image, wanted, content, number)
    merged = _with_contract(content, config, live, number if wanted.version else None, number)
    check_rules(merged.rules)
    same = None if wanted.version else _version_with(image, subject, merged, None)
    if same is not None:
        return RegistryChange(same)
    reasons = incompatibilities(image, checks, subject, merged, live)
    if reasons:
        raise incompatible(subject, reasons)
    if wanted.version > 0 and wanted.version != number:
        raise invalid_schema("Version is not one more than previous version")
    entry = SchemaVersion(subject, number, _id_for(image, wanted, merged), merged)
    return RegistryChange(entry, _records(image, entry))


def look_up(
    image: RegistryImage,
    checks: SchemaChecks,
    wanted: WantedSchema,
    deleted: Deleted = Deleted.HIDDEN,
) -> SchemaVersion:
    """The version of a subject that has a schema. Raises `RegistryRefusal`."""
    subject = wanted.subject
    versions = existing_subject(image, subject, deleted)
    live = versions_of(image, subject)
    config = image.config_in_force(subject)
    content = stored_form(image, checks, wanted, live, config)
    contents = [content, _with_contract(content, config, live, None, 0)]
    for each in contents:
        for version in reversed(versions):
            if version.content == each:
                return version
    normal = [_normalized(image, checks, subject, each) for each in contents]
    for version in reversed(versions):
        if _normalized(image, checks, subject, version.content) in normal:
            return version
    raise schema_not_found()


def incompatibilities(
    image: RegistryImage,
    checks: SchemaChecks,
    subject: str,
    content: SchemaContent,
    earlier: Sequence[SchemaVersion],
) -> list[str]:
    """Why a schema may not follow these versions, by the settings of the subject."""
    config = image.config_in_force(subject)
    group = config.get("compatibilityGroup")
    if group is not None:
        own = _group_of(content, str(group))
        earlier = [each for each in earlier if _group_of(each.content, str(group)) == own]
    level = level_of(config)
    previous = [replace(each, content=absolute(each.content, subject)) for each in earlier]
    try:
        found = checks.incompatibilities(
            absolute(content, subject), previous, level, resolver(image)
        )
    except (UnusableSchemaError, LookupError) as error:
        raise invalid_schema(str(error)) from error
    return [*found, f"{{compatibility: '{level}'}}"] if found else []


def stored_form(
    image: RegistryImage,
    checks: SchemaChecks,
    wanted: WantedSchema,
    live: Sequence[SchemaVersion],
    config: JsonObject,
) -> SchemaContent:
    """A schema as it is stored; without a text, the latest. Raises `RegistryRefusal`."""
    content = wanted.content
    if not content.text.strip():
        if not live:
            raise invalid_schema("Empty schema")
        latest = live[-1].content
        content = replace(content, kind=latest.kind, text=latest.text, references=latest.references)
    if content.kind not in checks.kinds:
        raise invalid_schema(f"Invalid schema type {content.kind}")
    if len(content.text) > _LARGEST:
        raise schema_too_large(len(content.text), _LARGEST)
    normalize = wanted.normalize or config.get("normalize") is True
    text = _canonical(image, checks, wanted.subject, content, normalize=normalize)
    return replace(content, text=text)


def _checked_mode(image: RegistryImage, wanted: WantedSchema) -> str:
    mode = image.mode_in_force(wanted.subject)
    where = f"Subject {wanted.subject} in context {context_of(wanted.subject)}"
    if mode in (READONLY, READONLY_OVERRIDE):
        raise not_permitted(f"{where} is in read-only mode")
    if wanted.id is not None:
        if mode not in (IMPORT, FORWARD):
            raise not_permitted(f"{where} is not in import mode")
        if not 0 <= wanted.id <= MAX_ID:
            raise invalid_schema(f"id has to be from 0 to {MAX_ID}, not {wanted.id}")
    elif mode != READWRITE:
        raise not_permitted(f"{where} is not in read-write mode")
    return mode


def _canonical(
    image: RegistryImage,
    checks: SchemaChecks,
    subject: str,
    content: SchemaContent,
    *,
    normalize: bool,
) -> str:
    try:
        return checks.canonical(absolute(content, subject), resolver(image), normalize=normalize)
    except (UnusableSchemaError, LookupError) as error:
        raise invalid_schema(f"Invalid schema of type {content.kind}, details: {error}") from error


def _normalized(
    image: RegistryImage, checks: SchemaChecks, subject: str, content: SchemaContent
) -> SchemaContent:
    text = _canonical(image, checks, subject, content, normalize=True)
    return replace(content, text=text)


def _version_with(
    image: RegistryImage, subject: str, content: SchemaContent, schema_id: int | None
) -> SchemaVersion | None:
    """The latest version of a subject with just this content, and with an id that is given."""
    for each in reversed(versions_of(image, subject)):
        if each.content == content and schema_id in (None, each.id):
            return each
    return None


def _with_contract(
    content: SchemaContent,
    config: JsonObject,
    live: Sequence[SchemaVersion],
    named: int | None,
    number: int,
) -> SchemaContent:
    """A schema with metadata and rules: its own or those of the latest version, and the settings'.

    `named` is the version that metadata has to name. Metadata that names one already, names
    `number` then.
    """
    latest = live[-1].content if live else None
    metadata, rules = content.metadata, content.rules
    if metadata is None and latest is not None:
        metadata = latest.metadata
    if rules is None and latest is not None:
        rules = latest.rules
    metadata = merged_metadata(object_of(config, "defaultMetadata"), metadata)
    metadata = merged_metadata(metadata, object_of(config, "overrideMetadata"))
    rules = merged_rules(object_of(config, "defaultRuleSet"), rules)
    rules = merged_rules(rules, object_of(config, "overrideRuleSet"))
    if named is not None or (number and version_in(metadata) is not None):
        metadata = with_version(metadata, number)
    return replace(content, metadata=metadata, rules=rules)


def _group_of(content: SchemaContent, group: str) -> object:
    return mapping((content.metadata or {}).get("properties")).get(group)


def _id_for(image: RegistryImage, wanted: WantedSchema, content: SchemaContent) -> int:
    """The id that is asked for, that of an equal schema of the context, or the next."""
    context = context_of(wanted.subject)
    if wanted.id is None:
        known = image.schemas.ids(context, content)
        return known[0] if known else _next_id(image, context)
    for each in image.schemas.holders(context, wanted.id):
        if each.content != content:
            raise not_permitted(
                f"Overwrite new schema with id {wanted.id} in context {context} is not permitted."
            )
    next_id = image.next_id(context)
    if wanted.id > next_id + _SKIPPED_IDS and not wanted.may_skip_ids:
        raise not_permitted(
            f"id {wanted.id} is more than {_SKIPPED_IDS} above the next id of context {context}, "
            f"which is {next_id}: this needs ALTER_CONFIGS on the whole context"
        )
    return wanted.id


def _next_id(image: RegistryImage, context: str) -> int:
    found = image.next_id(context)
    if found > MAX_ID:
        raise not_permitted(
            f"context {context} has no id left, since a schema with id {found - 1} was imported: "
            "register new schemas in another context"
        )
    return found


def _imported(
    image: RegistryImage, wanted: WantedSchema, content: SchemaContent, number: int
) -> RegistryChange[SchemaVersion]:
    """A schema as it is elsewhere: settings add nothing to it, and forbid nothing."""
    number = wanted.version if wanted.version > 0 else number
    entry = SchemaVersion(wanted.subject, number, _id_for(image, wanted, content), content)
    there = image.schemas.versions(wanted.subject).get(number)
    if there == entry:
        return RegistryChange(entry)
    if there is None or there.with_deleted() == entry.with_deleted():
        return RegistryChange(entry, _records(image, entry))
    raise not_permitted(
        f"Subject {wanted.subject} has a version {number} already, with id {there.id}: overwriting "
        "it is not permitted"
    )


def _records(image: RegistryImage, entry: SchemaVersion) -> list[LogRecord]:
    context = context_of(entry.subject)
    is_new = context != DEFAULT_CONTEXT and context not in image.contexts
    first = [context_record(context)] if is_new else []
    return [*first, schema_record(entry)]
