"""`/subjects`: versions of subjects."""

from barnabas.registry.model.contents import JsonObject
from barnabas.registry.model.deletion import delete_subject, delete_version
from barnabas.registry.model.entries import MalformedEntryError, content_from, content_json, integer
from barnabas.registry.model.errors import invalid_schema
from barnabas.registry.model.lookups import (
    existing_subject,
    existing_version,
    latest_with_metadata,
    parse_version,
    referring_ids,
    subjects_with,
)
from barnabas.registry.model.names import ALL_CONTEXTS, beside
from barnabas.registry.model.registration import WantedSchema, look_up, register
from barnabas.registry.rest.answers import answer, page, raw, schema_json
from barnabas.registry.rest.call import Call
from barnabas.registry.rest.instance import RegistryInstance
from barnabas.web.messages import Response
from barnabas.wire.acl_codes import AclOperation


async def list_subjects(instance: RegistryInstance, call: Call) -> Response:
    """GET /subjects."""
    default = ALL_CONTEXTS if call.context is None else ""
    prefix = call.qualified(call.text("subjectPrefix", default))
    found = filter(call.may_read, subjects_with(instance.image, prefix, call.deleted))
    return answer(page([*found], *call.page))


async def find(instance: RegistryInstance, call: Call) -> Response:
    """POST /subjects/S: the version that has a schema."""
    wanted = wanted_schema(instance, call)
    found = look_up(instance.image, instance.checks, wanted, call.deleted)
    text = instance.formatted(found, call.text("format"))
    return answer(schema_json(found, text, every_field=call.accepts_every_field))


async def delete(instance: RegistryInstance, call: Call) -> Response:
    """DELETE /subjects/S."""
    subject, permanent = instance.subject(call), call.flag("permanent")
    numbers = await instance.change(
        lambda image: delete_subject(image, subject, permanent=permanent)
    )
    return answer(list(numbers))


async def list_versions(instance: RegistryInstance, call: Call) -> Response:
    """GET /subjects/S/versions."""
    found = existing_subject(instance.image, instance.subject(call), call.deleted)
    return answer(page([each.version for each in found], *call.page))


async def add_version(instance: RegistryInstance, call: Call) -> Response:
    """POST /subjects/S/versions: register a schema."""
    wanted = wanted_schema(instance, call)
    entry = await instance.change(lambda image: register(image, instance.checks, wanted))
    if not call.accepts_every_field:
        return answer({"id": entry.id})
    return answer(
        {
            "id": entry.id,
            "version": entry.version,
            "guid": entry.content.guid,
            **content_json(entry.content),
        }
    )


async def get_version(instance: RegistryInstance, call: Call) -> Response:
    """GET /subjects/S/versions/V."""
    number = parse_version(call.path[3])
    entry = existing_version(instance.image, instance.subject(call), number, call.deleted)
    text = instance.formatted(entry, call.text("format"))
    return answer(schema_json(entry, text, every_field=call.accepts_every_field))


async def get_text(instance: RegistryInstance, call: Call) -> Response:
    """GET /subjects/S/versions/V/schema."""
    number = parse_version(call.path[3])
    entry = existing_version(instance.image, instance.subject(call), number, call.deleted)
    return raw(instance.formatted(entry, call.text("format")))


async def remove_version(instance: RegistryInstance, call: Call) -> Response:
    """DELETE /subjects/S/versions/V."""
    subject, permanent = instance.subject(call), call.flag("permanent")
    number = parse_version(call.path[3])
    deleted = await instance.change(
        lambda image: delete_version(image, subject, number, permanent=permanent)
    )
    return answer(deleted)


async def referenced_by(instance: RegistryInstance, call: Call) -> Response:
    """GET /subjects/S/versions/V/referencedby: ids."""
    number = parse_version(call.path[3])
    entry = existing_version(instance.image, instance.subject(call), number)
    found = instance.image.schemas.referrers(entry.subject, entry.version)
    referrers = [each for each in found if call.may_read(each.subject)]
    return answer(page(referring_ids(referrers), *call.page))


async def get_by_metadata(instance: RegistryInstance, call: Call) -> Response:
    """GET /subjects/S/metadata?key=…&value=…: the latest version with these properties."""
    query = call.request.query
    wanted = dict(zip(query.get("key", []), query.get("value", []), strict=False))
    entry = latest_with_metadata(instance.image, instance.subject(call), wanted, call.deleted)
    text = instance.formatted(entry, call.text("format"))
    return answer(schema_json(entry, text, every_field=call.accepts_every_field))


def wanted_schema(instance: RegistryInstance, call: Call, index: int = 1) -> WantedSchema:
    """The schema in a request. Raises `RegistryRefusal`."""
    return schema_of(
        call, instance.subject(call, index), call.body(), normalize=call.flag("normalize")
    )


def schema_of(call: Call, subject: str, body: JsonObject, *, normalize: bool) -> WantedSchema:
    """A schema of JSON. Raises `RegistryRefusal`."""
    try:
        schema_id = integer(body, "id", -1)
        content = content_from(body)
        for each in content.references:
            call.check(AclOperation.READ, beside(subject, each.subject))
        return WantedSchema(
            subject,
            content,
            schema_id if schema_id >= 0 else None,
            integer(body, "version", 0),
            normalize,
            call.may_skip_ids(subject),
        )
    except MalformedEntryError as error:
        raise invalid_schema(str(error)) from error
