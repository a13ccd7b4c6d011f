"""`/schemas`: schemas by id and GUID."""

from collections.abc import Iterable

from barnabas.registry.model.config import ALIAS
from barnabas.registry.model.contents import Json
from barnabas.registry.model.entries import SchemaVersion, content_json
from barnabas.registry.model.lookups import (
    Deleted,
    holders_of_id,
    schemas_with,
    subject_of_alias,
    with_guid,
    with_id,
)
from barnabas.registry.model.names import ALL_CONTEXTS, beside, context_of
from barnabas.registry.rest.answers import answer, page, raw, schema_json
from barnabas.registry.rest.call import Call, parse_number
from barnabas.registry.rest.instance import RegistryInstance
from barnabas.web.messages import Response
from barnabas.wire.acl_codes import AclOperation


async def list_schemas(instance: RegistryInstance, call: Call) -> Response:
    """GET /schemas: versions of all subjects."""
    default = ALL_CONTEXTS if call.context is None else ""
    prefix = call.qualified(call.text("subjectPrefix", default))
    latest_only = call.flag("latestOnly")
    every = schemas_with(instance.image, prefix, call.deleted, latest_only=latest_only)
    found = [each for each in every if call.may_read(each.subject)]
    aliases = _aliases(instance) if call.flag("aliases") else {}
    shown: list[Json] = []
    for each in page(range(len(found)), *call.page):
        assert isinstance(each, int)
        entry = found[each]
        fields = schema_json(
            entry,
            instance.formatted(entry, call.text("format")),
            every_field=call.accepts_every_field,
        )
        if entry.subject in aliases:
            fields["aliases"] = [*aliases[entry.subject]]
        shown.append(fields)
    return answer(shown)


async def list_types(instance: RegistryInstance, _call: Call) -> Response:
    """GET /schemas/types."""
    return answer([*instance.checks.kinds])


async def get_schema(instance: RegistryInstance, call: Call) -> Response:
    """GET /schemas/ids/N."""
    entry = _by_id(instance, call)
    fields = _schema(instance, call, entry)
    if call.accepts_every_field:
        fields |= {"subject": entry.subject, "version": entry.version}
    if call.flag("fetchMaxId"):
        fields["maxId"] = instance.image.max_ids.get(context_of(entry.subject), 0)
    return answer(fields)


async def get_text(instance: RegistryInstance, call: Call) -> Response:
    """GET /schemas/ids/N/schema."""
    return raw(instance.formatted(_by_id(instance, call), call.text("format")))


async def get_subjects(instance: RegistryInstance, call: Call) -> Response:
    """GET /schemas/ids/N/subjects."""
    names = dict.fromkeys(each.subject for each in _holders(instance, call))
    return answer(page([*names], *call.page))


async def get_versions(instance: RegistryInstance, call: Call) -> Response:
    """GET /schemas/ids/N/versions."""
    found: list[Json] = [
        {"subject": each.subject, "version": each.version} for each in _holders(instance, call)
    ]
    return answer(page(found, *call.page))


async def get_by_guid(instance: RegistryInstance, call: Call) -> Response:
    """GET /schemas/guids/G."""
    return answer(_schema(instance, call, _by_guid(instance, call)))


async def get_ids_of_guid(instance: RegistryInstance, call: Call) -> Response:
    """GET /schemas/guids/G/ids."""
    _by_guid(instance, call)
    found = instance.image.schemas.by_guid(call.path[2].lower())
    return answer([{"context": context, "id": each} for context, each in found])


def _schema(instance: RegistryInstance, call: Call, entry: SchemaVersion) -> dict[str, Json]:
    fields = content_json(entry.content)
    fields["schema"] = instance.formatted(entry, call.text("format"))
    if call.accepts_every_field:
        fields["guid"] = entry.content.guid
    return fields


def _by_id(instance: RegistryInstance, call: Call) -> SchemaVersion:
    number = parse_number(call.path[2], "the id")
    entry = with_id(instance.image, number, _subject(instance, call))
    holders = instance.image.schemas.holders(context_of(entry.subject), number)
    return _readable(call, entry, holders)


def _holders(instance: RegistryInstance, call: Call) -> list[SchemaVersion]:
    number = parse_number(call.path[2], "the id")
    deleted = Deleted.SHOWN if call.flag("deleted") else Deleted.HIDDEN
    found = holders_of_id(instance.image, number, _subject(instance, call), deleted)
    return [each for each in found if call.may_read(each.subject)]


def _by_guid(instance: RegistryInstance, call: Call) -> SchemaVersion:
    image = instance.image
    entry = with_guid(image, call.path[2])
    places = image.schemas.by_guid(entry.content.guid)
    holders = (each for place in places for each in image.schemas.holders(*place))
    guid = entry.content.guid
    return _readable(call, entry, [each for each in holders if each.content.guid == guid])


def _readable(call: Call, entry: SchemaVersion, same: Iterable[SchemaVersion]) -> SchemaVersion:
    """A version, or another one with the same schema, that the caller may read."""
    for each in (entry, *same):
        if call.may_read(each.subject):
            return each
    call.check(AclOperation.READ, entry.subject)
    return entry


def _subject(instance: RegistryInstance, call: Call) -> str:
    return subject_of_alias(instance.image, call.qualified(call.text("subject")))


def _aliases(instance: RegistryInstance) -> dict[str, list[str]]:
    """The aliases of subjects."""
    found: dict[str, list[str]] = {}
    for subject, config in instance.image.configs.items():
        alias = config.get(ALIAS)
        if subject is not None and isinstance(alias, str):
            found.setdefault(beside(subject, alias), []).append(subject)
    return found
