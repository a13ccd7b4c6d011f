"""`/associations`: which subjects a topic has."""

from collections.abc import Mapping
from http import HTTPStatus
from uuid import uuid4

from barnabas.registry.model.association_changes import (
    WantedAssociation,
    WantedAssociations,
    associate,
    delete_associations,
    wanted_associations,
)
from barnabas.registry.model.associations import TOPIC, Association, association_json
from barnabas.registry.model.contents import Json
from barnabas.registry.model.entries import content_json
from barnabas.registry.model.image import RegistryImage
from barnabas.registry.model.registration import RegistryChange, register
from barnabas.registry.rest.answers import answer, page
from barnabas.registry.rest.call import Call
from barnabas.registry.rest.instance import RegistryInstance
from barnabas.registry.rest.subjects import schema_of
from barnabas.web.messages import Response
from barnabas.wire.acl_codes import AclOperation

_ID = 2


async def of_subject(instance: RegistryInstance, call: Call) -> Response:
    """GET /associations/subjects/S."""
    return _list(call, instance.image.associations.of_subject(instance.subject(call, _ID)))


async def of_name(instance: RegistryInstance, call: Call) -> Response:
    """GET /associations/resources/NAMESPACE/NAME; the namespace `-` is any."""
    return _list(call, instance.image.associations.of_name(call.path[2], call.path[3]))


async def of_resource(instance: RegistryInstance, call: Call) -> Response:
    """GET /associations/resources/ID."""
    return _list(call, instance.image.associations.of_resource(call.path[_ID]))


async def create(instance: RegistryInstance, call: Call) -> Response:
    """POST /associations."""
    return await _put(instance, call, wanted_associations(call.body(), call.qualified))


async def update(instance: RegistryInstance, call: Call) -> Response:
    """PUT /associations/resources/ID."""
    wanted = wanted_associations(call.body(), call.qualified, call.path[_ID])
    return await _put(instance, call, wanted, update=True)


async def delete(instance: RegistryInstance, call: Call) -> Response:
    """DELETE /associations/resources/ID."""
    resource_id, cascade = call.path[_ID], call.flag("cascadeLifecycle")

    def decide(image: RegistryImage) -> RegistryChange[None]:
        entries = _chosen(call, image.associations.of_resource(resource_id))
        for each in entries:
            call.check(AclOperation.ALTER_CONFIGS, each.subject)
            if cascade and each.is_strong:
                call.check(AclOperation.DELETE, each.subject)
        found = delete_associations(image, entries, resource_id, cascade=cascade)
        return RegistryChange(None) if call.flag("dryRun") else found

    await instance.change(decide)
    return Response(HTTPStatus.NO_CONTENT)


async def _put(
    instance: RegistryInstance, call: Call, wanted: WantedAssociations, *, update: bool = False
) -> Response:
    """Schemas are registered first, once it is clear that the rest will be accepted."""
    given = {each.subject: each for each in wanted.associations if each.schema is not None}
    for each in wanted.associations:
        call.check(AclOperation.ALTER_CONFIGS, each.subject)
        if each.schema is not None:
            call.check(AclOperation.WRITE, each.subject)
    if given or call.flag("dryRun"):

        def try_out(image: RegistryImage) -> RegistryChange[list[Association]]:
            found = associate(image, wanted, _new_guid, update=update, registered=given.keys())
            return RegistryChange(found.answer)

        checked = await instance.change(try_out)
        if call.flag("dryRun"):
            return answer(_answered(wanted, checked, {}))
    schemas = {subject: await _register(instance, call, each) for subject, each in given.items()}
    found = await instance.change(lambda image: associate(image, wanted, _new_guid, update=update))
    return answer(_answered(wanted, found, schemas))


async def _register(
    instance: RegistryInstance, call: Call, given: WantedAssociation
) -> dict[str, Json]:
    schema = schema_of(call, given.subject, given.schema or {}, normalize=given.normalize)
    entry = await instance.change(lambda image: register(image, instance.checks, schema))
    return {"id": entry.id, "version": entry.version, **content_json(entry.content)}


def _new_guid() -> str:
    return str(uuid4())


def _answered(
    wanted: WantedAssociations, found: list[Association], schemas: Mapping[str, Json]
) -> dict[str, Json]:
    shown: list[Json] = []
    for each in found:
        fields: dict[str, Json] = {
            "subject": each.subject,
            "associationType": each.association_type,
            "lifecycle": each.lifecycle,
            "frozen": each.frozen,
        }
        if each.subject in schemas:
            fields["schema"] = schemas[each.subject]
        shown.append(fields)
    return {
        "resourceName": wanted.resource_name,
        "resourceNamespace": wanted.resource_namespace,
        "resourceId": wanted.resource_id,
        "resourceType": TOPIC,
        "associations": shown,
    }


def _list(call: Call, found: list[Association]) -> Response:
    lifecycle = call.text("lifecycle")
    shown: list[Json] = [
        association_json(each)
        for each in _chosen(call, found)
        if lifecycle in ("", each.lifecycle) and call.may_read(each.subject)
    ]
    return answer(page(shown, *call.page))


def _chosen(call: Call, found: list[Association]) -> list[Association]:
    """Those of the types that the request names, which are all without a name."""
    kinds = call.request.query.get("associationType", [])
    return [
        each
        for each in found
        if each.resource_type == call.text("resourceType", TOPIC)
        and (not kinds or each.association_type in kinds)
    ]
