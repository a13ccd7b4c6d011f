"""What a copy of a registry needs that no other path tells: Confluent's registry has no such paths.

`/ids`, also `/contexts/C/ids`: the largest id of a context. `/settings`: which names have settings.
"""

from barnabas.registry.model.changes import reserve_ids
from barnabas.registry.model.names import DEFAULT_CONTEXT
from barnabas.registry.rest.answers import answer
from barnabas.registry.rest.call import Call
from barnabas.registry.rest.instance import RegistryInstance
from barnabas.web.messages import Response
from barnabas.wire.acl_codes import AclOperation


async def get_largest_id(instance: RegistryInstance, call: Call) -> Response:
    """GET /ids: the largest that was ever given, also if its schema was deleted for good."""
    context = call.context or DEFAULT_CONTEXT
    return answer({"maxId": instance.image.max_ids.get(context, 0)})


async def put_largest_id(instance: RegistryInstance, call: Call) -> Response:
    """PUT /ids: give only larger ones from now on."""
    wanted, context = call.body().get("maxId"), call.context or DEFAULT_CONTEXT
    largest = await instance.change(lambda image: reserve_ids(image, context, wanted))
    return answer({"maxId": largest})


async def list_settings(instance: RegistryInstance, call: Call) -> Response:
    """GET /settings: subjects and contexts with settings; an alias has no more than these."""
    names = sorted(each for each in instance.image.configs if each is not None)
    return answer([each for each in names if call.may(AclOperation.DESCRIBE, each)])
